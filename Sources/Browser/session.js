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
