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
