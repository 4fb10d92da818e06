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
