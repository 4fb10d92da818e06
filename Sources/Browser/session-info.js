const INFO_ERRORS = { 400: 1005, 403: 1004, 404: 1005, 409: 1026, 500: 2001 };
const INFO_RETRIES = [600, 1200];

/** Where sessions are looked up: what the page says, or the server this script came from. */
function apiURL() {
  const properties = window.OTProperties || {};
  return properties.apiURL || properties.apiUrl || new URL(scriptURL).origin;
}

/**
 * Asks the server about a session.
 * @returns {Promise<object>} the session info
 * Rejects with an OpenTok error: 1004 for a bad token, 1005 for an unknown session, …
 */
async function fetchSessionInfo({ apiKey, sessionId, token, connectionId }) {
  const url = new URL(apiURL());
  url.pathname = `${url.pathname.replace(/\/$/, '')}/session/${encodeURIComponent(sessionId)}`;
  url.searchParams.set('extended', 'true');
  const headers = {
    Accept: 'application/json', 'X-OPENTOK-AUTH': token, 'X-TB-VERSION': '1',
    'X-TB-CLIENT-VERSION': `js-${VERSION}`, 'X-TB-CONNECTIONID': connectionId };

  let response;
  for (const delay of [...INFO_RETRIES, undefined]) {
    try {
      response = await fetch(url, { headers, signal: timeoutSignal(10000) });
      break;
    } catch (error) {
      if (delay === undefined) {
        throw otError(1006, `The session server at ${url.origin} cannot be reached (${error.message}).`);
      }
      await new Promise((resolve) => setTimeout(resolve, delay));
    }
  }
  const answer = parseJSON(await response.text());
  const failed = Array.isArray(answer) && answer.find((element) => element && element.error);
  if (failed) {
    const { code, errorMessage } = failed.error;
    throw otError(
      INFO_ERRORS[code] || 2001, (errorMessage && errorMessage.message) || `The server refused (${code}).`);
  }
  if (!response.ok) {
    throw otError(INFO_ERRORS[response.status] || 2001, `The server answered ${response.status}.`);
  }
  const info = Array.isArray(answer) ? answer[0] : undefined;
  if (!info || !info.messaging_url || !info.symphony_address) {
    throw otError(2001, `What ${url.origin} says about the session makes no sense.`);
  }
  if (String(info.partner_id) !== String(apiKey)) {
    throw otError(1004, 'The session belongs to another API key.');
  }
  return info;
}

function timeoutSignal(milliseconds) {
  const controller = new AbortController();
  setTimeout(() => controller.abort(new Error('no answer in time')), milliseconds);
  return controller.signal;
}

/** ICE servers as RTCPeerConnection takes them; `{url}` and `{urls}` are both in use. */
function iceServers(list) {
  return (Array.isArray(list) ? list : [])
    .map(({ url, urls, username, credential }) => ({
      urls: urls || url, ...(username && { username }), ...(credential && { credential }) }))
    .filter((server) => server.urls && server.urls.length > 0);
}

/**
 * How peer connections of a session are made.
 * @param {object} info the session info
 * @param {object[]} [granted] ICE servers that came later than it
 * @param {object} [config] the page's: {includeServers: 'all'|'custom', transportPolicy: 'all'|'relay', customServers}
 * @returns {RTCConfiguration}
 */
function rtcConfiguration(info, granted, config = {}) {
  const { clientCandidates } = info.properties || {};
  const offered = granted && granted.length > 0 ? granted : info.ice_servers || [];
  const relayed = config.transportPolicy === 'relay' || ['relayed', 'relay'].includes(clientCandidates);
  return {
    iceServers: iceServers([
      ...(config.includeServers === 'custom' ? [] : offered), ...(config.customServers || [])]),
    iceTransportPolicy: relayed ? 'relay' : 'all',
    bundlePolicy: 'max-bundle',
  };
}

/** The MIME types of the video codecs that a session allows, best first. */
function videoCodecs(info) {
  const properties = info.properties || {};
  const allowed = ['vp8', 'h264', 'vp9'].filter((name) => properties[name] !== false);
  const first = String(properties.priorityVideoCodec || 'vp8').toLowerCase();
  return allowed.sort((a, b) => (b === first) - (a === first)).map((name) => `video/${name.toUpperCase()}`);
}
