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
