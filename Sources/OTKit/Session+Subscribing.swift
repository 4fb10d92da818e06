import Base
import MediaIO
import OpenTokProtocol
import Peer

/// A subscriber while it is subscribed, by the id it has on the wire.
struct Subscription {
  let subscriber: Subscriber
  let peer: SubscriberPeer
  var wantsVideo: Bool
  /// Where offers come from.
  var address: PeerAddress?
  var isConnected = false
  /// Its publisher, or a media server, keeps the picture back for lack of bandwidth.
  var isFallenBack = false
  /// When an offer was asked for that has not come yet.
  var asked: Instant?
  /// One is to be asked for as soon as signalling is there, and why.
  var offerIsWanted: PeerConnection.ICEReason?
  /// How often media has failed since it last worked.
  var failures = 0
  var clock = StageClock(at: MonotonicClock.now())
  var watchdog: Task<Void, Never>?
}

extension Session {
  /// How often a subscription is made again before it is given up.
  static let maximumFailures = 3
  /// How much later than the end of its media the end of a stream may be told.
  static let leavingGrace: Duration = .seconds(2)

  // MARK: Subscribing

  /// Subscribes to a stream of somebody else. Returns when the server has agreed; `subscriberConnected`
  /// tells when media arrives. If the media fails it is tried again, and then given up with an error event.
  @discardableResult
  public func subscribe(
    to stream: Stream, options: SubscribeOptions = SubscribeOptions()
  ) async throws(OpenTokError) -> Subscriber {
    try await subscribe(to: stream.id, options: options, renderer: nil)
  }

  /// - Parameters:
  ///   - renderer: gets the pictures from the first on.
  ///   - sink: gets all media as it is encoded. Told of its end when the subscription has ended, whoever
  ///     ended it, and when this throws.
  @discardableResult
  package func subscribe(
    to streamID: String, options: SubscribeOptions, renderer: (any VideoSink)?,
    sink: (any EncodedMediaSink)? = nil
  ) async throws(OpenTokError) -> Subscriber {
    let stream: StreamInfo
    let audio: SessionAudio
    do throws(OpenTokError) {
      stream = try subscribable(streamID)
      audio = try sessionAudio()
    } catch {
      sink?.mediaEnded()
      throw error
    }
    let offset = MediaOffset()
    let receiver = audio.engine.addReceiver(offset: offset)
    let keyFrames = Subscriber.KeyFrameRequests()
    let pipeline: VideoSubscribePipeline
    do throws(ThreadError) {
      pipeline = try VideoSubscribePipeline(
        renderer: renderer, offset: offset, decodes: options.decodes,
        keyFrameNeeded: { keyFrames.request() },
        started: { [inbox] in inbox.yield(.subscriberPeer(.firstVideoFrame(streamID: streamID))) })
    } catch {
      audio.engine.removeReceiver(receiver)
      sink?.mediaEnded()
      throw OpenTokError(error)
    }
    let subscriber = Subscriber(
      streamID: streamID, session: self, options: options, receiver: receiver, offset: offset,
      pipeline: pipeline, keyFrames: keyFrames, sink: sink)
    pipeline.setActive(stream.hasVideo)
    receiver.setMuted(!options.subscribeToAudio)
    do throws(OpenTokError) {
      try await start(subscriber, stream, failures: 0)
    } catch {
      discardMedia(of: subscriber)
      throw error
    }
    watchQuality()
    return subscriber
  }

  private func subscribable(_ streamID: String) throws(OpenTokError) -> StreamInfo {
    guard state == .connected else { throw .notConnected }
    guard let stream = machine?.streams[streamID] else { throw .streamNotFound }
    guard !subscriptions.values.contains(where: { $0.subscriber.streamID == streamID }) else {
      throw .invalidParameter("the stream is subscribed to already")
    }
    return stream
  }

  /// Ends a subscription. Does nothing if there is none.
  public func unsubscribe(_ subscriber: Subscriber) async throws(OpenTokError) {
    subscriber.state.withLock { $0.isEnded = true }
    pendingAttempts[ObjectIdentifier(subscriber)]?.cancel()
    guard let id = subscriptions.first(where: { $0.value.subscriber === subscriber })?.key else { return }
    removeSubscription(id)
    emit(.subscriberDestroyed(streamID: subscriber.streamID, .clientDisconnected))
    try await request {
      $0.deleteSubscriber(id, stream: subscriber.streamID)
    } refused: {
      .requestRefused(status: $0, reason: $1)
    }
  }

  /// - Throws: with the subscriber's media still there.
  private func start(
    _ subscriber: Subscriber, _ stream: StreamInfo, failures: Int
  ) async throws(OpenTokError) {
    let id = UUID.v4()
    var settings = try peerConfiguration([])
    // Perhaps UDP does not pass.
    settings.usesTCP = subscriber.state.withLock { $0.failure } == .ice
    let peer = await SubscriberPeer(
      streamID: stream.id, configuration: settings, video: subscriber.pipeline,
      audio: subscriber.receiver, wantsVideo: subscriber.isSubscribedToVideo, sink: subscriber.sink,
      decodes: subscriber.decodes
    ) { [inbox] in inbox.yield(.subscriberPeer($0)) }
    guard state == .connected else { throw .notConnected }
    // Meanwhile it may have been given up, or somebody else may have subscribed.
    guard !subscriber.state.withLock({ $0.isEnded }) else { throw .cancelled }
    guard !subscriptions.values.contains(where: { $0.subscriber.streamID == stream.id }) else {
      throw .invalidParameter("the stream is subscribed to already")
    }
    subscriber.keyFrames.set(peer)
    subscriber.sink?.mediaBegan { [keyFrames = subscriber.keyFrames] in keyFrames.request() }
    subscriptions[id] = Subscription(
      subscriber: subscriber, peer: peer, wantsVideo: subscriber.isSubscribedToVideo, failures: failures)
    watch(id, configuration.offerTimeout, .signalling, "no offer came")
    do throws(OpenTokError) {
      try await request(step: .subscribing) {
        $0.createSubscriber(id: id, stream: stream)
      } refused: { status, reason in
        switch (status, reason) {
        case (404, _): .streamNotFound
        case (409, "streamLimitExceeded"): .streamLimitExceeded
        default: .subscribeRefused(status: status, reason: reason)
        }
      }
    } catch {
      removeSubscription(id, keepsMedia: true)
      throw error
    }
  }

  /// Fails a subscription unless something happens to it in time.
  func watch(_ id: String, _ limit: Duration, _ stage: OpenTokError.Stage, _ detail: String) {
    subscriptions[id]?.watchdog?.cancel()
    subscriptions[id]?.watchdog = Task { [weak self] in
      do { try await Task.sleep(for: limit) } catch { return }
      await self?.failed(id, stage, detail)
    }
  }

  func removeSubscription(_ id: String, keepsMedia: Bool = false) {
    guard let subscription = subscriptions.removeValue(forKey: id) else { return }
    subscription.watchdog?.cancel()
    let (peer, subscriber) = (subscription.peer, subscription.subscriber)
    NetworkActor.perform { peer.close() }
    if keepsMedia {
      audio?.engine.removeReceiver(subscriber.receiver)
    } else {
      discardMedia(of: subscriber)
    }
  }

  func subscriptionsDestroyed(_ stream: StreamInfo, _ reason: SessionEvent.Reason) {
    for (id, subscription) in subscriptions where subscription.subscriber.streamID == stream.id {
      removeSubscription(id)
      emit(.subscriberDestroyed(streamID: stream.id, reason))
    }
  }

  // MARK: Failing and trying again

  func failed(_ id: String, _ stage: OpenTokError.Stage, _ detail: String) {
    guard let subscription = subscriptions[id], state == .connected else { return }
    let subscriber = subscription.subscriber
    subscriber.state.withLock { $0.failure = stage }
    if subscription.isConnected { emit(.subscriberDisconnected(streamID: subscriber.streamID)) }
    removeSubscription(id, keepsMedia: true)
    post { $0.deleteSubscriber(id, stream: subscriber.streamID) }
    let failures = subscription.isConnected ? 1 : subscription.failures + 1
    let name = machine?.streams[subscriber.streamID]?.name ?? ""
    let error = OpenTokError.subscriberFailed(
      stage, from: name, detail: detail,
      stages: subscription.clock.failed(in: stage, at: MonotonicClock.now()))
    guard failures < Self.maximumFailures else {
      return giveUp(subscriber, error)
    }
    emit(.warning("\(error.message); trying again"))
    pendingAttempts[ObjectIdentifier(subscriber)] = Task { [weak self, delay = configuration.retryDelay] in
      // Cancelled, it sees at once that nobody wants it any more.
      try? await Task.sleep(for: delay)
      await self?.subscribeAgain(subscriber, failures: failures)
    }
  }

  private func subscribeAgain(_ subscriber: Subscriber, failures: Int) async {
    pendingAttempts[ObjectIdentifier(subscriber)] = nil
    guard state == .connected, let stream = machine?.streams[subscriber.streamID],
      !subscriber.state.withLock({ $0.isEnded }),
      !subscriptions.values.contains(where: { $0.subscriber.streamID == subscriber.streamID })
    else { return giveUp(subscriber, nil) }
    do throws(OpenTokError) {
      // The stream begins anew, and so must its jitter buffer.
      let receiver = try sessionAudio().engine.addReceiver(offset: subscriber.offset)
      let (audioOn, volume) = subscriber.state.withLock { state in
        state.receiver = receiver
        return (state.audioOn, state.volume)
      }
      receiver.setMuted(!audioOn)
      receiver.setVolume(volume)
      try await start(subscriber, stream, failures: failures)
    } catch {
      giveUp(subscriber, error)
    }
  }

  private func giveUp(_ subscriber: Subscriber, _ error: OpenTokError?) {
    discardMedia(of: subscriber)
    guard state == .connected else { return }
    let isWanted = !subscriber.state.withLock { $0.isEnded }
    if isWanted, let error { emit(.error(error)) }
    emit(
      .subscriberDestroyed(
        streamID: subscriber.streamID, isWanted ? .networkDisconnected : .clientDisconnected))
  }

  private func discardMedia(of subscriber: Subscriber) {
    subscriber.sink?.mediaEnded()
    audio?.engine.removeReceiver(subscriber.receiver)
    // Ending the decoder's thread may take the time of a frame.
    MediaThread.runAside(name: "unsubscribe") { subscriber.pipeline.stop() }
  }

  // MARK: Switching

  func applySwitches(of subscriber: Subscriber) {
    guard let (id, subscription) = subscriptions.first(where: { $0.value.subscriber === subscriber }) else {
      return
    }
    let (audioOn, videoOn) = (subscriber.isSubscribedToAudio, subscriber.isSubscribedToVideo)
    subscriber.receiver.setMuted(!audioOn)
    let peer = subscription.peer
    NetworkActor.perform { peer.setWantsVideo(videoOn) }
    guard let stream = machine?.streams[subscriber.streamID] else { return }
    for channel in stream.channels where channel.kind != .data {
      let active = channel.kind == .video ? videoOn : audioOn
      post {
        $0.updateSubscriberChannel(
          stream: stream.id, subscriber: id, channel: channel.id, active: active)
      }
    }
    if subscription.wantsVideo != videoOn {
      subscriptions[id]?.wantsVideo = videoOn
      subscriber.pipeline.setActive(videoOn && stream.hasVideo && !subscription.isFallenBack)
      emit(
        videoOn
          ? .videoEnabled(streamID: stream.id, .subscribeToVideo)
          : .videoDisabled(streamID: stream.id, .subscribeToVideo))
    }
  }

  func publisherVideoSwitched(_ streamID: String, _ active: Bool) {
    for subscription in subscriptions.values where subscription.subscriber.streamID == streamID {
      subscription.subscriber.pipeline.setActive(
        active && subscription.subscriber.isSubscribedToVideo && !subscription.isFallenBack)
      emit(
        active
          ? .videoEnabled(streamID: streamID, .publishVideo)
          : .videoDisabled(streamID: streamID, .publishVideo))
    }
  }

  func subscriberChannelSwitched(_ streamID: String, _ id: String, _ channelID: String, _ active: Bool) {
    guard let subscription = subscriptions[id], subscription.subscriber.streamID == streamID,
      subscription.isFallenBack == active, let stream = machine?.streams[streamID],
      stream.channels.contains(where: { $0.id == channelID && $0.kind == .video })
    else { return }
    subscriptions[id]?.isFallenBack = !active
    // Until the picture is back, its absence is no freeze.
    subscription.subscriber.pipeline.setActive(active && subscription.wantsVideo && stream.hasVideo)
    emit(
      active ? .videoEnabled(streamID: streamID, .quality) : .videoDisabled(streamID: streamID, .quality))
  }

  func disableWarningReceived(_ streamID: String, _ channelID: String, _ warning: Bool) {
    guard subscriptions.values.contains(where: { $0.subscriber.streamID == streamID }),
      machine?.streams[streamID]?.channels.contains(where: { $0.id == channelID && $0.kind == .video })
        == true
    else { return }
    emit(
      warning ? .videoDisableWarning(streamID: streamID) : .videoDisableWarningLifted(streamID: streamID))
  }

  // MARK: Negotiation

  func offerReceived(_ address: PeerAddress, _ sdp: String) {
    guard let id = address.subscriberID, let peer = subscriptions[id]?.peer else { return }
    subscriptions[id]?.watchdog?.cancel()
    subscriptions[id]?.watchdog = nil
    subscriptions[id]?.address = address
    subscriptions[id]?.clock.ended(.signalling, at: MonotonicClock.now())
    subscriptions[id]?.asked = nil
    subscriptions[id]?.offerIsWanted = nil
    NetworkActor.perform { peer.offer(sdp, from: address) }
  }

  func candidateReceived(
    _ address: PeerAddress, _ candidate: String, _ sdpMid: String?, _ sdpMLineIndex: Int?
  ) {
    // Who receives its own stream gets the candidates of both ends, under one address; a stranger's
    // candidate does no harm.
    if let peers = publications[address.streamID]?.peers {
      NetworkActor.perform { peers.addCandidate(candidate, sdpMid, sdpMLineIndex, from: address) }
    }
    if let id = address.subscriberID, let peer = subscriptions[id]?.peer {
      NetworkActor.perform { peer.addCandidate(candidate, sdpMid, sdpMLineIndex) }
    }
  }

  // MARK: What peer connections say

  func subscriberPeer(_ output: PeerOutput) {
    guard state == .connected else { return }
    switch output {
    case .answer(let peer, let sdp):
      Log.info("session", "answering the offer of stream \(peer.streamID)")
      dump("answer sent", peer, sdp)
      post { $0.answer(sdp, to: peer) }
    case .candidate(let peer, let candidate, let mid, let index):
      post { $0.candidate(candidate, sdpMid: mid, sdpMLineIndex: index, to: peer) }
    case .iceStateChanged(let peer, let state, let local, let remote, let reason):
      emit(
        .iceStateChanged(
          streamID: peer.streamID, state: state.rawValue, localCandidate: local, remoteCandidate: remote,
          reason: reason?.rawValue))
      guard let id = peer.subscriberID else { return }
      switch state {
      case .disconnected: askForOffer(id, reason ?? .silence)
      case .connected, .completed:
        subscriptions[id]?.clock.ended(.ice, at: MonotonicClock.now())
        pathIsBack(id)
      default: break
      }
    case .pathLost(let peer, let reason):
      if let id = peer.subscriberID { askForOffer(id, reason) }
    case .connected(let peer):
      guard let id = peer.subscriberID, subscriptions[id]?.isConnected == false else { return }
      subscriptions[id]?.isConnected = true
      subscriptions[id]?.clock.ended(.dtls, at: MonotonicClock.now())
      emit(.subscriberConnected(streamID: peer.streamID))
    case .failed(let peer, let error):
      failed(peer, error)
    case .closed(let peer):
      // Mostly it leaves, and signalling, which is slower, will say so.
      guard let id = peer.subscriberID else { return }
      watch(id, Self.leavingGrace, .dtls, "the other side ended the connection")
    case .relayFailed(let server, let reason): relayFailed(server, reason)
    case .firstVideoFrame(let streamID):
      emit(.firstVideoFrame(streamID: streamID, sinceStart: sinceStart))
    case .firstAudioFrame(let streamID):
      // Once, however often the subscription was made again.
      let subscription = subscriptions.values.first { $0.subscriber.streamID == streamID }
      guard subscription?.subscriber.isFirstSound() == true else { return }
      emit(.firstAudioFrame(streamID: streamID, sinceStart: sinceStart))
    case .offer, .fallback:
      break
    }
  }

  private var sinceStart: Double { (MonotonicClock.now() - configuration.start).seconds }

  private func failed(_ peer: PeerAddress, _ error: PeerError) {
    guard let id = peer.subscriberID, subscriptions[id] != nil else { return }
    failed(id, error.openTokStage, error.text)
  }
}

extension PeerError {
  var openTokStage: OpenTokError.Stage {
    switch stage {
    case .signalling: .signalling
    case .ice: .ice
    case .dtls: .dtls
    case .media, .local: .media
    }
  }

  /// For people.
  var text: String {
    switch self {
    case .invalidDescription(let reason): "the other side's description cannot be used: \(reason)"
    case .wrongState(let reason): reason
    case .answerTimedOut(let limit): "no answer within \(limit)"
    case .iceTimedOut(let limit): "no path was found within \(limit)"
    case .iceFailed: "no path works"
    case .consentLost: "the other side no longer answers"
    case .handshakeTimedOut(let limit): "the handshake did not end within \(limit)"
    case .handshakeFailed(let reason): reason
    case .fingerprintMismatch: "the other side's certificate is not the one it announced"
    case .noProtectionProfile: "no SRTP profile in common"
    case .mediaTimedOut(let limit): "not one packet came within \(limit)"
    case .library(let reason): reason
    }
  }
}
