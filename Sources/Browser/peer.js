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
