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
