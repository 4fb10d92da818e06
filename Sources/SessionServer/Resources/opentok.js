/*
 * The OpenTok.js API on the browser's own WebRTC, without dependencies.
 *
 * Pages written for OpenTok.js load this file in its place and talk to the server it came from, or
 * to `window.OTProperties.apiURL`.
 *
 * Built by Sources/Browser/build from the files there, lower layers first:
 *
 *   basics, events               identifiers, log, errors; on, once, off
 *   rumor-frame, rumor-socket    frames on a WebSocket; acknowledgement, resending, resuming
 *   session-info                 the HTTP request that opens a session
 *   raptor                       resource paths and what they name: connections, streams
 *   peer, stats                  one RTCPeerConnection each
 *   view                         the DOM of a publisher or subscriber, audio levels
 *   media                        cameras, microphones, screens
 *   publisher, subscriber, session, session-messages
 *   ot                           what the page sees
 *
 * Members whose name begins with `_` are for use between these layers only. Handlers and
 * completion handlers of the page are never called from inside a call of the page: they run in a
 * microtask, in the order in which things happened, and what they throw reaches `window.onerror`
 * without disturbing the session.
 */
(function (window) {
'use strict';

// ---- basics

/** The OpenTok.js release whose API this follows. */
const VERSION = '2.30.0';

/** Where this file came from: the server that is asked unless the page names another. */
const scriptURL = (document.currentScript && document.currentScript.src) || window.location.href;

/** A random lower-case UUID, version 4. `crypto.randomUUID` is missing on plain http pages. */
function uuid() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

const LogLevel = { NONE: 0, ERROR: 1, WARN: 2, INFO: 3, LOG: 4, DEBUG: 5 };
const log = {
  level: LogLevel.ERROR,
  error: (...words) => log.level >= LogLevel.ERROR && console.error('OpenTok:', ...words),
  warn: (...words) => log.level >= LogLevel.WARN && console.warn('OpenTok:', ...words),
  info: (...words) => log.level >= LogLevel.INFO && console.info('OpenTok:', ...words),
  debug: (...words) => log.level >= LogLevel.DEBUG && console.debug('OpenTok:', ...words),
};

/** Error names by code, where the code alone decides. */
const ERROR_NAMES = {
  400: 'OT_INVALID_PARAMETER',
  403: 'OT_PERMISSION_DENIED',
  404: 'OT_CLIENT_NOT_FOUND',
  413: 'OT_SIGNAL_DATA_TOO_LARGE',
  429: 'OT_SIGNAL_RATE_EXCEEDED',
  500: 'OT_NOT_CONNECTED',
  1004: 'OT_AUTHENTICATION_ERROR',
  1005: 'OT_INVALID_SESSION_ID',
  1006: 'OT_CONNECT_FAILED',
  1010: 'OT_NOT_CONNECTED',
  1011: 'OT_INVALID_PARAMETER',
  1026: 'OT_TERMS_OF_SERVICE_FAILURE',
  1027: 'OT_CONNECTION_LIMIT_EXCEEDED',
  1500: 'OT_UNABLE_TO_PUBLISH',
  1501: 'OT_UNABLE_TO_SUBSCRIBE',
  1520: 'OT_UNABLE_TO_FORCE_DISCONNECT',
  1530: 'OT_UNABLE_TO_FORCE_UNPUBLISH',
  1540: 'OT_UNABLE_TO_FORCE_MUTE',
  1553: 'OT_ICE_WORKFLOW_FAILED',
  1554: 'OT_ICE_WORKFLOW_FAILED',
  1605: 'OT_STREAM_LIMIT_EXCEEDED',
  2001: 'OT_UNEXPECTED_SERVER_RESPONSE',
  2011: 'OT_REPORT_ISSUE_ERROR',
};

/**
 * The error that completion handlers get.
 * @param {number} code an OpenTok error code
 * @param {string} message for the page's developer
 * @param {string} [name] where it says more than the code's usual name
 */
function otError(code, message, name) {
  const error = new Error(message);
  error.name = name || ERROR_NAMES[code] || 'OT_ERROR';
  error.code = code;
  return error;
}

/** Calls page code; what it throws is reported like any uncaught exception. */
function callPage(handler, context, ...values) {
  try {
    handler.apply(context, values);
  } catch (error) {
    if (window.reportError) window.reportError(error);
    else setTimeout(() => { throw error; });
  }
}

/** Calls a page's completion handler later: `(error)` or `(undefined, result)`. */
function complete(handler, error, result) {
  if (error) {
    log.error(`${error.name} (${error.code}): ${error.message}`);
    OT._emit('exception', {
      code: error.code, title: error.name, message: error.message, target: OT });
  }
  if (typeof handler !== 'function') return;
  queueMicrotask(() => callPage(handler, undefined, error || undefined, result));
}

/** Settles both a completion handler and a promise-returning call. */
function finish(promise, handler) {
  promise.then((result) => complete(handler, undefined, result), (error) => complete(handler, error));
  return promise;
}

function parseJSON(text) {
  try {
    return text ? JSON.parse(text) : undefined;
  } catch {
    return undefined;
  }
}

/** Rejects with `error()` if a promise takes longer than some milliseconds. */
function within(milliseconds, promise, error) {
  let timer;
  const timeout = new Promise((_, reject) => {
    timer = setTimeout(() => reject(error()), milliseconds);
  });
  return Promise.race([promise, timeout]).finally(() => clearTimeout(timer));
}

// ---- events

/** What event handlers get; the fields of the particular event are added to it. */
class OTEvent {
  constructor(type, target, fields, cancelable) {
    this.type = type;
    this.target = target;
    this.cancelable = cancelable;
    Object.assign(this, fields);
    Object.defineProperty(this, '_prevented', { value: false, writable: true });
  }

  preventDefault() {
    if (this.cancelable) this._prevented = true;
    else log.warn(`${this.type}: preventDefault() has no effect on this event`);
  }

  isDefaultPrevented() {
    return this._prevented;
  }
}

/** on, once and off, each with `('a b', handler, context)` or `({a: handler, b: handler}, context)`. */
class EventEmitter {
  constructor() {
    Object.defineProperty(this, '_handlers', { value: new Map() });
  }

  on(names, handler, context) {
    return this._add(names, handler, context, false);
  }

  once(names, handler, context) {
    return this._add(names, handler, context, true);
  }

  /** Without arguments removes all handlers; with names only, all handlers of those events. */
  off(names, handler, context) {
    if (names === undefined) {
      this._handlers.clear();
      return this;
    }
    for (const [name, unwanted, owner] of pairs(names, handler, context)) {
      const kept = (this._handlers.get(name) || []).filter((entry) =>
        (unwanted && entry.handler !== unwanted) || (owner && entry.context !== owner));
      this._handlers.set(name, kept);
    }
    return this;
  }

  addEventListener(name, handler, context) {
    return this.on(name, handler, context);
  }

  removeEventListener(name, handler, context) {
    return this.off(name, handler, context);
  }

  _add(names, handler, context, once) {
    for (const [name, added, owner] of pairs(names, handler, context)) {
      if (typeof added !== 'function') {
        throw otError(1011, `on/once: the handler of "${name}" is no function`);
      }
      const entries = this._handlers.get(name) || [];
      this._handlers.set(name, [...entries, { handler: added, context: owner, once }]);
    }
    this._handlerAdded();
    return this;
  }

  /** A hook: somebody listens now. */
  _handlerAdded() {}

  _hasHandler(name) {
    return (this._handlers.get(name) || []).length > 0;
  }

  /**
   * Sends an event to the page, later, in order.
   * @param {string} type
   * @param {object} [fields] of the event
   * @param {() => void} [defaultAction] run after the handlers unless one prevents it
   * @param {string[]} [names] under which handlers may have registered, if not only `type`
   */
  _emit(type, fields, defaultAction, names = [type]) {
    const event = new OTEvent(type, this, fields, Boolean(defaultAction));
    queueMicrotask(() => {
      for (const name of names) {
        for (const entry of this._handlers.get(name) || []) {
          if (entry.once) {
            this._handlers.set(name, this._handlers.get(name).filter((other) => other !== entry));
          }
          callPage(entry.handler, entry.context || this, event);
        }
      }
      if (defaultAction && !event.isDefaultPrevented()) defaultAction();
    });
  }
}

/** Both forms of on/once/off as a list of [name, handler, context]. */
function pairs(names, handler, context) {
  if (typeof names === 'object') {
    return Object.entries(names).map(([name, each]) => [name, each, handler || context]);
  }
  return String(names).split(/\s+/).filter(Boolean).map((name) => [name, handler, context]);
}

/** `session.streams` and `session.connections`. */
class Collection {
  constructor() {
    Object.defineProperty(this, '_items', { value: new Map() });
  }

  get(id) { return this._items.get(id); }
  has(id) { return this._items.has(id); }
  length() { return this._items.size; }
  forEach(visit, context) { [...this._items.values()].forEach(visit, context); }
  map(transform, context) { return [...this._items.values()].map(transform, context); }
  find(test) { return this.where(test)[0]; }

  /** The items for which a function is true, or which have the given properties. */
  where(test) {
    const matches = typeof test === 'function'
      ? test
      : (item) => Object.entries(test || {}).every(([key, value]) => item[key] === value);
    return [...this._items.values()].filter((item) => matches(item));
  }
}

// ---- rumor-frame

const Frame = {
  SUBSCRIBE: 0, UNSUBSCRIBE: 1, MESSAGE: 2, CONNECT: 3, DISCONNECT: 4, PING: 7, PONG: 8, STATUS: 9 };
const RAPTOR_TYPE = 'application/x-raptor+v2';
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/**
 * A frame as bytes: u32 length of the rest, u16 zero, u8 type, u8 count and that many addresses,
 * u8 count and that many pairs of header name and value, payload. Texts are UTF-8 with a u16
 * length before them.
 * @param {{type: number, addresses?: string[], headers?: Object<string, string>, payload?: string}} frame
 * @returns {ArrayBuffer}
 */
function encodeFrame({ type, addresses = [], headers = {}, payload = '' }) {
  const pieces = [];
  const count = (number) => pieces.push(Uint8Array.of(number));
  const text = (string) => {
    const bytes = encoder.encode(string);
    pieces.push(Uint8Array.of(bytes.length >> 8, bytes.length & 0xff), bytes);
  };
  count(addresses.length);
  addresses.forEach(text);
  count(Object.keys(headers).length);
  for (const [name, value] of Object.entries(headers)) {
    text(name);
    text(value);
  }
  pieces.push(encoder.encode(payload));

  const size = pieces.reduce((sum, piece) => sum + piece.length, 7);
  const bytes = new Uint8Array(size);
  new DataView(bytes.buffer).setUint32(0, size - 4);
  bytes[6] = type;
  let at = 7;
  for (const piece of pieces) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes.buffer;
}

/**
 * The frame in a binary message.
 * @param {ArrayBuffer} buffer
 * @throws {RangeError} if it is cut short
 */
function decodeFrame(buffer) {
  const view = new DataView(buffer);
  let at = 7;
  const text = () => {
    const size = view.getUint16(at);
    const bytes = new Uint8Array(buffer, at + 2, size);
    at += 2 + size;
    return decoder.decode(bytes);
  };
  const addresses = Array.from({ length: view.getUint8(at++) }, text);
  const headers = {};
  for (let left = view.getUint8(at++); left > 0; left--) {
    const name = text();
    headers[name] = text();
  }
  return { type: view.getUint8(6), addresses, headers, payload: decoder.decode(new Uint8Array(buffer, at)) };
}

// ---- rumor-socket

// Milliseconds.
const CONNECT_TIMEOUT = 15000;
const PING_AFTER = 2000;
const RETRY_DELAY = 500;
const RETRY_FOR = 60000;

const REMEMBERED_TRANSACTIONS = 4096;

/**
 * Requests and messages over a WebSocket that may be lost and resumed.
 *
 * A request stays pending until the server's STATUS answers it, and is sent again after a resume;
 * the server knows it by its TRANSACTION-ID. What the server sends is acknowledged, and handed on
 * once however often it comes.
 */
class RumorSocket {
  /**
   * @param {object} options
   * @param {string} options.url of the WebSocket
   * @param {string} options.connectionId our address
   * @param {string} options.server the address that requests go to
   * @param {string} options.topic the session's path
   * @param {boolean} options.resumable whether the server lets a lost socket be resumed
   * @param {(message: object, from: string) => void} options.onMessage
   * @param {() => void} options.onReconnecting
   * @param {() => void} options.onReconnected
   * @param {() => void} options.onLost for good; not after `close()`
   */
  constructor(options) {
    this.options = options;
    this.socketId = uuid();
    this.pending = new Map(); // TRANSACTION-ID → {frame, resolve, reject, resend}
    this.seen = new Set(); // TRANSACTION-IDs of the server
    this.state = 'closed'; // → opening → open ⇄ reconnecting → closed
  }

  /** Opens the socket and introduces us. Rejects if that does not work. */
  open() {
    this.state = 'opening';
    return new Promise((resolve, reject) => {
      this.refuse = reject;
      this._attempt({
        onOpen: () => {
          this.state = 'open';
          this._send({
            type: Frame.CONNECT,
            headers: {
              uniqueId: this.options.connectionId, 'TRANSACTION-ID': uuid(),
              notifyDisconnectAddress: this.options.server } });
          this._send({ type: Frame.SUBSCRIBE, addresses: [this.options.topic] });
          this.timer = setInterval(() => this._watch(), 1000);
          resolve();
        },
        onFailed: (code) => {
          this.state = 'closed';
          reject(otError(1006, `The WebSocket to ${this.options.url} does not open (${code}).`));
        },
      });
    });
  }

  /**
   * Sends a Raptor message; resolves with the payload of the answer.
   * Rejects with `{status, reason}` if the server refuses, `{status: 0}` if the socket is lost.
   * @param {object} message {method, uri, content}
   * @param {object} [options] {headers, resend: false if it is worthless after a resume}
   */
  request(message, { headers = {}, resend = true } = {}) {
    if (this.state === 'closed' || (this.state === 'reconnecting' && !resend)) {
      return Promise.reject({ status: 0, reason: 'not connected' });
    }
    const transaction = uuid();
    const frame = {
      type: Frame.MESSAGE,
      addresses: [this.options.server],
      headers: {
        'Content-Type': RAPTOR_TYPE, 'TRANSACTION-ID': transaction,
        'X-TB-FROM-ADDRESS': this.options.connectionId, ...headers },
      payload: JSON.stringify(message),
    };
    return new Promise((resolve, reject) => {
      this.pending.set(transaction, { frame, resolve, reject, resend });
      if (this.state === 'open') this._send(frame);
    });
  }

  /** Leaves: tells the server so that it does not wait for us. */
  close() {
    if (this.state === 'closed') return;
    if (this.state === 'opening') this.refuse(otError(1006, 'The WebSocket was closed while it opened.'));
    this._end();
    if (this.socket && this.socket.readyState === WebSocket.OPEN) {
      this._send({ type: Frame.DISCONNECT, headers: { reconnect: '' } });
    }
    this._abandon(1000);
  }

  /** One try to open a WebSocket; the current one from then on. */
  _attempt({ onOpen, onFailed, resuming }) {
    const query = new URLSearchParams({
      socketId: this.socketId, ...(resuming && { reconnect: 'true' }), attempt: uuid() });
    const { url, resumable } = this.options;
    let socket;
    try {
      socket = new WebSocket(resumable ? `${url}${url.includes('?') ? '&' : '?'}${query}` : url);
    } catch (error) {
      onFailed(error.message);
      return;
    }
    socket.binaryType = 'arraybuffer';
    this.socket = socket;
    this.pingSentAt = undefined;
    this.lastReceivedAt = performance.now();
    let opened = false;
    const timeout = setTimeout(() => socket.close(), CONNECT_TIMEOUT);
    socket.onopen = () => {
      clearTimeout(timeout);
      opened = true;
      onOpen();
    };
    socket.onmessage = (event) => this._received(event.data);
    socket.onclose = (event) => {
      clearTimeout(timeout);
      if (this.socket !== socket) return;
      this.socket = undefined;
      if (opened && this.state === 'open') this._lost(event.code);
      else onFailed(event.code);
    };
  }

  _send(frame) {
    this.socket.send(encodeFrame(frame));
  }

  _received(data) {
    let frame;
    try {
      frame = decodeFrame(data);
    } catch (error) {
      log.warn('a message that is no Rumor frame was dropped:', error.message);
      return;
    }
    this.lastReceivedAt = performance.now();
    this.pingSentAt = undefined;
    if (this.state === 'reconnecting') this._resumed();
    const transaction = frame.headers['TRANSACTION-ID'];
    if (frame.type === Frame.STATUS) {
      this._answered(transaction, frame);
    } else if (frame.type === Frame.MESSAGE) {
      const from = frame.headers['X-TB-FROM-ADDRESS'] || '';
      if (transaction) {
        this._send({
          type: Frame.STATUS,
          addresses: [from],
          headers: { 'TRANSACTION-ID': transaction, 'X-TB-FROM-ADDRESS': this.options.connectionId },
        });
        if (this._seenBefore(transaction)) return;
      }
      const message = parseJSON(frame.payload);
      if (message && typeof message.uri === 'string') this.options.onMessage(message, from);
    }
  }

  _seenBefore(transaction) {
    if (this.seen.has(transaction)) return true;
    this.seen.add(transaction);
    if (this.seen.size > REMEMBERED_TRANSACTIONS) this.seen.delete(this.seen.values().next().value);
    return false;
  }

  _answered(transaction, frame) {
    const request = this.pending.get(transaction);
    if (!request) return;
    this.pending.delete(transaction);
    const payload = parseJSON(frame.payload);
    const status = frame.headers.STATUS || '';
    if (status.startsWith('2')) request.resolve(payload);
    else request.reject({ status: Number(status) || 500, reason: payload && payload.reason });
  }

  /** Asks for a sign of life when nothing came for a while, and gives the socket up without one. */
  _watch() {
    if (this.state !== 'open') return;
    const now = performance.now();
    const patience = this.options.resumable ? 5900 - PING_AFTER : 49900 - PING_AFTER;
    if (this.pingSentAt !== undefined) {
      if (now - this.pingSentAt > patience) {
        this._send({ type: Frame.DISCONNECT, headers: { reconnect: '1' } });
        this._abandon(4001);
        this._lost(4001);
      }
    } else if (now - this.lastReceivedAt >= PING_AFTER) {
      this.pingSentAt = now;
      this._send({ type: Frame.PING });
    }
  }

  _lost(code) {
    const final = [1000, 1001, 1003, 1011].includes(code);
    if (final || !this.options.resumable) {
      this._end();
      this.options.onLost();
      return;
    }
    this.state = 'reconnecting';
    this.reconnectUntil = performance.now() + RETRY_FOR;
    for (const [transaction, request] of this.pending) {
      if (request.resend) continue;
      this.pending.delete(transaction);
      request.reject({ status: 0, reason: 'the connection was lost' });
    }
    this.options.onReconnecting();
    this._resume();
  }

  /** Tries to resume until it works, is refused, or takes too long. */
  _resume() {
    if (this.state !== 'reconnecting') return;
    this._attempt({
      resuming: true,
      // Whether the server knows us is told by its first frame, so ask for one.
      onOpen: () => this._send({ type: Frame.PING }),
      onFailed: (code) => {
        const refused = code === 1003 || code === 1011;
        if (this.state !== 'reconnecting') return;
        if (refused || performance.now() > this.reconnectUntil) {
          this._end();
          this.options.onLost();
        } else {
          this.retryTimer = setTimeout(() => this._resume(), RETRY_DELAY);
        }
      },
    });
  }

  _resumed() {
    this.state = 'open';
    for (const { frame } of this.pending.values()) this._send(frame);
    this.options.onReconnected();
  }

  _abandon(code) {
    const socket = this.socket;
    this.socket = undefined;
    if (socket) socket.close(code);
  }

  _end() {
    this.state = 'closed';
    clearInterval(this.timer);
    clearTimeout(this.retryTimer);
    for (const request of this.pending.values()) {
      request.reject({ status: 0, reason: 'the session was disconnected' });
    }
    this.pending.clear();
  }
}

// ---- session-info

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

// ---- raptor

/** '/v2/partner/P/session/S/stream/ST' → {resource: 'stream', stream: 'ST'}; below the session only. */
function parseURI(uri) {
  const segments = uri.split('/').slice(2);
  const path = {};
  const names = [];
  for (let at = 0; at + 1 < segments.length; at += 2) {
    path[segments[at]] = segments[at + 1];
    if (segments[at] !== 'partner' && segments[at] !== 'session') names.push(segments[at]);
  }
  path.resource = names.join('/') || 'session';
  return path;
}

/** A client in the session. */
class Connection {
  constructor({ id, creationTime, data, permissions }) {
    this.id = id;
    this.connectionId = id;
    this.creationTime = creationTime;
    this.data = data === undefined || data === null ? '' : data;
    this.permissions = permissions || [];
  }
}

/** What the token allows; 1 or 0 as OpenTok has it. */
class Capabilities {
  constructor(permissions) {
    const allowed = (name) => (permissions.includes(name) ? 1 : 0);
    this.publish = allowed('publish');
    this.subscribe = allowed('subscribe');
    this.signal = allowed('signal');
    this.forceUnpublish = allowed('forceunpublish');
    this.forceDisconnect = allowed('forcedisconnect');
    this.forceMute = allowed('forcemute');
    this.supportsWebRTC = 1;
  }

  permittedTo(name) {
    return this[name] === 1;
  }
}

/** A published stream, kept up to date by the server's channel updates. */
class Stream {
  constructor(description, connection) {
    this.id = description.id;
    this.streamId = description.id;
    this.name = description.name || '';
    this.creationTime = description.creationTime;
    this.connection = connection;
    this.initials = (description.customProperties && description.customProperties.initials) || '';
    Object.defineProperty(this, '_channels', { value: new Map(), enumerable: false });
    for (const channel of description.channel || []) this._channels.set(channel.id, { ...channel });
    this._read();
  }

  /** The public properties, from the channels. */
  _read() {
    const channels = [...this._channels.values()];
    const video = channels.find((channel) => channel.type === 'video');
    this.hasAudio = channels.some((channel) => channel.type === 'audio' && channel.active);
    this.hasVideo = Boolean(video && video.active);
    this.hasCaptions = channels.some((channel) => channel.type === 'data' && channel.active);
    this.videoType = video ? video.source || 'camera' : undefined;
    this.videoDimensions = { width: (video && video.width) || 0, height: (video && video.height) || 0 };
    this.frameRate = video ? video.frameRate : undefined;
  }

  /**
   * Takes changed attributes of a channel.
   * @returns {{changedProperty: string, oldValue: any, newValue: any}[]}
   */
  _update(channelId, attributes) {
    const channel = this._channels.get(channelId);
    if (!channel) return [];
    const { hasAudio, hasVideo, hasCaptions, videoType, videoDimensions } = this;
    Object.assign(channel, attributes);
    this._read();
    const before = { hasAudio, hasVideo, hasCaptions, videoType, videoDimensions };
    return Object.entries(before)
      .filter(([name, oldValue]) => JSON.stringify(oldValue) !== JSON.stringify(this[name]))
      .map(([changedProperty, oldValue]) => ({ changedProperty, oldValue, newValue: this[changedProperty] }));
  }
}

/** The id of a connection or stream, given it or its id. */
const idOf = (thing) =>
  (typeof thing === 'object' && thing ? thing.connectionId || thing.streamId || thing.id : thing);
const muteContent = (active) => ({ reason: 'mute', channels: ['audio'], active, locked: false });

// ---- peer

/** How often in a row a publisher tries to repair a connection before it gives up. */
const ICE_RESTARTS = 4;
/** Pictures a second for a subscriber whose frame rate is restricted. */
const RESTRICTED_FRAME_RATE = 1;
/** When after an ICE restart the path must be a new one, in milliseconds, and how often it is tried again. */
const NEW_PATH = 2000;
const NEW_PATH_TRIES = 3;

/** How often a publisher looks at what its sound may take, in milliseconds. */
const SOUND_CHECK = 1000;
/** Of sound with copies of itself, in bits per second, where less than `below` is left, until `above` is there. */
const SCARCE_SOUND = { bitrate: 24000, below: 200000, above: 350000 };

/** One RTCPeerConnection to one other end; negotiation steps run one after the other. */
class Peer {
  /**
   * @param {object} options
   * @param {RTCConfiguration} options.configuration
   * @param {object} options.identity {peerId, sourceStreamId}, echoed in whatever is sent
   * @param {(method: string, content: object) => Promise} options.send on this peer's URI
   * @param {(state: RTCPeerConnectionState) => void} options.onState
   */
  constructor({ configuration, identity, send, onState }) {
    this.identity = identity;
    this.send = send;
    this.steps = Promise.resolve();
    this.early = []; // candidates that came before the description they belong to
    this.asking = new Set(); // rejecters of those who wait for statistics
    const pc = this.pc = new RTCPeerConnection(configuration);
    pc.onicecandidate = ({ candidate }) => {
      // Firefox marks the end with an empty candidate, which the protocol does not know.
      if (!candidate || !candidate.candidate) return;
      const { candidate: line, sdpMid, sdpMLineIndex } = candidate;
      this._tell('candidate', { candidate: line, sdpMid, sdpMLineIndex });
    };
    pc.onconnectionstatechange = () => onState(pc.connectionState);
  }

  get closed() {
    return this.pc.signalingState === 'closed';
  }

  /** Answers an offer: the first one, a renegotiation, or an ICE restart. */
  acceptOffer(sdp) {
    return this._step(async () => {
      await this.pc.setRemoteDescription({ type: 'offer', sdp });
      await this._addEarlyCandidates();
      await this.pc.setLocalDescription(await this.pc.createAnswer());
      this._tell('answer', { type: 'answer', sdp: this.pc.localDescription.sdp });
    });
  }

  acceptAnswer(sdp) {
    return this._step(async () => {
      if (this.pc.signalingState !== 'have-local-offer') return;
      await this.pc.setRemoteDescription({ type: 'answer', sdp });
      await this._addEarlyCandidates();
    });
  }

  addCandidate({ candidate, sdpMid, sdpMLineIndex }) {
    return this._step(async () => {
      const init = { candidate, sdpMid, sdpMLineIndex };
      if (this.pc.remoteDescription) await this._addCandidate(init);
      else this.early.push(init);
    });
  }

  /** The browser's RTCStatsReport. Firefox never answers when the connection is closed meanwhile. */
  statistics() {
    return new Promise((resolve, reject) => {
      if (this.closed) throw Peer.closedError();
      this.asking.add(reject);
      this.pc.getStats().then(resolve, reject).finally(() => this.asking.delete(reject));
    });
  }

  static closedError() {
    return otError(1015, 'The connection was closed.', 'OT_PEER_CONNECTION_NOT_CONNECTED');
  }

  close() {
    this.pc.onicecandidate = this.pc.onconnectionstatechange = this.pc.ontrack = null;
    this.pc.close();
    clearInterval(this.timer);
    for (const reject of this.asking) reject(Peer.closedError());
  }

  async _addEarlyCandidates() {
    for (const candidate of this.early.splice(0)) await this._addCandidate(candidate);
  }

  /** A candidate that the browser does not like is no reason to end the call. */
  async _addCandidate(candidate) {
    try {
      await this.pc.addIceCandidate(candidate);
    } catch (error) {
      log.info('a candidate was refused:', error.message);
    }
  }

  _step(run) {
    this.steps = this.steps.then(() => (this.closed ? undefined : run())).catch((error) => {
      if (!this.closed) log.error('negotiation:', error.message);
    });
    return this.steps;
  }

  _tell(method, content) {
    this.send(method, { ...this.identity, ...content })
      .catch(({ status, reason }) => log.warn(`${method} was not taken (${status}):`, reason));
  }
}

/** A publisher's end: it offers, and repairs the connection when it breaks. */
class SendingPeer extends Peer {
  /**
   * @param {object} options as for Peer, and:
   * @param {MediaStream} options.stream
   * @param {object} options.opus {stereo, dtx}
   * @param {number} [options.audioBitrate] bits per second
   * @param {string[]} [options.videoCodecs] MIME types, best first
   */
  constructor(options) {
    super({
      ...options,
      onState: (state) => {
        if (state === 'connected') this.restarts = 0;
        if (state === 'failed') this.restart();
        options.onState(state);
      },
    });
    this.restarts = 0;
    this.opus = options.opus;
    this.audioBitrate = options.audioBitrate;
    this.timer = setInterval(() => this._checkSound(), SOUND_CHECK);
    for (const track of [...options.stream.getAudioTracks(), ...options.stream.getVideoTracks()]) {
      const audio = track.kind === 'audio';
      const transceiver = this.pc.addTransceiver(track, {
        direction: 'sendonly', streams: [options.stream],
        ...(audio && options.audioBitrate && { sendEncodings: [{ maxBitrate: options.audioBitrate }] }),
      });
      if (!audio) preferCodecs(transceiver, options.videoCodecs);
    }
  }

  offer({ iceRestart = false } = {}) {
    return this._step(async () => {
      const { sdp } = await this.pc.createOffer({ iceRestart });
      await this.pc.setLocalDescription({ type: 'offer', sdp: tuneOpus(sdp, this.opus) });
      this._tell('offer', { sdp: this.pc.localDescription.sdp });
    });
  }

  restart(tries = NEW_PATH_TRIES) {
    if (this.closed || this.restarts >= ICE_RESTARTS) return;
    this.restarts += 1;
    this.offer({ iceRestart: true });
    setTimeout(() => this._leaveOldPath(tries), NEW_PATH);
  }

  /**
   * Chromium may choose, before the answer to a restart comes, a candidate from before it. Firefox goes on
   * answering its checks there, so both call themselves connected, but takes no media any more.
   */
  async _leaveOldPath(tries) {
    if (this.closed || this.pc.connectionState !== 'connected') return;
    const fragment = selectedRemoteFragment(await this.statistics().catch(() => []));
    if (!fragment || this.pc.remoteDescription.sdp.includes(`a=ice-ufrag:${fragment}`)) return;
    log.info('after an ICE restart the old path was still in use');
    if (tries > 0) this.restart(tries - 1);
  }

  /** After the session was resumed: the network may be another one. */
  repair() {
    this.restarts = 0;
    if (this.pc.connectionState === 'disconnected' || this.pc.connectionState === 'failed') this.restart();
  }

  /**
   * What the subscriber prefers, for now and for tracks that come; 0 is no preference. The browser scales.
   * @param {object} wishes any of preferredWidth, preferredHeight, preferredFrameRate, restrictFrameRate
   */
  prefer(wishes) {
    this.wishes = { ...this.wishes, ...wishes };
    return this._step(() => this._scale());
  }

  async _scale() {
    const { wishes } = this;
    const sender = this.pc.getSenders().find(({ track }) => track && track.kind === 'video');
    if (!wishes || !sender) return;
    const parameters = sender.getParameters();
    const [encoding] = parameters.encodings || [];
    if (!encoding) return;
    const { width, height } = sender.track.getSettings();
    const scales = [[width, wishes.preferredWidth], [height, wishes.preferredHeight]]
      .map(([is, wanted]) => (is && wanted ? is / wanted : 1));
    encoding.scaleResolutionDownBy = Math.max(1, Math.min(...scales));
    const rate = wishes.restrictFrameRate ? RESTRICTED_FRAME_RATE : wishes.preferredFrameRate;
    if (rate) encoding.maxFramerate = rate;
    else delete encoding.maxFramerate;
    await sender.setParameters(parameters);
  }

  /**
   * Sound that takes its copies along (RFC 2198) needs twice its bitrate. Browsers give pictures their share as if
   * there were none, so on a thin link both wait in the queue: there the sound takes less.
   */
  async _checkSound() {
    if (this.closed || this.pc.connectionState !== 'connected') return;
    const available = availableBitrate(await this.statistics().catch(() => []));
    if (!available) return; // Firefox does not tell
    const [audio, video] = ['audio', 'video'].map(
      (kind) => this.pc.getSenders().find(({ track }) => track && track.kind === kind));
    const parameters = audio && video && audio.getParameters();
    const [encoding] = (parameters && parameters.encodings) || [];
    if (!encoding || !/red$/i.test(((parameters.codecs || [])[0] || {}).mimeType)) return;
    if (available < SCARCE_SOUND.below) this.soundIsScarce = true;
    if (available > SCARCE_SOUND.above) this.soundIsScarce = false;
    const bitrate = this.soundIsScarce
      ? Math.min(SCARCE_SOUND.bitrate, this.audioBitrate || Infinity) : this.audioBitrate;
    if (encoding.maxBitrate === bitrate) return;
    if (bitrate) encoding.maxBitrate = bitrate;
    else delete encoding.maxBitrate;
    await audio.setParameters(parameters).catch((error) => log.info('the bitrate of the sound:', error.message));
  }

  async replaceTrack(track) {
    const sender = this.pc.getSenders().find((each) => each.track && each.track.kind === track.kind);
    if (!sender) return;
    await sender.replaceTrack(track);
    if (track.kind === 'video') await this._step(() => this._scale());
  }
}

/** A subscriber's end: it answers. */
class ReceivingPeer extends Peer {
  /** @param {object} options as for Peer, and `onTrack(track)` */
  constructor(options) {
    super(options);
    this.pc.ontrack = ({ track }) => options.onTrack(track);
  }
}

/** The candidate pair of an RTCStatsReport that media is sent on, where the browser tells. */
function selectedPair(stats) {
  const transport = [...stats.values()].find(({ type }) => type === 'transport');
  return transport && stats.get(transport.selectedCandidatePairId);
}

/** Whose candidate the media is sent to: the user fragment of its ICE credentials. */
function selectedRemoteFragment(report) {
  const stats = new Map(report);
  const pair = selectedPair(stats);
  const remote = pair && stats.get(pair.remoteCandidateId);
  return remote && remote.usernameFragment;
}

/** What the browser believes it can send, in bits per second. */
function availableBitrate(report) {
  const pair = selectedPair(new Map(report));
  return pair && pair.availableOutgoingBitrate;
}

/**
 * Puts video codecs in order. None is taken out: Firefox leaves lines about a codec that it does not
 * offer any more, and Chromium refuses such a description.
 */
function preferCodecs(transceiver, mimeTypes) {
  if (!mimeTypes || !transceiver.setCodecPreferences || !window.RTCRtpSender.getCapabilities) return;
  const wanted = mimeTypes.map((each) => each.toLowerCase());
  const rank = ({ mimeType }) => {
    const at = wanted.indexOf(mimeType.toLowerCase());
    return at < 0 ? wanted.length : at;
  };
  const { codecs } = window.RTCRtpSender.getCapabilities('video');
  transceiver.setCodecPreferences([...codecs].sort((a, b) => rank(a) - rank(b)));
}

/** Sets Opus parameters in every fmtp line of Opus. */
function tuneOpus(sdp, { stereo, dtx } = {}) {
  const wanted = [stereo && 'stereo=1;sprop-stereo=1', dtx && 'usedtx=1'].filter(Boolean).join(';');
  if (!wanted) return sdp;
  const payloadTypes = [...sdp.matchAll(/^a=rtpmap:(\d+) opus\//gim)].map((match) => match[1]);
  return payloadTypes.reduce(
    (text, type) => text.replace(new RegExp(`^(a=fmtp:${type} .*?)(\r?)$`, 'm'), `$1;${wanted}$2`), sdp);
}

/** What names a peer among those of a path; whatever is sent repeats it. */
const identityOf = ({ peerId, sourceStreamId }) => ({ peerId, sourceStreamId });
const peerKey = ({ uri, content }) => JSON.stringify([uri, content.peerId, content.sourceStreamId]);

// ---- stats

/**
 * OpenTok's summary of an RTCStatsReport.
 * @param {'in'|'out'} direction
 */
function summary(report, direction) {
  const stats = { timestamp: Date.now() };
  report.forEach((entry) => {
    if (entry.type !== `${direction}bound-rtp` || !['audio', 'video'].includes(entry.kind)) return;
    const remote = entry.remoteId ? report.get(entry.remoteId) : undefined;
    const incoming = direction === 'in';
    stats[entry.kind] = {
      ...(incoming
        ? { bytesReceived: entry.bytesReceived || 0, packetsReceived: entry.packetsReceived || 0,
          packetsLost: Math.max(0, entry.packetsLost || 0) }
        : { bytesSent: entry.bytesSent || 0, packetsSent: entry.packetsSent || 0,
          packetsLost: Math.max(0, (remote && remote.packetsLost) || 0) }),
      ...(entry.kind === 'video' && {
        frameRate: entry.framesPerSecond || 0, width: entry.frameWidth || 0, height: entry.frameHeight || 0,
        ...(incoming ? { framesDecoded: entry.framesDecoded || 0 } : { framesEncoded: entry.framesEncoded || 0 }) }),
    };
  });
  return stats;
}

// ---- view

// :where() keeps the weight at zero, so that any rule of the page wins.
const STYLE = `
  :where(.OT_root) { position: relative; overflow: hidden; background: #000; color: #fff; }
  :where(.OT_root .OT_widget-container) { position: absolute; inset: 0; }
  :where(.OT_root .OT_video-element) { display: block; width: 100%; height: 100%; object-fit: cover; }
  :where(.OT_fit-mode-contain .OT_video-element) { object-fit: contain; }
  :where(.OT_mirrored .OT_video-element) { transform: scaleX(-1); }
  :where(.OT_root .OT_video-poster) { display: none; position: absolute; inset: 0; background: #222 center / contain no-repeat; }
  :where(.OT_audio-only .OT_video-poster) { display: block; }
  :where(.OT_audio-only .OT_video-element) { visibility: hidden; }
  :where(.OT_root .OT_name) { position: absolute; inset: 0 0 auto 0; margin: 0; padding: 6px 10px;
    font: 14px sans-serif; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; background: rgba(0,0,0,.4); }
  :where(.OT_root .OT_mute) { position: absolute; right: 8px; bottom: 8px; padding: 6px 10px; border: 0;
    border-radius: 4px; font: 13px sans-serif; color: #fff; background: rgba(0,0,0,.6); cursor: pointer; }
  :where(.OT_root .OT_mode-off) { display: none; }
  :where(.OT_root .OT_mode-auto) { opacity: 0; transition: opacity .2s; }
  :where(.OT_root:hover .OT_mode-auto, .OT_root .OT_mode-auto:focus) { opacity: 1; }`;

function addStyle() {
  if (document.querySelector('style[data-opentok]')) return;
  const style = document.createElement('style');
  style.dataset.opentok = VERSION;
  style.textContent = STYLE;
  document.head.prepend(style);
}

/** A number of pixels, or any CSS length, or nothing: as CSS. */
function cssLength(value, otherwise) {
  if (value === undefined || value === null) return otherwise;
  return /^\d+(\.\d+)?$/.test(value) ? `${value}px` : String(value);
}

/** A URI, or the base64 of a PNG as getImgData() gives it, or nothing: as a CSS image. */
function cssImage(image) {
  if (!image) return '';
  const uri = /^[A-Za-z0-9+/=]{40,}$/.test(image) ? `data:image/png;base64,${image}` : image;
  return `url("${uri.replace(/["\\\n]/g, encodeURIComponent)}")`;
}

/**
 * The DOM of a publisher or a subscriber:
 *   div.OT_root.OT_publisher (or .OT_subscriber, .OT_loading until there is something to see)
 *     div.OT_widget-container
 *       video.OT_video-element, div.OT_video-poster, h1.OT_name, button.OT_mute
 */
class View {
  /**
   * @param {'publisher'|'subscriber'} role
   * @param {Element|string|null|undefined} target element or its id
   * @param {object} properties the page's: insertMode, insertDefaultUI, width, height, fitMode, style, name, …
   * @param {object} callbacks {onMuteClicked, onDimensions(old, new), onBlocked, onUnblocked}
   */
  constructor(role, target, properties, callbacks) {
    this.callbacks = callbacks;
    this.dimensions = { width: 0, height: 0 };
    this.style = {
      nameDisplayMode: 'auto', buttonDisplayMode: 'auto', videoDisabledDisplayMode: 'auto',
      audioLevelDisplayMode: 'auto', backgroundImageURI: '', ...properties.style };
    this._makeVideo();
    this.blocked = false;
    if (properties.insertDefaultUI === false) return;
    addStyle();
    this._insert(target, properties.insertMode || 'replace');
    this.element.replaceChildren();
    const fit = properties.fitMode === 'contain' ? 'contain' : 'cover';
    this.element.classList.add('OT_root', `OT_${role}`, 'OT_loading', `OT_fit-mode-${fit}`);
    this.element.classList.toggle('OT_mirrored', Boolean(properties.mirror));
    this.element.style.width = cssLength(properties.width, '264px');
    this.element.style.height = cssLength(properties.height, '198px');

    const container = this._add(this.element, 'div', 'OT_widget-container');
    container.append(this.video);
    this.poster = this._add(container, 'div', 'OT_video-poster');
    this.name = this._add(container, 'h1', 'OT_name');
    this.button = this._add(container, 'button', 'OT_mute');
    this.button.type = 'button';
    this.button.onclick = callbacks.onMuteClicked;
    if (properties.showControls === false) {
      this.name.remove();
      this.button.remove();
    }
    this.setName(properties.name || '');
    this.setMuted(false);
    this.setStyle({});
  }

  get id() {
    return this.element ? this.element.id : undefined;
  }

  setStyle(changes) {
    Object.assign(this.style, changes);
    if (!this.element) return;
    for (const [part, mode] of [[this.name, 'nameDisplayMode'], [this.button, 'buttonDisplayMode']]) {
      part.classList.toggle('OT_mode-off', this.style[mode] === 'off');
      part.classList.toggle('OT_mode-auto', this.style[mode] === 'auto' || this.style[mode] === 'mini');
    }
    this.poster.style.backgroundImage = cssImage(this.style.backgroundImageURI);
  }

  setName(name) {
    if (!this.element) return;
    this.name.textContent = name;
    this.name.hidden = !name;
  }

  setMuted(muted) {
    if (!this.element) return;
    this.button.textContent = muted ? 'Unmute' : 'Mute';
    this.button.setAttribute('aria-pressed', String(muted));
    this.button.classList.toggle('OT_active', muted);
  }

  /** Shows the poster in place of a picture that is switched off. */
  setVideoShown(shown) {
    if (this.element) this.element.classList.toggle('OT_audio-only', !shown);
  }

  setFailed() {
    if (!this.element) return;
    this.element.classList.remove('OT_loading');
    this.element.classList.add('OT_error');
  }

  /** Shows a stream; resolves when there is something to see or, without video, at once. */
  async show(stream, { muted = false, waitForVideo = true } = {}) {
    this.video.muted = muted;
    if (this.video.srcObject !== stream) this.video.srcObject = stream;
    const shown = new Promise((resolve) => {
      if (!waitForVideo || this.video.readyState >= HTMLMediaElement.HAVE_CURRENT_DATA) resolve();
      this.video.addEventListener('loadeddata', resolve, { once: true });
      setTimeout(resolve, 3000); // a still source may have nothing to send
    });
    this.play();
    await shown;
    if (this.element) this.element.classList.remove('OT_loading');
  }

  /** Plays; where the browser wants a click before it makes sound, without sound until `unblock()`. */
  async play() {
    try {
      await this.video.play();
    } catch (error) {
      if (error.name !== 'NotAllowedError' || this.video.muted) return;
      this.blocked = true;
      this.video.muted = true;
      this.callbacks.onBlocked();
      this.play();
    }
  }

  async unblock() {
    if (!this.blocked) return;
    this.video.muted = false;
    await this.video.play();
    this.blocked = false;
    this.callbacks.onUnblocked();
  }

  /** The current picture as base64 of a PNG. */
  imageData() {
    const canvas = document.createElement('canvas');
    canvas.width = this.video.videoWidth;
    canvas.height = this.video.videoHeight;
    if (canvas.width === 0 || canvas.height === 0) return null;
    canvas.getContext('2d').drawImage(this.video, 0, 0);
    return canvas.toDataURL('image/png').split(',')[1];
  }

  remove() {
    this.video.onresize = null;
    this.video.srcObject = null;
    if (this.element) this.element.remove();
  }

  _makeVideo() {
    const video = this.video = document.createElement('video');
    video.className = 'OT_video-element';
    video.autoplay = true;
    video.playsInline = true;
    video.setAttribute('playsinline', '');
    video.onresize = () => {
      const before = this.dimensions;
      this.dimensions = { width: video.videoWidth, height: video.videoHeight };
      if (before.width !== this.dimensions.width || before.height !== this.dimensions.height) {
        this.callbacks.onDimensions(before, this.dimensions);
      }
    };
  }

  _insert(target, mode) {
    const given = typeof target === 'string' ? document.getElementById(target) : target;
    if (given && mode === 'replace') {
      this.element = given;
    } else {
      this.element = document.createElement('div');
      if (typeof target === 'string' && !given) this.element.id = target;
      if (!given) document.body.append(this.element);
      else if (mode === 'before') given.before(this.element);
      else if (mode === 'after') given.after(this.element);
      else given.append(this.element);
    }
    if (!this.element.id) this.element.id = `OT_${uuid()}`;
  }

  _add(parent, tag, className) {
    const child = document.createElement(tag);
    child.className = className;
    parent.append(child);
    return child;
  }
}

let sharedAudioContext;

/** Measures how loud a stream is, 0 to 1, some 30 times a second. */
class AudioLevelMeter {
  constructor(stream, onLevel) {
    sharedAudioContext = sharedAudioContext || new AudioContext();
    sharedAudioContext.resume().catch(() => {});
    this.source = sharedAudioContext.createMediaStreamSource(stream);
    const analyser = sharedAudioContext.createAnalyser();
    analyser.fftSize = 2048;
    this.source.connect(analyser);
    const samples = new Float32Array(analyser.fftSize);
    this.timer = setInterval(() => {
      analyser.getFloatTimeDomainData(samples);
      onLevel(samples.reduce((peak, sample) => Math.max(peak, Math.min(1, Math.abs(sample))), 0));
    }, 33);
  }

  stop() {
    clearInterval(this.timer);
    this.source.disconnect();
  }
}

// ---- media

const MEDIA_ERRORS = {
  NotAllowedError: ['OT_USER_MEDIA_ACCESS_DENIED', 'Access to the camera or microphone was denied.'],
  SecurityError: ['OT_USER_MEDIA_ACCESS_DENIED', 'Access to the camera or microphone was denied.'],
  NotFoundError: ['OT_NO_DEVICES_FOUND', 'There is no camera or microphone.'],
  NotReadableError: ['OT_HARDWARE_UNAVAILABLE', 'The camera or microphone is in use or does not work.'],
  AbortError: ['OT_HARDWARE_UNAVAILABLE', 'The camera or microphone does not work.'],
  OverconstrainedError: ['OT_CONSTRAINTS_NOT_SATISFIED', 'No device can do what was asked for.'],
  TypeError: ['OT_CONSTRAINTS_NOT_SATISFIED', 'No device can do what was asked for.'],
};
const SCREEN_SOURCES = ['screen', 'application', 'window', 'browser'];

function mediaError(error) {
  if (error.code >= 1000) return error;
  const [name, message] = MEDIA_ERRORS[error.name] || ['OT_MEDIA_ERROR', 'The media cannot be used.'];
  return otError(1500, `${message} (${error.message})`, name);
}

const isTrack = (source) => typeof MediaStreamTrack !== 'undefined' && source instanceof MediaStreamTrack;
const isOff = (source) => source === null || source === false;

/** Constraints of getUserMedia for a publisher's properties. */
function constraintsFor({ audioSource, videoSource, resolution, frameRate, facingMode, ...properties }) {
  const [width, height] = /^\d+x\d+$/.test(resolution) ? resolution.split('x').map(Number) : [640, 480];
  const device = (source) => typeof source === 'string' && source && { deviceId: { exact: source } };
  const processing = properties.disableAudioProcessing
    ? { echoCancellation: false, noiseSuppression: false, autoGainControl: false }
    : {};
  for (const name of ['echoCancellation', 'noiseSuppression', 'autoGainControl']) {
    if (properties[name] !== undefined) processing[name] = properties[name];
  }
  return {
    audio: !isOff(audioSource) && !isTrack(audioSource) && {
      ...processing, ...device(audioSource), ...(properties.enableStereo && { channelCount: 2 }) },
    video: !isOff(videoSource) && !isTrack(videoSource) && !SCREEN_SOURCES.includes(videoSource) && {
      width: { ideal: width }, height: { ideal: height }, frameRate: { ideal: frameRate || 30 },
      ...(facingMode && { facingMode }), ...device(videoSource) },
  };
}

/**
 * The stream that a publisher's properties ask for: devices, screens, tracks of the page.
 * A device that nobody asked for by name and that is not there is left out.
 */
async function openMedia(properties) {
  const { audioSource, videoSource } = properties;
  if (isOff(audioSource) && isOff(videoSource)) {
    throw otError(1011, 'A publisher needs an audio source or a video source.');
  }
  const stream = new MediaStream();
  if (SCREEN_SOURCES.includes(videoSource)) {
    const screen = await devices().getDisplayMedia({ video: true, audio: false });
    screen.getTracks().forEach((track) => stream.addTrack(track));
  }
  const constraints = constraintsFor(properties);
  if (constraints.audio || constraints.video) {
    try {
      const captured = await captureDevices(constraints, properties);
      captured.getTracks().forEach((track) => stream.addTrack(track));
    } catch (error) {
      stream.getTracks().forEach((track) => track.stop()); // the screen, if it was opened
      throw error;
    }
  }
  for (const source of [audioSource, videoSource]) {
    if (isTrack(source)) stream.addTrack(source);
  }
  return stream;
}

async function captureDevices(constraints, { audioSource, videoSource }) {
  try {
    return await devices().getUserMedia(constraints);
  } catch (error) {
    const optional = audioSource === undefined && videoSource === undefined;
    if (error.name !== 'NotFoundError' || !optional) throw error;
    const kinds = (await devices().enumerateDevices()).map((device) => device.kind);
    const left = {
      audio: kinds.includes('audioinput') && constraints.audio,
      video: kinds.includes('videoinput') && constraints.video };
    if (!left.audio && !left.video) throw error;
    return devices().getUserMedia(left);
  }
}

function devices() {
  if (navigator.mediaDevices) return navigator.mediaDevices;
  throw otError(
    1500, 'Cameras and microphones need a page from https or localhost.', 'OT_USER_MEDIA_ACCESS_DENIED');
}

// ---- video-filter

/** CSS filters by the type of a video filter. */
const VIDEO_FILTERS = {
  blur: ({ radius }) => `blur(${Math.min(100, Math.max(1, Number(radius) || 8))}px)`,
  grayscale: () => 'grayscale(1)',
  invert: () => 'invert(1)',
  sepia: () => 'sepia(1)',
};

/** A media processor that draws the whole picture once more, through a filter. */
class VideoFilter {
  /** @param {object} filter `{type: 'blur'|'grayscale'|'invert'|'sepia', radius?}` */
  constructor(filter) {
    this.filter = VIDEO_FILTERS[filter.type](filter);
  }

  async setTrack(track) {
    this._end();
    const video = Object.assign(document.createElement('video'), {
      muted: true, playsInline: true, srcObject: new MediaStream([track]) });
    await video.play();
    const canvas = document.createElement('canvas');
    const context = canvas.getContext('2d');
    const rate = Math.round(track.getSettings().frameRate) || 30;
    const draw = () => {
      if (canvas.width !== video.videoWidth || canvas.height !== video.videoHeight) {
        Object.assign(canvas, { width: video.videoWidth, height: video.videoHeight });
      }
      context.filter = this.filter;
      context.drawImage(video, 0, 0);
    };
    draw();
    // A timer goes on where the page is not seen, other than animation frames.
    const timer = setInterval(draw, 1000 / rate);
    this._end = () => {
      clearInterval(timer);
      video.srcObject = null;
    };
    return canvas.captureStream(rate).getVideoTracks()[0];
  }

  async destroy() { this._end(); }

  _end() {}
}

// ---- publisher

const PUBLISH_TIMEOUT = 15000;

/** Local media, shown in the page and, once published, sent to every subscriber. */
class Publisher extends EventEmitter {
  constructor(target, properties) {
    super();
    this.properties = { publishAudio: true, publishVideo: true, ...properties };
    this.accessAllowed = false;
    this.session = undefined;
    this.stream = undefined;
    this._peers = new Map();
    this._raw = {}; // tracks whose place a media processor's have taken, by kind
    this._processors = {};
    this._changes = Promise.resolve(); // of tracks: one after the other
    this._destroyed = false;
    const { videoSource } = this.properties;
    this._videoType = this.properties.videoType
      || (SCREEN_SOURCES.includes(videoSource) ? 'screen' : isTrack(videoSource) ? 'custom' : 'camera');
    const camera = this._videoType === 'camera';
    this._view = new View('publisher', target, { mirror: camera, ...this.properties }, {
      onMuteClicked: () => this.publishAudio(!this.properties.publishAudio),
      onDimensions: (oldValue, newValue) => this._dimensionsChanged(oldValue, newValue),
      onBlocked: () => {},
      onUnblocked: () => {},
    });
    this.element = this._view.element;
    this.id = this._view.id;
    this._emit('videoElementCreated', { element: this._view.video });
    this._media = this._open();
    this._media.catch(() => {}); // told by initPublisher's and publish's completion handlers
  }

  /** Sends sound or silence. */
  publishAudio(value) {
    const active = Boolean(value);
    this.properties.publishAudio = active;
    this._enable('audio', active);
    this._view.setMuted(!active);
    this._updateChannel('audio', { active });
    return this;
  }

  /** Sends the picture or black. */
  publishVideo(value, handler) {
    const active = Boolean(value);
    this.properties.publishVideo = active;
    this._enable('video', active);
    this._view.setVideoShown(active);
    finish(this._updateChannel('video', { active }), handler).catch(() => {});
    return this;
  }

  /** Switches to the next camera; resolves with `{deviceId}`. */
  async cycleVideo() {
    const track = this._source('video');
    if (!track || this._videoType !== 'camera') {
      throw otError(1500, 'There is no camera to switch.', 'OT_NO_VALID_VIDEO_SOURCE');
    }
    const cameras = (await devices().enumerateDevices()).filter(({ kind }) => kind === 'videoinput');
    const current = cameras.findIndex(({ deviceId }) => deviceId === track.getSettings().deviceId);
    const { deviceId } = cameras[(current + 1) % cameras.length];
    await this.setVideoSource(deviceId);
    return { deviceId };
  }

  /** Publishes another camera, by device id, in the same stream. */
  async setVideoSource(source) {
    await this._replace('video', { ...this.properties, audioSource: null, videoSource: source });
  }

  /** Publishes another microphone, by device id, or a track, in the same stream. */
  async setAudioSource(source) {
    await this._replace('audio', { ...this.properties, audioSource: source, videoSource: null });
  }

  getAudioSource() {
    return this._source('audio');
  }

  getVideoSource() {
    const track = this._source('video');
    return { type: this._videoType, deviceId: track ? track.getSettings().deviceId : null, track };
  }

  videoWidth() { return this._view.dimensions.width || undefined; }
  videoHeight() { return this._view.dimensions.height || undefined; }
  getImgData() { return this._view.imageData(); }

  /** `getStyle('nameDisplayMode')`, or all of it. */
  getStyle(key) { return key ? this._view.style[key] : { ...this._view.style }; }

  setStyle(style, value) {
    this._view.setStyle(typeof style === 'string' ? { [style]: value } : style);
    return this;
  }

  /** `handler(error, [{connectionId, subscriberId, stats}])`, one entry a subscriber. */
  getStats(handler) {
    if (!this.stream) {
      complete(handler, otError(1010, 'The publisher is not publishing.'));
      return;
    }
    finish(this.getRtcStatsReport().then((reports) =>
      reports.map(({ rtcStatsReport, ...whose }) => ({ ...whose, stats: summary(rtcStatsReport, 'out') }))),
    handler).catch(() => {});
  }

  /** Resolves with `[{connectionId, subscriberId, rtcStatsReport}]`. */
  async getRtcStatsReport() {
    const reports = await Promise.allSettled([...this._peers.values()].map(async (peer) => ({
      connectionId: peer.from, subscriberId: peer.subscriberId, rtcStatsReport: await peer.statistics() })));
    return reports.filter(({ status }) => status === 'fulfilled').map(({ value }) => value); // some have just left
  }

  /**
   * Has a media processor stand between the camera and what is sent and shown; null: none any more.
   * @param {object|null} connector `setTrack(track)` resolves with the track to send; `destroy()`
   */
  setVideoMediaProcessorConnector(connector) {
    this._filter = null;
    return this._process('video', connector);
  }

  /** The same of the sound. */
  setAudioMediaProcessorConnector(connector) {
    return this._process('audio', connector);
  }

  /** Filters the whole picture: `{type: 'blur'|'grayscale'|'invert'|'sepia', radius?}`. */
  async applyVideoFilter(filter) {
    const { type } = filter || {};
    if (!Object.hasOwn(VIDEO_FILTERS, type)) {
      const known = Object.keys(VIDEO_FILTERS).join(', ');
      throw otError(1011, `There is no video filter '${type}' here, but ${known}.`, 'OT_NOT_SUPPORTED');
    }
    await this._process('video', new VideoFilter(filter));
    this._filter = { ...filter };
  }

  async clearVideoFilter() {
    if (this._filter) await this.setVideoMediaProcessorConnector(null);
  }

  getVideoFilter() { return this._filter ? { ...this._filter } : null; }

  /** What the picture is like, for the encoder: '', 'motion', 'detail', 'text'. */
  setVideoContentHint(hint) {
    const track = this._track('video');
    if (!track) throw otError(1500, 'The publisher has no video.', 'OT_NO_VALID_VIDEO_SOURCE');
    track.contentHint = hint;
  }

  getVideoContentHint() {
    const track = this._track('video');
    return (track && track.contentHint) || '';
  }

  publishCaptions() {
    return Promise.reject(otError(1011, 'Captions are not supported.', 'OT_NOT_SUPPORTED'));
  }

  /** Ends publishing and capturing, and takes the element out of the page. */
  destroy() {
    if (this._destroyed) return this;
    this._destroyed = true;
    if (this.session) this.session.unpublish(this);
    this._media.then((stream) => this._stop(stream), () => {});
    for (const connector of Object.values(this._processors)) {
      if (connector && connector.destroy) connector.destroy();
    }
    if (this._meter) this._meter.stop();
    this._view.remove();
    this._emit('destroyed', { reason: 'clientDisconnected' });
    return this;
  }

  // -- for Session

  /** Announces the stream; resolves when the server has told everybody. */
  async _publish(session) {
    const media = await this._media;
    if (this.session) throw otError(1500, 'The publisher is publishing already.', 'OT_STREAM_CREATE_FAILED');
    if (this._destroyed) throw otError(1500, 'The publisher was destroyed.', 'OT_STREAM_DESTROYED');
    this.session = session;
    this._streamId = uuid();
    if (session._muteOnEntry && media.getAudioTracks().length > 0) {
      this.publishAudio(false);
      this._emit('muteForced', {});
    }
    const created = new Promise((resolve) => { this._onCreated = resolve; });
    try {
      const content = this._description(media);
      const answer = await session._request('create', `stream/${this._streamId}`, content);
      this._iceServers = answer && answer.content && answer.content.iceServers;
      await within(PUBLISH_TIMEOUT, created, () =>
        otError(1500, 'The server did not announce the stream in time.', 'OT_TIMEOUT'));
    } catch (error) {
      this.session = undefined;
      throw this._publishError(error);
    }
  }

  _publishError(error) {
    if (error.code) return error;
    const reason = error.reason || `the server answered ${error.status}`;
    if (error.status === 0) return otError(1010, `Not published: ${reason}.`);
    const refused = [403, 404, 405, 409].includes(error.status);
    return refused
      ? otError(1500, `Not published: ${reason}.`, 'OT_STREAM_CREATE_FAILED')
      : otError(2001, `Not published: ${reason}.`);
  }

  _description(media) {
    const { properties, _view: view } = this;
    const channel = [];
    const [video] = media.getVideoTracks();
    if (video) {
      const { width, height, frameRate } = video.getSettings();
      channel.push({
        id: 'video1', type: 'video', active: properties.publishVideo,
        width: view.dimensions.width || width || 640, height: view.dimensions.height || height || 480,
        orientation: 0, source: this._videoType,
        frameRate: properties.frameRate || Math.round(frameRate) || 30,
        fitMode: properties.fitMode === 'contain' ? 'contain' : 'cover' });
    }
    if (media.getAudioTracks().length > 0) {
      channel.push({ id: 'audio1', type: 'audio', active: properties.publishAudio });
    }
    return {
      id: this._streamId, name: properties.name || '', audioFallbackEnabled: false,
      publisherAudioFallbackEnabled: false, subscriberAudioFallbackEnabled: false, channel, e2ee: false,
      ...(properties.initials && { customProperties: { initials: properties.initials } }) };
  }

  /** The server has announced our stream. */
  _created(stream) {
    this.stream = stream;
    this._onCreated();
    this._emit('streamCreated', { stream });
  }

  /** The stream is over; the publisher too, unless the page prevents that to publish it again. */
  _streamDestroyed(reason) {
    const { stream } = this;
    this.session = undefined;
    this.stream = undefined;
    for (const peer of this._peers.values()) peer.close();
    this._peers.clear();
    if (stream) this._emit('streamDestroyed', { stream, reason }, () => this.destroy());
  }

  /** Somebody subscribed, or wants a fresh offer. */
  _generateOffer(message, path, from) {
    const key = peerKey(message);
    if (this._peers.has(key)) {
      this._peers.get(key).offer({ iceRestart: true });
      return;
    }
    const { session, properties } = this;
    const peer = new SendingPeer({
      configuration: session._rtcConfiguration(this._iceServers),
      identity: identityOf(message.content),
      send: (method, content) => session._request(method, message.uri, content),
      stream: this._stream,
      opus: { stereo: properties.enableStereo, dtx: properties.enableDtx },
      audioBitrate: properties.audioBitrate,
      videoCodecs: session._videoCodecs(),
      onState: (state) => log.info(`publisher → ${from}: ${state}`),
    });
    peer.from = from;
    peer.subscriberId = path.subscriber;
    this._peers.set(key, peer);
    peer.offer();
  }

  _peer(message) {
    return this._peers.get(peerKey(message));
  }

  /** What a subscriber says that it prefers. */
  _preferred(subscriberId, wishes) {
    for (const peer of this._peers.values()) {
      if (peer.subscriberId === subscriberId) peer.prefer(wishes);
    }
  }

  /** Closes the connections to a subscriber that is gone, by subscriber or by connection id. */
  _subscriberGone(matches) {
    for (const [key, peer] of this._peers) {
      if (!matches(peer)) continue;
      peer.close();
      this._peers.delete(key);
    }
  }

  _muteForced() {
    this.publishAudio(false);
    this._emit('muteForced', {});
  }

  // -- its own

  async _open() {
    const dialog = setTimeout(() => this._emit('accessDialogOpened'), 500);
    try {
      const stream = await openMedia(this.properties);
      this._stream = stream;
      if (this._destroyed) {
        this._stop(stream);
        throw otError(1500, 'The publisher was destroyed.', 'OT_STREAM_DESTROYED');
      }
      stream.getTracks().forEach((track) => this._watch(track));
      this.accessAllowed = true;
      this._emit('accessAllowed');
      const { videoContentHint } = this.properties;
      if (videoContentHint && this._track('video')) this.setVideoContentHint(videoContentHint);
      if (this.properties.publishAudio === false) this.publishAudio(false);
      this._enable('video', this.properties.publishVideo);
      const video = stream.getVideoTracks().length > 0;
      this._view.setVideoShown(video && this.properties.publishVideo);
      this._shown = this._view.show(stream, { muted: true, waitForVideo: video });
      // What is published names the picture's size; some tracks have none before their first frame.
      if (video && !this._track('video').getSettings().width) await this._shown;
      this._handlerAdded();
      return stream;
    } catch (error) {
      const told = mediaError(error);
      this._view.setFailed();
      if (told.name === 'OT_USER_MEDIA_ACCESS_DENIED') this._emit('accessDenied');
      throw told;
    } finally {
      clearTimeout(dialog);
      this._emit('accessDialogClosed');
    }
  }

  /** A track may end by itself: a device unplugged, screen sharing ended in the browser's own bar. */
  _watch(track) {
    track.addEventListener('ended', () => {
      const tracks = [...this._stream.getTracks(), ...Object.values(this._raw)];
      if (this._destroyed || !tracks.includes(track)) return;
      this._emit('mediaStopped', { track });
      const sources = ['audio', 'video'].map((kind) => this._source(kind));
      if (sources.some((each) => each && each.readyState === 'live')) return;
      if (this.session) this.session._unpublish(this, 'mediaStopped');
    });
  }

  /** Ends what was opened here; tracks that the page gave stay the page's. */
  _stop(stream) {
    const { audioSource, videoSource } = this.properties;
    for (const track of [...stream.getTracks(), ...Object.values(this._raw)]) {
      if (track && track !== audioSource && track !== videoSource) track.stop();
    }
  }

  _track(kind) {
    return this._stream ? this._stream.getTracks().find((track) => track.kind === kind) : undefined;
  }

  _enable(kind, enabled) {
    const track = this._track(kind);
    if (track) track.enabled = enabled;
  }

  /** The track that was opened or given, whatever is made of it before it is sent. */
  _source(kind) {
    return this._raw[kind] || this._track(kind);
  }

  /** @param {() => Promise} change of a track that has to be there */
  _change(kind, change) {
    const changed = this._changes.then(() => this._media).then(() => {
      if (this._track(kind)) return change();
      throw otError(1500, `The publisher has no ${kind}.`, 'OT_NO_VALID_SOURCE');
    });
    this._changes = changed.catch(() => {});
    return changed;
  }

  _replace(kind, properties) {
    return this._change(kind, async () => {
      let media;
      try {
        media = await openMedia(properties);
      } catch (error) {
        throw mediaError(error);
      }
      const [track] = media.getTracks();
      const old = this._source(kind);
      await this._send(kind, track, this._processors[kind]);
      if (![this.properties.audioSource, this.properties.videoSource].includes(old)) old.stop();
      this._watch(track);
      this.properties[`${kind}Source`] = properties[`${kind}Source`];
    });
  }

  _process(kind, connector) {
    return this._change(kind, async () => {
      const before = this._processors[kind];
      await this._send(kind, this._source(kind), connector);
      this._processors[kind] = connector || undefined;
      if (before && before !== connector && before.destroy) await before.destroy();
    });
  }

  /** Sends and shows a source's track, or what a media processor makes of it, in place of the last. */
  async _send(kind, source, connector) {
    const track = connector ? await connector.setTrack(source) : source;
    if (!isTrack(track)) throw otError(1500, 'The media processor gave no track.', 'OT_MEDIA_PROCESSOR_ERROR');
    const old = this._track(kind);
    track.enabled = old.enabled;
    source.enabled = track === source ? track.enabled : true;
    await Promise.all([...this._peers.values()].map((peer) => peer.replaceTrack(track)));
    if (this._raw[kind] && old !== track) old.stop(); // a media processor's
    this._stream.removeTrack(old);
    this._stream.addTrack(track);
    if (track === source) delete this._raw[kind];
    else this._raw[kind] = source;
    if (kind === 'audio' && this._meter) {
      this._meter.stop();
      this._meter = undefined;
      this._handlerAdded();
    }
  }

  async _updateChannel(type, attributes) {
    const channel = this.stream && [...this.stream._channels.values()].find((each) => each.type === type);
    if (!channel) return;
    try {
      await this.session._request('update', `stream/${this.stream.id}/channel/${channel.id}`, attributes);
    } catch ({ status, reason }) {
      log.warn(`the change of the ${type} channel was not taken (${status}):`, reason);
    }
  }

  _dimensionsChanged(oldValue, newValue) {
    this._emit('videoDimensionsChanged', { oldValue, newValue });
    this._updateChannel('video', newValue);
  }

  _handlerAdded() {
    if (this._meter || !this._track('audio') || !this._hasHandler('audioLevelUpdated')) return;
    this._meter = new AudioLevelMeter(this._stream, (audioLevel) =>
      this._emit('audioLevelUpdated', { audioLevel }));
  }
}

// ---- subscriber

const SUBSCRIBE_TIMEOUT = 30000;

/** All of the page, for OT.unblockAudio(). */
const subscribers = new Set();

/** A stream that is received, shown in the page. */
class Subscriber extends EventEmitter {
  constructor(session, stream, target, properties) {
    super();
    this.session = session;
    this.stream = stream;
    this.streamId = stream.id;
    this.properties = { subscribeToAudio: true, subscribeToVideo: true, ...properties };
    this._subscriberId = uuid();
    this._media = new MediaStream();
    const { preferredResolution, preferredFrameRate } = this.properties;
    if (preferredResolution) this.setPreferredResolution(preferredResolution);
    if (preferredFrameRate) this.setPreferredFrameRate(preferredFrameRate);
    this._qualityAllowsVideo = true;
    this._destroyed = false;
    this._view = new View('subscriber', target, { name: stream.name, ...this.properties }, {
      onMuteClicked: () => this.subscribeToAudio(!this.properties.subscribeToAudio),
      onDimensions: (oldValue, newValue) => this._emit('videoDimensionsChanged', { oldValue, newValue }),
      onBlocked: () => this._emit('audioBlocked'),
      onUnblocked: () => this._emit('audioUnblocked'),
    });
    this.element = this._view.element;
    this.id = this._view.id;
    this._emit('videoElementCreated', { element: this._view.video });
    if (this.properties.audioVolume !== undefined) this.setAudioVolume(this.properties.audioVolume);
    this._videoShown = this._showsVideo();
    this._view.setVideoShown(this._videoShown);
    this._view.setMuted(!this.properties.subscribeToAudio);
    subscribers.add(this);
  }

  subscribeToAudio(value) {
    const active = Boolean(value);
    this.properties.subscribeToAudio = active;
    this._applyTracks();
    this._view.setMuted(!active);
    this._updateChannel('audio', { active });
    return this;
  }

  subscribeToVideo(value, handler) {
    const active = Boolean(value);
    this.properties.subscribeToVideo = active;
    this._applyTracks();
    this._updateVideo('subscribeToVideo');
    finish(this._updateChannel('video', { active }), handler).catch(() => {});
    return this;
  }

  /** @param {number} volume 0 to 100 */
  setAudioVolume(volume) {
    this._view.video.volume = Math.min(100, Math.max(0, Number(volume) || 0)) / 100;
    return this;
  }

  getAudioVolume() { return Math.round(this._view.video.volume * 100); }
  isAudioBlocked() { return this._view.blocked; }

  /** Asks for a smaller picture; null or 'auto' for what there is. Publishers on this library follow it. */
  setPreferredResolution(resolution) {
    const size = resolution && resolution !== 'auto' ? resolution : {};
    this._prefer({ preferredWidth: Number(size.width) || 0, preferredHeight: Number(size.height) || 0 });
  }

  /** Asks for fewer pictures a second; null or 'auto' for what there is. */
  setPreferredFrameRate(frameRate) {
    this._prefer({ preferredFrameRate: Number(frameRate) || 0 });
  }

  /** Asks for one picture a second, or for all again. */
  restrictFrameRate(value) {
    this._prefer({ restrictFrameRate: Boolean(value) });
  }


  videoWidth() { return this._view.dimensions.width || undefined; }
  videoHeight() { return this._view.dimensions.height || undefined; }
  getImgData() { return this._view.imageData(); }
  getStyle(key) { return key ? this._view.style[key] : { ...this._view.style }; }

  setStyle(style, value) {
    this._view.setStyle(typeof style === 'string' ? { [style]: value } : style);
    return this;
  }

  /** `handler(error, {timestamp, audio: {…}, video: {…}})` */
  getStats(handler) {
    finish(this.getRtcStatsReport().then((report) => summary(report, 'in')), handler).catch(() => {});
  }

  /** Resolves with the browser's RTCStatsReport. */
  getRtcStatsReport() {
    return this._peer
      ? this._peer.statistics()
      : Promise.reject(otError(1015, 'The subscriber is not connected.', 'OT_PEER_CONNECTION_NOT_CONNECTED'));
  }

  // -- for Session

  /** Asks for the stream; resolves when it arrives. */
  async _subscribe() {
    const own = this.session.getPublisherForStream(this.stream);
    if (own && !this.properties.testNetwork) {
      own._stream.getTracks().forEach((track) => this._media.addTrack(track));
      await this._arrived();
      return;
    }
    const connected = new Promise((resolve, reject) => {
      this._onConnected = resolve;
      this._onDestroyed = () => reject(otError(1501, 'The stream ended meanwhile.', 'OT_STREAM_DESTROYED'));
    });
    connected.catch(() => {});
    try {
      const answer = await this.session._request('create', this._path(), {
        id: this._subscriberId, connection: this.session.connection.id, keyManagementMethod: 'DTLS_SRTP',
        bundleSupport: true, rtcpMuxSupport: true, e2ee: false,
        channel: [...this.stream._channels.values()].map((channel) => this._wanted(channel)) });
      this._iceServers = answer && answer.content && answer.content.iceServers;
    } catch ({ status, reason }) {
      throw this._subscribeError(status, reason);
    }
    await within(SUBSCRIBE_TIMEOUT, connected, () =>
      otError(1554, 'No connection to the publisher could be made.'));
    await this._arrived();
  }

  _subscribeError(status, reason) {
    const why = reason || `the server answered ${status}`;
    if (status === 0) return otError(1010, `Not subscribed: ${why}.`);
    if (status === 404) return otError(1501, `Not subscribed: ${why}.`, 'OT_STREAM_NOT_FOUND');
    if (status === 409 && reason === 'streamLimitExceeded') return otError(1605, 'Too many subscribers.');
    if ([400, 403, 405, 409].includes(status)) return otError(1501, `Not subscribed: ${why}.`);
    return otError(2001, `Not subscribed: ${why}.`);
  }

  _wanted({ id, type }) {
    const { properties } = this;
    if (type === 'audio') return { id, type, active: properties.subscribeToAudio };
    if (type !== 'video') return { id, type, active: false };
    return { id, type, active: properties.subscribeToVideo, restrictFrameRate: false, ...this._wishes };
  }

  /** The publisher offers: at the beginning, or again to repair the connection. */
  _offer(message) {
    if (!this._peer) {
      this._peer = new ReceivingPeer({
        configuration: this.session._rtcConfiguration(this._iceServers),
        identity: identityOf(message.content),
        send: (method, content) => this.session._request(method, message.uri, content),
        onTrack: (track) => {
          this._media.addTrack(track);
          this._applyTracks();
        },
        onState: (state) => this._stateChanged(state),
      });
      (this._early || []).forEach((content) => this._peer.addCandidate(content));
    }
    this._peer.acceptOffer(message.content.sdp);
  }

  _candidate({ content }) {
    if (this._peer) this._peer.addCandidate(content);
    else (this._early = this._early || []).push(content);
  }

  /** The stream's channels changed on the publisher's side. */
  _streamChanged() {
    this._view.setName(this.properties.name || this.stream.name);
    this._updateVideo('publishVideo');
  }

  /** The publisher, or a media server, switches our video for lack of bandwidth. */
  _qualityChanged(active) {
    this._qualityAllowsVideo = active;
    this._applyTracks();
    this._updateVideo('quality');
  }

  /** Or may do so soon. */
  _disableWarning(active) {
    this._emit(active ? 'videoDisableWarning' : 'videoDisableWarningLifted', {});
  }

  /** Ends receiving at once; the element stays until `_remove()`. */
  _close() {
    if (this._closed) return;
    this._closed = true;
    subscribers.delete(this);
    if (this._peer) this._peer.close();
    if (this._meter) this._meter.stop();
    if (this._onDestroyed) this._onDestroyed();
  }

  _remove(reason) {
    this._close();
    if (this._destroyed) return;
    this._destroyed = true;
    this._view.remove();
    this._emit('destroyed', { reason });
  }

  // -- its own

  /** Told once there is a publisher's end to follow it. */
  _prefer(wishes) {
    this._wishes = { ...this._wishes, ...wishes };
    if (this._connected) this._updateChannel('video', wishes);
  }

  _path() {
    return `stream/${this.stream.id}/subscriber/${this._subscriberId}`;
  }

  async _arrived() {
    this._applyTracks();
    await this._view.show(this._media, { waitForVideo: this._showsVideo() });
    this._handlerAdded();
    this._connected = true;
    this._emit('connected');
    if (this._wishes) this._updateChannel('video', this._wishes);
  }

  _stateChanged(state) {
    if (state === 'connected') {
      this._onConnected();
      if (this._connected === false) {
        this._connected = true;
        this._emit('connected');
      }
    } else if ((state === 'disconnected' || state === 'failed') && this._connected) {
      this._connected = false;
      this._emit('disconnected');
    }
  }

  _showsVideo() {
    return this.stream.hasVideo && this.properties.subscribeToVideo && this._qualityAllowsVideo;
  }

  _updateVideo(reason) {
    const shown = this._showsVideo();
    if (shown === this._videoShown) return;
    this._videoShown = shown;
    this._view.setVideoShown(shown);
    this._emit(shown ? 'videoEnabled' : 'videoDisabled', { reason });
  }

  /** Tracks of one's own publisher are left alone: they are what is sent. */
  _applyTracks() {
    if (!this._peer) {
      this._view.video.muted = this._view.blocked || !this.properties.subscribeToAudio;
      return;
    }
    for (const track of this._media.getTracks()) {
      track.enabled = track.kind === 'audio'
        ? this.properties.subscribeToAudio
        : this.properties.subscribeToVideo && this._qualityAllowsVideo;
    }
  }

  async _updateChannel(type, attributes) {
    const channel = [...this.stream._channels.values()].find((each) => each.type === type);
    if (!channel || !this._peer || this._closed) return;
    try {
      await this.session._request('update', `${this._path()}/channel/${channel.id}`, attributes);
    } catch ({ status, reason }) {
      log.warn(`the change of the ${type} subscription was not taken (${status}):`, reason);
    }
  }

  _handlerAdded() {
    const heard = this._media && this._media.getAudioTracks().length > 0;
    if (this._meter || !heard || !this._hasHandler('audioLevelUpdated')) return;
    this._meter = new AudioLevelMeter(this._media, (audioLevel) =>
      this._emit('audioLevelUpdated', { audioLevel }));
  }
}

// ---- session

const SIGNAL_TYPE_LIMIT = 128;
const SIGNAL_DATA_LIMIT = 8192;
const JOIN_TIMEOUT = 15000;

/** One's place in a session: who and what is there, and what one does in it. */
class Session extends EventEmitter {
  constructor(apiKey, sessionId, options) {
    super();
    this.apiKey = String(apiKey);
    this.id = this.sessionId = sessionId;
    this.connection = undefined;
    this.capabilities = new Capabilities([]);
    this.connections = new Collection();
    this.streams = new Collection();
    this.currentState = 'disconnected';
    this._options = options || {};
    this._iceConfig = this._options.iceConfig;
    this._publishers = new Set();
    this._subscribers = new Set();
    this._muteOnEntry = false;
    this._leavePage = () => this.disconnect();
  }

  isConnected() {
    return this.currentState === 'connected' || this.currentState === 'reconnecting';
  }

  is(...states) {
    return states.includes(this.currentState);
  }

  // -- joining and leaving

  /** Joins. `handler(error)` when it is done. */
  connect(token, handler) {
    if (!token || typeof token !== 'string') {
      complete(handler, otError(1004, 'connect: the token is missing.'));
      return this;
    }
    if (this.isConnected()) {
      log.warn('connect: the session is connected already');
      complete(handler);
      return this;
    }
    if (!this._joining) {
      this.currentState = 'connecting';
      const joining = this._joining = this._join(token, () => this._joining === joining);
    }
    const joining = this._joining;
    joining.then(() => complete(handler), (error) => {
      if (this._joining === joining) {
        this._joining = undefined;
        this.currentState = 'disconnected';
      }
      complete(handler, error);
    });
    return this;
  }

  /** @param {() => boolean} wanted whether the page has not disconnected meanwhile */
  async _join(token, wanted) {
    await undefined; // so that `wanted` knows this promise
    const abandoned = () => otError(1006, 'The session was disconnected while connecting.');
    const connectionId = uuid();
    const info = await fetchSessionInfo({
      apiKey: this.apiKey, sessionId: this.sessionId, token, connectionId });
    if (!wanted()) throw abandoned();
    this._info = info;
    this._base = `/v2/partner/${info.partner_id}/session/${info.session_id}`;
    this._connectionId = connectionId;
    this._early = []; // messages that come before the state
    const ownCreated = new Promise((resolve) => { this._onOwnCreated = resolve; });
    const properties = info.properties || {};
    const socket = this._socket = new RumorSocket({
      url: info.messaging_url, connectionId, server: info.symphony_address, topic: this._base,
      resumable: properties.reconnection === true,
      onMessage: (message, from) => this._received(message, from),
      onReconnecting: () => this._reconnecting(),
      onReconnected: () => this._reconnected(),
      onLost: () => this._ended('networkDisconnected'),
    });
    try {
      await socket.open();
      const state = await within(JOIN_TIMEOUT, this._requestConnection(token), () =>
        otError(1008, 'The server did not let us in in time.', 'OT_TIMEOUT'));
      const listed = (state.connection || []).find(({ id }) => id === connectionId);
      const own = listed || await within(JOIN_TIMEOUT, ownCreated, () =>
        otError(2001, 'The server did not announce our connection.'));
      if (!wanted()) throw abandoned();
      this._enter(state, own);
    } catch (error) {
      socket.close();
      if (this._socket === socket) this._socket = undefined;
      throw error;
    }
  }

  async _requestConnection(token) {
    const suppressed = this._options.connectionEventsSuppressed;
    try {
      const state = await this._request('create', `connection/${this._connectionId}`, {
        userAgent: navigator.userAgent, clientVersion: `js-${VERSION}`,
        capabilities: ['forceMute', 'renegotiation', 'subscriberPreferences'],
        ...(suppressed && { connectionEventsSuppressed: true }),
      }, { headers: { 'X-TB-TOKEN-AUTH': token } });
      return state || {};
    } catch ({ status, reason }) {
      const why = `The server refused the connection (${status}): ${reason || 'without a reason'}.`;
      if (reason === 'connectionLimitExceeded') throw otError(1027, why);
      throw otError([0, 400, 403, 409].includes(status) ? 1006 : 2001, why);
    }
  }

  /** The state of the session at the time when we joined becomes events. */
  _enter(state, own) {
    this.currentState = 'connected';
    this._muteOnEntry = Boolean(state.mute && state.mute.active);
    window.addEventListener('pagehide', this._leavePage);
    const described = new Map([[own.id, own]]);
    for (const each of state.connection || []) described.set(each.id, each);
    for (const { connection } of state.stream || []) {
      if (connection && !described.has(connection.id)) described.set(connection.id, connection);
    }
    for (const each of described.values()) this.connections._items.set(each.id, new Connection(each));
    this.connection = this.connections.get(own.id);
    this.capabilities = new Capabilities(this.connection.permissions);
    this._emit('sessionConnected', { connections: this.connections.map((each) => each), streams: [] });
    if (!this._options.connectionEventsSuppressed) {
      this.connections.forEach((connection) => this._emit('connectionCreated', { connection }));
    }
    (state.stream || []).forEach((description) => this._streamCreated(description));
    for (const { id, name } of state.archive || state.archives || []) this._emit('archiveStarted', { id, name });
    const early = this._early;
    this._early = undefined;
    for (const [message, from] of early) this._received(message, from);
  }

  /** Leaves. */
  disconnect() {
    const { _socket: socket } = this;
    this._joining = undefined;
    if (this.isConnected()) this._ended('clientDisconnected');
    else this.currentState = 'disconnected';
    this._socket = undefined;
    if (socket) socket.close();
  }

  _ended(reason) {
    if (!this.isConnected()) return;
    const socket = this._socket;
    this.currentState = 'disconnected';
    this._joining = undefined;
    window.removeEventListener('pagehide', this._leavePage);
    const publishing = [...this._publishers];
    const subscribing = [...this._subscribers];
    this._publishers.clear();
    this._subscribers.clear();
    publishing.forEach((publisher) => publisher._streamDestroyed(reason));
    subscribing.forEach((subscriber) => subscriber._close());
    this.streams._items.clear();
    this.connections._items.clear();
    this.connection = undefined;
    this.capabilities = new Capabilities([]);
    if (socket) socket.close();
    this._socket = undefined;
    this._emit('sessionDisconnected', { reason }, () =>
      subscribing.forEach((subscriber) => subscriber._remove(reason)));
  }

  _reconnecting() {
    if (!this.isConnected()) return; // while joining it is nobody's business
    this.currentState = 'reconnecting';
    this._emit('sessionReconnecting');
  }

  _reconnected() {
    if (!this.isConnected()) return;
    this.currentState = 'connected';
    this._emit('sessionReconnected');
    for (const publisher of this._publishers) {
      for (const peer of publisher._peers.values()) peer.repair();
    }
  }

  // -- publishing

  /**
   * `publish(publisher, handler?)` or `publish(target?, properties?, handler?)`.
   * @returns {Publisher}
   */
  publish(publisherOrTarget, properties, handler) {
    const done = [publisherOrTarget, properties, handler].find((each) => typeof each === 'function');
    const publisher = publisherOrTarget instanceof Publisher
      ? publisherOrTarget
      : OT.initPublisher(
        typeof publisherOrTarget === 'function' ? undefined : publisherOrTarget,
        typeof properties === 'object' ? properties : undefined);
    finish(this._publish(publisher), done).catch(() => {});
    return publisher;
  }

  async _publish(publisher) {
    this._demandPublishing();
    await publisher._media;
    this._demandPublishing(); // opening the media may have taken long
    this._publishers.add(publisher);
    try {
      await publisher._publish(this);
    } catch (error) {
      if (publisher.session !== this) this._publishers.delete(publisher);
      throw error;
    }
    return publisher;
  }

  _demandPublishing() {
    if (!this.isConnected()) throw otError(1010, 'publish: the session is not connected.');
    if (!this.capabilities.publish) {
      throw otError(1500, 'publish: the token does not allow it.', 'OT_PERMISSION_DENIED');
    }
  }

  /** Ends a publisher's stream, and the publisher unless its streamDestroyed is prevented. */
  unpublish(publisher) {
    if (!(publisher instanceof Publisher)) {
      throw otError(1011, 'unpublish: a publisher is needed.');
    }
    this._unpublish(publisher, 'clientDisconnected');
  }

  _unpublish(publisher, reason) {
    if (publisher.session !== this) return;
    const { _streamId: id } = publisher;
    this._publishers.delete(publisher);
    publisher._streamDestroyed(reason);
    this.streams._items.delete(id);
    this._request('delete', `stream/${id}`, {})
      .catch((refused) => log.info(`unpublish was not taken (${refused.status}):`, refused.reason));
  }

  getPublisherForStream(stream) {
    const id = idOf(stream);
    return [...this._publishers].find((publisher) => publisher.stream && publisher.stream.id === id);
  }

  // -- subscribing

  /**
   * `subscribe(stream, target?, properties?, handler?)`
   * @returns {Subscriber|undefined} nothing if the stream or the connection is missing
   */
  subscribe(stream, target, properties, handler) {
    const rest = [target, properties, handler];
    const done = rest.find((each) => typeof each === 'function');
    const place = rest.find((each) => typeof each === 'string' || each instanceof Element);
    const settings = rest.find((each) => each && typeof each === 'object' && !(each instanceof Element));
    if (!stream || !stream.streamId) {
      complete(done, otError(1011, 'subscribe: a stream is needed.'));
      return undefined;
    }
    if (!this.isConnected()) {
      complete(done, otError(1010, 'subscribe: the session is not connected.'));
      return undefined;
    }
    if (!this.capabilities.subscribe) {
      complete(done, otError(1501, 'subscribe: the token does not allow it.', 'OT_PERMISSION_DENIED'));
      return undefined;
    }
    const subscriber = new Subscriber(this, stream, place, settings);
    this._subscribers.add(subscriber);
    const subscribed = subscriber._subscribe().then(() => subscriber).catch((error) => {
      this._subscribers.delete(subscriber);
      subscriber._remove('subscribeFailed');
      throw error;
    });
    finish(subscribed, done).catch(() => {});
    return subscriber;
  }

  /** Ends a subscription and takes its element out of the page. */
  unsubscribe(subscriber) {
    if (!(subscriber instanceof Subscriber)) {
      throw otError(1011, 'unsubscribe: a subscriber is needed.');
    }
    if (!this._subscribers.delete(subscriber)) return;
    const path = subscriber._path();
    const remote = subscriber._peer || !this.getPublisherForStream(subscriber.stream);
    subscriber._remove('clientDisconnected');
    if (!remote) return;
    this._request('delete', path, {})
      .catch((refused) => log.info(`unsubscribe was not taken (${refused.status}):`, refused.reason));
  }

  getSubscribersForStream(stream) {
    const id = idOf(stream);
    return [...this._subscribers].filter((subscriber) => subscriber.stream.id === id);
  }

  // -- signals and moderation

  /** `signal({type?, data?, to?, retryAfterReconnect?}, handler?)`; `to` is a connection. */
  signal(signal, handler) {
    finish(this._signal(signal || {}), handler).catch(() => {});
  }

  async _signal({ type, data, to, retryAfterReconnect = true }) {
    if (!this.isConnected()) throw otError(500, 'signal: the session is not connected.');
    if (type !== undefined && type !== null) {
      if (typeof type !== 'string' || !/^[A-Za-z0-9\-._~]*$/.test(type)) {
        throw otError(400, 'signal: a type consists of letters, digits and - . _ ~', 'OT_INVALID_PARAMETER');
      }
      if (type.length > SIGNAL_TYPE_LIMIT) {
        throw otError(413, `signal: the type is longer than ${SIGNAL_TYPE_LIMIT} characters.`);
      }
    }
    const receiver = to === undefined || to === null ? undefined : idOf(to);
    if (to !== undefined && to !== null && (typeof receiver !== 'string' || !receiver)) {
      throw otError(400, 'signal: "to" is no connection.');
    }
    const text = data === undefined ? '' : JSON.stringify(data);
    if (text === undefined) throw otError(400, 'signal: the data is not serializable.');
    if (text.length > SIGNAL_DATA_LIMIT) {
      throw otError(413, `signal: the data is longer than ${SIGNAL_DATA_LIMIT} characters.`);
    }
    if (!this.capabilities.signal) throw otError(403, 'signal: the token does not allow it.');
    const content = { ...(type && { type }), ...(data !== undefined && { data }) };
    const path = `${receiver ? `connection/${receiver}/` : ''}signal/${uuid()}`;
    try {
      await this._request('signal', path, content, { resend: retryAfterReconnect });
    } catch ({ status, reason }) {
      const why = reason || `the server answered ${status}`;
      throw otError([400, 403, 404, 413, 429].includes(status) ? status : 500, `The signal was not sent: ${why}.`);
    }
  }

  /** Ends another client's connection, given it or its id. */
  forceDisconnect(connection, handler) {
    const path = `connection/${idOf(connection)}`;
    finish(this._moderate('delete', path, {}, 'forceDisconnect', 1520), handler).catch(() => {});
  }

  /** Ends another client's stream, given it or its id. */
  forceUnpublish(stream, handler) {
    const path = `stream/${idOf(stream)}`;
    finish(this._moderate('delete', path, {}, 'forceUnpublish', 1530), handler).catch(() => {});
  }

  /** Mutes the publisher of a stream; it may unmute itself. */
  forceMuteStream(stream) {
    return this._moderate('update', `stream/${idOf(stream)}`, muteContent(true), 'forceMute', 1540);
  }

  /** Mutes all publishers, those that come later too, but for the given streams. */
  forceMuteAll(excludedStreams) {
    const exclusion = (excludedStreams || []).map(idOf);
    return this._moderate('update', '', { ...muteContent(true), exclusion }, 'forceMute', 1540);
  }

  /** Publishers that come from now on are not muted any more. */
  disableForceMute() {
    return this._moderate('update', '', { ...muteContent(false), exclusion: [] }, 'forceMute', 1540);
  }

  async _moderate(method, path, content, capability, code) {
    if (!this.isConnected()) throw otError(1010, `${capability}: the session is not connected.`);
    if (!this.capabilities[capability]) {
      throw otError(code, `${capability}: the token does not allow it.`, 'OT_PERMISSION_DENIED');
    }
    try {
      await this._request(method, path, content);
    } catch ({ status, reason }) {
      throw otError(code, `${capability}: ${reason || `the server answered ${status}`}.`);
    }
  }

  // -- ICE

  /** @param {object} config {includeServers: 'all'|'custom', transportPolicy: 'all'|'relay', customServers} */
  setIceConfig(config) {
    this._iceConfig = config;
    return Promise.resolve();
  }

  /** @param {object[]} [granted] the ICE servers that came with a stream or subscription */
  _rtcConfiguration(granted) {
    return rtcConfiguration(this._info, granted, this._iceConfig);
  }

  _videoCodecs() {
    return videoCodecs(this._info);
  }

  // -- the wire

  /** A request on a path below the session, or on a whole URI that the server named. */
  _request(method, path, content, options) {
    if (!this._socket) return Promise.reject({ status: 0, reason: 'the session is not connected' });
    const uri = path.startsWith('/') ? path : path ? `${this._base}/${path}` : this._base;
    return this._socket.request({ method, uri, content }, options);
  }

  _received(message, from) {
    const path = parseURI(message.uri);
    message.content = message.content || {};
    if (this._early) {
      if (path.resource === 'connection' && message.method === 'created' && path.connection === this._connectionId) {
        this._onOwnCreated(message.content);
      } else {
        this._early.push([message, from]);
      }
      return;
    }
    if (!this.isConnected()) return;
    const handler = MESSAGES[`${path.resource} ${message.method}`];
    if (handler) handler(this, path, message, from);
    else log.info('a message that nothing is known about:', message.method, message.uri);
  }

  _streamCreated(description) {
    if (!description.id || this.streams.has(description.id)) return;
    const connection = this._connectionOf(description);
    const stream = new Stream(description, connection);
    this.streams._items.set(stream.id, stream);
    const publisher = [...this._publishers].find((each) => each._streamId === stream.id);
    if (publisher) publisher._created(stream);
    else this._emit('streamCreated', { stream });
  }

  _connectionOf({ connection, connectionId }) {
    const id = connection ? connection.id : connectionId;
    if (connection && !this.connections.has(id)) {
      this.connections._items.set(id, new Connection(connection));
    }
    return this.connections.get(id);
  }

  _streamDeleted(id, reason) {
    const stream = this.streams.get(id);
    const publisher = [...this._publishers].find((each) => each._streamId === id);
    this.streams._items.delete(id);
    if (publisher) {
      this._publishers.delete(publisher);
      publisher._streamDestroyed(reason);
    } else if (stream && stream.connection !== this.connection) {
      const watching = this.getSubscribersForStream(stream);
      watching.forEach((subscriber) => {
        this._subscribers.delete(subscriber);
        subscriber._close();
      });
      this._emit('streamDestroyed', { stream, reason }, () =>
        watching.forEach((subscriber) => subscriber._remove(reason)));
    }
  }

  _publisherOf(path) {
    return [...this._publishers].find((publisher) => publisher._streamId === path.stream);
  }

  _subscriberOf(path) {
    return [...this._subscribers].find((subscriber) => subscriber._subscriberId === path.subscriber);
  }
}

// ---- session-messages

/** Negotiation, on a subscriber's path or, by a media server, on the stream's. */
const NEGOTIATION = {
  generateoffer(session, path, message, from) {
    const publisher = session._publisherOf(path);
    if (publisher && publisher._stream) publisher._generateOffer(message, path, from);
  },

  offer(session, path, message) {
    const subscriber = session._subscriberOf(path);
    const publisher = session._publisherOf(path);
    const peer = publisher && publisher._peer(message);
    if (subscriber) subscriber._offer(message);
    else if (peer) peer.acceptOffer(message.content.sdp); // a subscriber that repairs the connection
  },

  answer(session, path, message) {
    const publisher = session._publisherOf(path);
    const peer = publisher && publisher._peer(message);
    if (peer) peer.acceptAnswer(message.content.sdp);
  },

  // With one's own stream under test both ends are here; the browser knows whose it is by ufrag.
  candidate(session, path, message) {
    const publisher = session._publisherOf(path);
    const peer = publisher && publisher._peer(message);
    const subscriber = session._subscriberOf(path);
    if (peer) peer.addCandidate(message.content);
    if (subscriber) subscriber._candidate(message);
  },
};

/** What the server tells, by resource and method. */
const MESSAGES = {
  'connection created': (session, path, { content }) => {
    if (!content.id || session.connections.has(content.id)) return;
    const connection = new Connection(content);
    session.connections._items.set(connection.id, connection);
    if (!session._options.connectionEventsSuppressed) session._emit('connectionCreated', { connection });
  },

  'connection deleted': (session, path, { reason }) => {
    const connection = session.connections.get(path.connection);
    if (!connection) return;
    if (connection === session.connection) {
      session._ended(reason || 'forceDisconnected');
      return;
    }
    session.connections._items.delete(connection.id);
    for (const publisher of session._publishers) {
      publisher._subscriberGone((peer) => peer.from === connection.id);
    }
    if (!session._options.connectionEventsSuppressed) {
      session._emit('connectionDestroyed', { connection, reason });
    }
  },

  'stream created': (session, path, { content }) => session._streamCreated(content),

  'stream deleted': (session, path, { reason }) => session._streamDeleted(path.stream, reason),

  'stream updated': (session, path, { content }) => {
    const stream = session.streams.get(path.stream);
    if (!stream || typeof content.name !== 'string' || content.name === stream.name) return;
    const oldValue = stream.name;
    stream.name = content.name;
    session._emit('streamPropertyChanged', {
      stream, changedProperty: 'name', oldValue, newValue: content.name });
    session.getSubscribersForStream(stream).forEach((subscriber) => subscriber._streamChanged());
  },

  'stream update': (session, path, { content, reason }) => {
    const publisher = session._publisherOf(path);
    const mute = content.reason === 'mute' || reason === 'mute';
    if (publisher && mute && content.active !== false) publisher._muteForced();
  },

  'stream/channel updated': (session, path, { content }) => {
    const stream = session.streams.get(path.stream);
    if (!stream) return;
    for (const change of stream._update(path.channel, content)) {
      session._emit('streamPropertyChanged', { stream, ...change });
    }
    const { disableWarning } = content;
    const isVideo = (stream._channels.get(path.channel) || {}).type === 'video';
    for (const subscriber of session.getSubscribersForStream(stream)) {
      subscriber._streamChanged();
      if (isVideo && typeof disableWarning === 'boolean') subscriber._disableWarning(disableWarning);
    }
  },

  'stream/subscriber created': () => {}, // the offer is asked for by generateoffer

  'stream/subscriber deleted': (session, path) => {
    const publisher = session._publisherOf(path);
    if (publisher) publisher._subscriberGone((peer) => peer.subscriberId === path.subscriber);
  },

  'stream/subscriber/channel update': (session, path, { content }) => {
    const subscriber = session._subscriberOf(path);
    const channel = subscriber && subscriber.stream._channels.get(path.channel);
    if (channel && channel.type === 'video' && typeof content.active === 'boolean') {
      subscriber._qualityChanged(content.active);
    }
    const publisher = session._publisherOf(path);
    if (publisher) publisher._preferred(path.subscriber, content);
  },

  'stream/subscriber/channel updated': () => {},

  'session update': (session, path, { content, reason }) => {
    if (content.reason !== 'mute' && reason !== 'mute') return;
    session._muteOnEntry = Boolean(content.active);
    session._emit('muteForced', { active: Boolean(content.active) });
  },

  'archive created': (session, path, { content }) => {
    session._emit('archiveStarted', { id: content.id || path.archive, name: content.name || '' });
  },

  'archive updated': (session, path, { content }) => {
    const fields = { id: content.id || path.archive, name: content.name || '', status: content.status };
    session._emit(content.status === 'stopped' ? 'archiveStopped' : 'archiveUpdated', fields);
  },
};

for (const resource of ['stream', 'stream/subscriber']) {
  for (const [method, handler] of Object.entries(NEGOTIATION)) MESSAGES[`${resource} ${method}`] = handler;
}
MESSAGES['signal signal'] = MESSAGES['connection/signal signal'] = (session, path, { content }, from) => {
  const type = content.type ? `signal:${content.type}` : 'signal';
  // Without connection events the sender comes along; the server itself is nobody.
  const sender = content.fromConnection || content.connection;
  const known = session.connections.get(from) || (sender && sender.id ? new Connection(sender) : null);
  const names = type === 'signal' ? ['signal'] : ['signal', type];
  session._emit(type, { data: content.data, from: known }, undefined, names);
};

// ---- ot

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

})(window);
