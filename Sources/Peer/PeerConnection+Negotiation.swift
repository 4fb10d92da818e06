import Base
import RTP
import SDP

extension PeerConnection {
  // MARK: The offering side

  /// An offer to send. Candidates follow as events.
  package func offer(audio: Bool, video: Bool, streamID: String) throws(PeerError) -> String {
    guard phase == .new, mediaOffer == nil else { throw .wrongState("an offer was made or answered before") }
    guard audio || video else { throw .wrongState("neither audio nor video to offer") }
    var random = SeededGenerator(seed: .random(in: 0...UInt64.max))
    let offer = MediaOffer(
      audio: audio, video: video, streamID: streamID, cname: configuration.cname, random: &random)
    let transport = try makeICE(isControlling: true, hasVideo: video)
    mediaOffer = offer
    ice = transport
    secure = makeSecureTransport()
    phase = .connecting
    candidateMid = offer.sections.first?.mid
    return try describe(offer, transport)
  }

  /// A new offer with new candidates for the same streams; the old path is used until there is a new one.
  /// - Parameter answerIsLost: the answer to the offer before is no longer expected; the next answer is this
  ///   one's.
  package func restartICE(
    _ reason: ICEReason = .requested, answerIsLost: Bool = false
  ) throws(PeerError) -> String {
    guard let mediaOffer, phase == .connecting || phase == .connected else {
      throw .wrongState("only the side that offered can restart ICE, and only while the connection stands")
    }
    if answerIsLost { unanswered = 0 }
    nextICE?.close()
    let transport = try makeICE(
      isControlling: true, hasVideo: mediaOffer.sections.contains { $0.kind == .video })
    nextICE = transport
    let offer = try describe(mediaOffer, transport)
    tell(.checking, reason)
    return offer
  }

  private func describe(_ offer: MediaOffer, _ transport: ICETransport) throws(PeerError) -> String {
    unanswered += 1
    expect(.answerTimedOut(after: configuration.limit), restartWithin: Self.answerLimit)
    let description = offer.description(localTransport(transport))
    try transport.gather()
    return description.serialized()
  }

  /// The other side's answer to our last offer.
  package func setAnswer(_ sdp: String) throws(PeerError) {
    // After a restart that was given up.
    if phase == .connected, unanswered == 0 { return }
    guard let mediaOffer, unanswered > 0, phase != .ended else { throw .wrongState("no offer to answer") }
    let outcome = try mediaOffer.outcome(of: try Self.parse(sdp))
    unanswered -= 1
    // To an offer that was followed by another, or a restart that was given up.
    if unanswered > 0 || (phase == .connected && nextICE == nil) { return }
    // Any other certificate is somebody else, or the same peer started anew, to whom we must offer anew.
    if let remote, !remote.hasSameAssociation(as: outcome.transport) {
      throw .invalidDescription("the fingerprint has changed")
    }
    repeatsPackets = outcome.streams.contains { $0.nack && $0.rtx == nil }
    let rtp = session(reducedSize: outcome.reducedSizeRTCP)
    let kept = outcome.streams
    for stream in sendStreams where !kept.contains(stream.configuration) { rtp.removeStream(stream.id) }
    sendStreams.removeAll { !kept.contains($0.configuration) }
    for stream in kept where !sendStreams.contains(where: { $0.configuration == stream }) {
      sendStreams.append((stream, rtp.addSendStream(stream)))
    }
    capture?.streamsChanged(sendStreams.map(\.configuration), [])
    try connect(to: outcome.transport, isNew: nextICE != nil || remote == nil)
  }

  // MARK: The answering side

  /// Our answer to an offer: the first, one that restarts ICE, or one that changes the streams.
  package func answer(toOffer sdp: String) throws(PeerError) -> String {
    guard mediaOffer == nil, phase != .ended else { throw .wrongState("not the answering side") }
    let answer = try MediaAnswer(to: try Self.parse(sdp))
    if phase == .connected, let remote, !remote.hasSameAssociation(as: answer.transport) {
      startAnew()
    }
    let transport: ICETransport
    let isNew: Bool
    if let ice, let remote, remote.hasSameCredentials(as: answer.transport) {
      isNew = false
      transport = nextICE ?? ice
    } else {
      isNew = true
      transport = try makeICE(
        isControlling: answer.transport.isLite, hasVideo: answer.streams.contains { $0.kind == .video })
      if ice == nil || phase != .connected {
        ice?.close()
        ice = transport
      } else {
        nextICE?.close()
        nextICE = transport
        tell(.checking, .requested)
      }
    }
    if secure == nil { secure = makeSecureTransport() }
    if phase == .new { phase = .connecting }
    candidateMid = answer.mid
    candidateIndex = answer.index

    let rtp = session(reducedSize: answer.reducedSizeRTCP)
    for stream in receiveStreams where !answer.streams.contains(stream.configuration) {
      rtp.removeStream(stream.id)
    }
    receiveStreams.removeAll { !answer.streams.contains($0.configuration) }
    for stream in answer.streams where !receiveStreams.contains(where: { $0.configuration == stream }) {
      receiveStreams.append((stream, rtp.addReceiveStream(stream)))
    }
    capture?.streamsChanged([], receiveStreams.map(\.configuration))
    try connect(to: answer.transport, isNew: isNew)
    let description = answer.description(localTransport(transport))
    try transport.gather()
    return description.serialized()
  }

  /// The other side is a new peer under the same name: nothing of the old association is of use.
  private func startAnew() {
    ice?.close()
    nextICE?.close()
    secure?.close()
    ice = nil
    nextICE = nil
    secure = nil
    remote = nil
    rtp = nil
    receiveStreams = []
    phase = .connecting
  }

  // MARK: Candidates

  /// A candidate of the other side, `candidate:…`; what cannot be read or used is ignored.
  package func addRemoteCandidate(_ candidate: String, sdpMid: String?, sdpMLineIndex: Int?) {
    guard phase != .ended, let candidate = try? ICECandidate(parsing: candidate) else { return }
    if let remote, unanswered == 0 || candidate["ufrag"] == remote.userFragment {
      guard candidate["ufrag"].map({ $0 == remote.userFragment }) ?? true else { return }
      (nextICE ?? ice)?.addRemoteCandidate(candidate)
    } else if pendingCandidates.count < Self.maximumPendingCandidates {
      pendingCandidates.append((candidate, sdpMid, sdpMLineIndex))
    }
  }

  // MARK: Both

  /// What has to come next: while connecting within the limit; later only media has to go on.
  private func expect(_ expiry: PeerError, restartWithin limit: Duration) {
    if phase == .connected { restartDeadline = MonotonicClock.now() + limit } else { wait(for: expiry) }
  }

  private static func parse(_ sdp: String) throws(PeerError) -> SessionDescription {
    do {
      return try SessionDescription(parsing: sdp)
    } catch {
      throw .invalidDescription("\(error)")
    }
  }

  private func localTransport(_ transport: ICETransport) -> LocalTransport {
    version += 1
    return LocalTransport(
      sessionID: sessionID, version: version, userFragment: transport.userFragment,
      password: transport.password, fingerprint: configuration.certificate.fingerprint)
  }

  private func session(reducedSize: Bool) -> RTPSession {
    if let rtp { return rtp }
    var settings = RTPSession.Configuration(
      cname: configuration.cname, randomSeed: UInt64.random(in: 0...UInt64.max),
      wallClockAtZero: WallClock.microseconds() - MonotonicClock.now().nanoseconds / 1000)
    settings.reducedSizeRTCP = reducedSize
    settings.maximumBitrate = max(configuration.maximumBitrate, settings.minimumBitrate)
    settings.initialBitrate = min(settings.initialBitrate, settings.maximumBitrate)
    let session = RTPSession(configuration: settings)
    rtp = session
    return session
  }

  /// Uses what the other side told about its transport.
  private func connect(to transport: RemoteTransport, isNew: Bool) throws(PeerError) {
    remote = transport
    guard let ice = nextICE ?? ice else { return }
    if isNew {
      guard ice.setRemote(userFragment: transport.userFragment, password: transport.password) else {
        throw .invalidDescription("libnice refuses ice-ufrag or ice-pwd")
      }
      expect(.iceTimedOut(after: configuration.limit), restartWithin: Self.checksLimit)
    }
    for candidate in transport.candidates { ice.addRemoteCandidate(candidate) }
    let pending = pendingCandidates
    pendingCandidates = []
    for item in pending where item.candidate["ufrag"].map({ $0 == transport.userFragment }) ?? true {
      ice.addRemoteCandidate(item.candidate)
    }
    if transport.endOfCandidates { ice.endRemoteCandidates() }
  }

  private func makeICE(isControlling: Bool, hasVideo: Bool) throws(PeerError) -> ICETransport {
    let settings = ICETransport.Configuration(
      servers: configuration.iceServers, relayTrust: configuration.relayTrust,
      relayOnly: configuration.relayOnly,
      includesLoopback: configuration.includesLoopback, usesTCP: configuration.usesTCP,
      marking: hasVideo ? .interactiveVideo : .telephony)
    generations += 1
    let number = generations
    return try ICETransport(
      configuration: settings, generation: number, isControlling: isControlling,
      events: { [weak self] event in self?.iceTransport(event, generation: number) },
      received: { [weak self] datagram, now in self?.received(datagram, at: now) },
      drained: { [weak self] now in self?.pump(at: now) })
  }

  private func received(_ datagram: UnsafeMutableRawBufferPointer, at now: Instant) {
    guard let link = configuration.link else { return secure?.receive(datagram, at: now) ?? () }
    link.receive(datagram, at: now) { [weak self] datagram, now in
      self?.secure?.receive(datagram, at: now)
      self?.pump(at: now)
    }
  }

  private func iceTransport(_ event: ICETransport.Event, generation: Int) {
    guard phase != .ended, generation == ice?.generation || generation == nextICE?.generation else { return }
    switch event {
    case .candidate(let candidate):
      emit(.localCandidate(candidate: candidate, sdpMid: candidateMid, sdpMLineIndex: candidateIndex))
    case .gatheringComplete: emit(.gatheringComplete)
    case .relayFailed(let server, let reason): emit(.relayFailed(server: server, reason: reason))
    case .selectedPair:
      if generation == ice?.generation { capture?.pathChanged(ice?.selectedPair) }
      if generation == ice?.generation, iceState == .connected || iceState == .completed {
        tell(iceState, nil)
      }
    case .stateChanged(let state): iceTransport(state, generation: generation)
    }
  }

  private func iceTransport(_ state: ICETransport.State, generation: Int) {
    if generation == nextICE?.generation {
      switch state {
      case .connected, .completed:
        ice?.close()
        ice = nextICE
        nextICE = nil
        restartDeadline = nil
      case .failed: return  // `watch` gives it up
      default: return
      }
    }
    switch state {
    case .checking: if phase == .connecting { setICEState(.checking) }
    case .connected, .completed:
      setICEState(state == .connected ? .connected : .completed)
      pathOpened()
    // Consent is lost, not yet the connection: `watch` counts the silence.
    case .failed where phase == .connected: setICEState(.disconnected, .checksFailed)
    case .failed: fail(.iceFailed)
    case .new, .closed: break
    }
  }
}
