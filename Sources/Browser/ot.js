const OT = new EventEmitter();

/** What can be captured here, or an error. */
function capturable(handler, list) {
  finish(list(), handler).catch(() => {});
}

Object.assign(OT, {
  properties: { version: VERSION },
  ...LogLevel,

  /** A session to connect to. */
  initSession(apiKey, sessionId, options) {
    if (!apiKey || !sessionId) throw otError(1011, 'initSession: an API key and a session id are needed.');
    return new Session(apiKey, sessionId, options);
  },

  /** `initPublisher(target?, properties?, handler?)`; `handler(error)` when the media is open. */
  initPublisher(target, properties, handler) {
    const rest = [target, properties, handler];
    const done = rest.find((each) => typeof each === 'function');
    const place = typeof target === 'string' || target instanceof Element ? target : undefined;
    const settings = rest.find((each) => each && typeof each === 'object' && !(each instanceof Element));
    const publisher = new Publisher(place, settings || {});
    const shown = publisher._media.then(() => publisher._shown);
    finish(shown.then(() => publisher), done).catch(() => {});
    return publisher;
  },

  /** 1 if the browser can take part. */
  checkSystemRequirements() {
    return window.RTCPeerConnection && window.WebSocket && window.MediaStream ? 1 : 0;
  },

  upgradeSystemRequirements() {
    log.error('This browser cannot take part in WebRTC sessions; a newer one is needed.');
  },

  /** `handler(error, [{kind: 'audioInput'|'videoInput', deviceId, label}])` */
  getDevices(handler) {
    const kinds = { audioinput: 'audioInput', videoinput: 'videoInput' };
    capturable(handler, async () => (await devices().enumerateDevices())
      .filter(({ kind }) => kinds[kind])
      .map(({ kind, deviceId, label }) => ({ kind: kinds[kind], deviceId, label })));
  },

  /** Resolves with the MediaStream that a publisher with these properties would have. */
  getUserMedia(properties) {
    return openMedia(properties || {}).catch((error) => { throw mediaError(error); });
  },

  async getAudioOutputDevices() {
    return (await devices().enumerateDevices())
      .filter(({ kind }) => kind === 'audiooutput')
      .map(({ deviceId, label }) => ({ deviceId, label }));
  },

  /** Plays all subscribers on another loudspeaker. */
  async setAudioOutputDevice(deviceId) {
    await Promise.all([...subscribers].map(({ _view: { video } }) => {
      if (!video.setSinkId) throw otError(1011, 'This browser cannot choose a loudspeaker.', 'OT_NOT_SUPPORTED');
      return video.setSinkId(deviceId);
    }));
  },

  /** After a click: plays what the browser kept silent until then. */
  async unblockAudio() {
    await Promise.all([...subscribers].map((subscriber) => subscriber._view.unblock()));
  },

  checkScreenSharingCapability(handler) {
    const supported = Boolean(navigator.mediaDevices && navigator.mediaDevices.getDisplayMedia);
    const response = {
      supported, supportedSources: { screen: supported, application: supported, window: supported },
      extensionRequired: undefined, extensionRegistered: undefined, extensionInstalled: undefined };
    queueMicrotask(() => callPage(handler, undefined, response));
  },

  /** Resolves with `{videoEncoders, videoDecoders}`, names such as 'VP8'. */
  async getSupportedCodecs() {
    const names = (codec) => [...new Set(codec.getCapabilities('video').codecs
      .map(({ mimeType }) => mimeType.split('/')[1].toUpperCase())
      .filter((name) => ['VP8', 'VP9', 'H264'].includes(name)))];
    return { videoEncoders: names(window.RTCRtpSender), videoDecoders: names(window.RTCRtpReceiver) };
  },

  /** Whether media processors can get at single pictures: of the libraries for them most need that. */
  hasMediaProcessorSupport() {
    return Boolean(window.MediaStreamTrackProcessor && window.MediaStreamTrackGenerator);
  },

  hasEndToEndEncryptionSupport() { return false; },

  reportIssue(handler) {
    complete(handler, otError(2011, 'This server takes no reports.'));
  },

  setProxyUrl() {
    log.warn('setProxyUrl: proxies are not supported');
  },

  setLogLevel(level) {
    log.level = Number(level) || 0;
    return log.level;
  },

  log(...words) { log.debug(...words); },
});

window.OT = window.TB = OT;
if (typeof module === 'object' && module.exports) module.exports = OT;
