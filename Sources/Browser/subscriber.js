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
