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
