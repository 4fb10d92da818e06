import Base
import Codecs
import MediaIO
import OpenTokProtocol
import Peer
import RTP

/// A publisher while it is published.
struct Publication {
  let publisher: Publisher
  let peers: PublisherPeers
  let pipeline: VideoPublishPipeline?
  /// The server's ICE servers for this stream.
  var iceServers: [OpenTokProtocol.ICEServer] = []
  /// Peers whose path is lost and that need a new offer as soon as signalling is there, and why.
  var awaitingRestart: [PeerAddress: PeerConnection.ICEReason] = [:]
  /// Peers that were sent such an offer, and when, and have not answered yet. They get no second one for a
  /// while: an answer does not say which offer it is for.
  var restarting: [PeerAddress: Instant] = [:]
  /// Whose connections the peers belong to, as far as the server said.
  var subscribers: [PeerAddress: String] = [:]
  /// Of peers that were sent an offer.
  var clocks: [PeerAddress: StageClock] = [:]
  var hasSpeaker: Bool
  /// The server has told everybody of it.
  var isCreated = false
  /// What the server was last told of each channel. Its echo, which changes the stream, comes later than the
  /// next switch may.
  var announced: [String: Bool] = [:]
  var lostCameras = LostCameras()
  /// Waits for one of them to come back.
  var waitingForCamera: Task<Void, Never>?
}

extension Session {
  // MARK: Publishing

  /// Publishes. Returns when the server has taken the stream; `publisherStreamCreated` follows.
  public func publish(_ publisher: Publisher) async throws(OpenTokError) {
    guard state == .connected, let own = ownConnection else { throw .notConnected }
    guard own.permissions.contains(.publish) else {
      throw .publishRefused(status: 403, reason: "the token's role may not publish")
    }
    let streamID = UUID.v4()
    let isFree = publisher.state.withLock { state in
      guard state.streamID == nil else { return false }
      state.streamID = streamID
      state.session = self
      if machine?.muteOnEntry == true { state.audioOn = false }
      return true
    }
    guard isFree else { throw .invalidParameter("the publisher is published already") }
    defer { watchQuality() }
    do throws(OpenTokError) {
      try await publisher.capture?.initialise()
      let format = try publisher.videoFormat()
      let publication = try await makePublication(publisher, streamID, format)
      publications[streamID] = publication
      wait(for: publication.lostCameras, streamID)
      let channels = channels(of: publisher, format)
      let payload = try await request(step: .publishing) {
        $0.createStream(id: streamID, name: publisher.configuration.name, channels: channels)
      } refused: { status, reason in
        status == 409 && reason == "streamLimitExceeded"
          ? .streamLimitExceeded : .publishRefused(status: status, reason: reason)
      }
      publications[streamID]?.iceServers = OpenTokProtocol.ICEServer.list(payload["content"]?["iceServers"])
      watchCreation(of: streamID, within: configuration.timeout)
    } catch {
      removePublication(streamID)
      publisher.capture?.release()
      publisher.state.withLock { $0.streamID = nil }
      throw error
    }
  }

  /// A server that has taken a stream has to tell everybody of it, or nobody can receive it.
  func watchCreation(of streamID: String, within limit: Duration) {
    Task { [weak self] in
      do { try await Task.sleep(for: limit) } catch { return }
      await self?.creationTimedOut(streamID, limit)
    }
  }

  private func creationTimedOut(_ streamID: String, _ limit: Duration) {
    guard publications[streamID]?.isCreated == false, state == .connected else { return }
    // What is on its way comes when signalling is back.
    guard machine?.state == .connected else { return watchCreation(of: streamID, within: limit) }
    removePublication(streamID)
    post { $0.deleteStream(streamID) }
    emit(.error(.timedOut(.publishing, seconds: limit.seconds)))
  }

  /// Ends a publication. Does nothing if there is none.
  public func unpublish(_ publisher: Publisher) async throws(OpenTokError) {
    guard let streamID = publisher.streamID, publications[streamID] != nil else { return }
    defer { removePublication(streamID) }
    try await request {
      $0.deleteStream(streamID)
    } refused: {
      .requestRefused(status: $0, reason: $1)
    }
  }

  private func makePublication(
    _ publisher: Publisher, _ streamID: String, _ format: (size: VideoSize, frameRate: Int)
  ) async throws(OpenTokError) -> Publication {
    let configuration = publisher.configuration
    _ = try LocalCertificate.get()
    let media = PublishedMedia()
    let controls = PublisherControls(
      setWatched: { media.pipeline?.setWatched($0) },
      requestKeyFrame: { media.pipeline?.requestKeyFrame(encoding: $0) },
      setEncodings: { media.pipeline?.setEncodings($0) },
      setPacketLoss: { media.engine?.setPacketLoss($0) })
    let peers = await PublisherPeers(
      streamID: streamID, hasAudio: publisher.hasAudio, hasVideo: publisher.hasVideo, controls: controls
    ) { [inbox] in inbox.yield(.publisherPeer($0)) }
    let capture = publisher.capture
    // Nobody would stop what is started after the end.
    guard state == .connected else { throw .notConnected }
    let timeline = MediaTimeline()
    var pipeline: VideoPublishPipeline?
    var lostCameras = LostCameras()
    if publisher.hasVideo {
      let video = NetworkMailbox<EncodedVideoFrame>(capacity: 30, overflow: .dropNewest) { [weak peers] in
        peers?.send($0)
      }
      do throws(SourceError) {
        var source: (any VideoSource)? = capture.map { CapturerSource($0) }
        if source == nil {
          let index = publisher.state.withLock { $0.videoIndex }
          let sources = publisher.videoSources
          source = try (sources.indices.contains(index) ? sources[index] : nil)?.makeSource(
            size: publisher.size, frameRate: configuration.frameRate, stream: Self.stripNumber(streamID),
            timeline: timeline, notice: { [output] in output.yield(.warning($0)) })
          if let source, sources[index].isStandIn(source) { lostCameras = LostCameras(waitingFor: index) }
        }
        if let source {
          pipeline = VideoPublishPipeline(
            source: source, size: format.size, frameRate: format.frameRate,
            maximumBitrate: configuration.maximumVideoBitrate,
            content: configuration.videoType == .screen ? .text : .motion
          ) { [output, inbox] event in
            switch event {
            case .sourceEnded(let name): output.yield(.warning("\(name) has ended; its last picture stays"))
            case .failed(let name, let message):
              output.yield(.warning("\(name): \(message)"))
              inbox.yield(.videoSourceFailed(streamID: streamID))
            case .notice(let name, let message): output.yield(.warning("\(name): \(message)"))
            }
          } output: { [weak media] frame in
            if !video.put(frame) { media?.pipeline?.requestKeyFrame(encoding: frame.encoding) }
          }
        }
      } catch {
        throw OpenTokError(error)
      }
    }
    var hasSpeaker = false
    if publisher.hasAudio, !publications.values.contains(where: \.hasSpeaker) {
      let audio = try sessionAudio()
      let frames = NetworkMailbox<EncodedAudioFrame>(capacity: 25, overflow: .dropOldest) { [weak peers] in
        peers?.send($0)
      }
      do throws(SourceError) {
        audio.setSpeaker { frames.put($0) }
        if let device = audio.deviceSource {
          audio.engine.setSource(device)
        } else {
          audio.engine.setSource(
            try publisher.audioSource.makeSource(timeline: timeline) { [output] in
              output.yield(.warning($0))
            })
        }
      } catch {
        throw OpenTokError(error)
      }
      media.engine = audio.engine
      hasSpeaker = true
    }
    pipeline?.setWatched(false)
    media.pipeline = pipeline
    let publication = Publication(
      publisher: publisher, peers: peers, pipeline: pipeline, hasSpeaker: hasSpeaker, lostCameras: lostCameras
    )
    applySwitches(publication)
    do throws(ThreadError) {
      try pipeline?.start()
    } catch {
      if hasSpeaker { audio?.setSpeaker(nil) }
      throw OpenTokError(error)
    }
    return publication
  }

  /// What a published stream's peers steer.
  private final class PublishedMedia: @unchecked Sendable {
    // Safe to share: both are written before the first peer or picture can exist, and read only after.
    weak var pipeline: VideoPublishPipeline?
    weak var engine: AudioEngine?
  }

  /// Tells streams of the test pattern apart; without the bit that says who drew it.
  private static func stripNumber(_ streamID: String) -> UInt16 {
    (UInt16(streamID.prefix(4), radix: 16) ?? 0) & 0x7FFF
  }

  func sessionAudio() throws(OpenTokError) -> SessionAudio {
    if let audio { return audio }
    let made = try SessionAudio(
      sink: configuration.audioSink, device: configuration.audioDevice, options: configuration.audio
    ) { [output] in
      output.yield(.warning($0))
    } failed: { [output] in
      output.yield(.warning($0.notice))
    }
    audio = made
    return made
  }

  private func channels(
    of publisher: Publisher, _ format: (size: VideoSize, frameRate: Int)
  ) -> [ChannelInfo] {
    let configuration = publisher.configuration
    var channels: [ChannelInfo] = []
    if publisher.hasVideo {
      channels.append(
        ChannelInfo(
          id: "video1", kind: .video, active: publisher.isPublishingVideo, width: format.size.width,
          height: format.size.height, orientation: 0, frameRate: Double(format.frameRate),
          source: configuration.videoType.rawValue, fitMode: "contain"))
    }
    if publisher.hasAudio {
      channels.append(ChannelInfo(id: "audio1", kind: .audio, active: publisher.isPublishingAudio))
    }
    return channels
  }

  private func removePublication(_ streamID: String, keepsSource: Bool = false) {
    guard let publication = publications.removeValue(forKey: streamID) else { return }
    publication.publisher.state.withLock {
      guard $0.streamID == streamID else { return }
      $0.streamID = nil
      if !keepsSource { $0.videoIndex = 0 }
    }
    publication.waitingForCamera?.cancel()
    if publication.hasSpeaker { audio?.setSpeaker(nil) }
    publication.publisher.capture?.release()
    let (peers, pipeline) = (publication.peers, publication.pipeline)
    NetworkActor.perform { peers.removeAll() }
    // Ending the encoder's thread may take the time of a frame.
    MediaThread.runAside(name: "unpublish") { pipeline?.stop() }
  }

  // MARK: Switching

  /// Microphone, camera and self-view as the publisher says, here and for the others.
  func applySwitches(of publisher: Publisher) {
    guard let streamID = publisher.streamID, let publication = publications[streamID] else { return }
    applySwitches(publication)
    guard let stream = machine?.streams[streamID] else { return }
    for channel in stream.channels {
      let active = channel.kind == .video ? publisher.isPublishingVideo : publisher.isPublishingAudio
      let told = publication.announced[channel.id] ?? channel.active
      guard channel.kind != .data, told != active else { continue }
      publications[streamID]?.announced[channel.id] = active
      post { $0.updateChannel(stream: streamID, channel: channel.id, ["active": .bool(active)]) }
    }
  }

  private func applySwitches(_ publication: Publication) {
    let publisher = publication.publisher
    publication.pipeline?.setEnabled(publisher.isPublishingVideo)
    publication.pipeline?.setLocalRenderer(publisher.state.withLock { $0.renderer })
    if publication.hasSpeaker { audio?.engine.setMuted(!publisher.isPublishingAudio) }
  }

  func setCapturer(_ capture: CaptureControl, of publisher: Publisher) async throws(OpenTokError) {
    try await capture.initialise()
    guard let streamID = publisher.streamID, let publication = publications[streamID] else {
      capture.release()
      throw .invalidParameter("what is published has just begun or ended")
    }
    publication.waitingForCamera?.cancel()
    publications[streamID]?.lostCameras = LostCameras()
    publication.pipeline?.setSource(CapturerSource(capture))
  }

  /// - Parameter index: of the publisher's video sources.
  func setVideoSource(_ index: Int, of publisher: Publisher) throws(OpenTokError) {
    guard let streamID = publisher.streamID, let publication = publications[streamID] else { return }
    publication.waitingForCamera?.cancel()
    publications[streamID]?.lostCameras = LostCameras()
    let specification = publisher.videoSources[index]
    do throws(SourceError) {
      let source = try specification.makeSource(
        size: publisher.size, frameRate: publisher.configuration.frameRate,
        stream: Self.stripNumber(streamID), notice: { [output] in output.yield(.warning($0)) })
      guard let source else { return }
      let isStandIn = specification.isStandIn(source)
      publication.pipeline?.setSource(source)
      publisher.state.withLock { $0.videoIndex = index }
      if isStandIn { wait(for: LostCameras(waitingFor: index), streamID) }
    } catch {
      throw OpenTokError(error)
    }
  }

  func muteRequested(_ streamID: String) {
    guard let publication = publications[streamID], publication.publisher.isPublishingAudio else { return }
    publication.publisher.state.withLock { $0.audioOn = false }
    applySwitches(of: publication.publisher)
    emit(.publisherMuted(streamID: streamID))
  }

  // MARK: What the server says of our streams

  func publicationCreated(_ stream: StreamInfo) {
    guard let publication = publications[stream.id] else { return }
    publications[stream.id]?.isCreated = true
    emit(.publisherStreamCreated(Stream(stream)))
    // It may have been switched while the server was taking it.
    applySwitches(of: publication.publisher)
  }

  func publicationDestroyed(_ stream: StreamInfo, _ reason: SessionEvent.Reason) {
    removePublication(stream.id)
    emit(.publisherStreamDestroyed(Stream(stream), reason))
  }

  func offerRequested(_ peer: PeerAddress) {
    guard let publication = publications[peer.streamID],
      // Made before the publication was.
      var configuration = try? peerConfiguration(publication.iceServers)
    else { return }
    configuration.maximumBitrate =
      publication.publisher.configuration.maximumVideoBitrate + self.configuration.audio.bitrate * 2
    let (peers, settings) = (publication.peers, configuration)
    NetworkActor.perform { peers.add(peer, configuration: settings) }
  }

  func answerReceived(_ peer: PeerAddress, _ sdp: String) {
    guard let peers = publications[peer.streamID]?.peers else { return }
    forgetRestart(peer)
    for known in publications[peer.streamID]?.clocks.keys.filter({ $0.matches(peer) }) ?? [] {
      publications[peer.streamID]?.clocks[known]?.ended(.signalling, at: MonotonicClock.now())
    }
    NetworkActor.perform { peers.setAnswer(sdp, from: peer) }
  }

  func subscriberLeft(_ streamID: String, _ subscriberID: String) {
    guard let publication = publications[streamID] else { return }
    let peer = PeerAddress(
      streamID: streamID, subscriberID: subscriberID, peerID: nil, sourceStreamID: nil)
    forgetRestart(peer)
    publications[streamID]?.subscribers = publication.subscribers.filter {
      $0.key.subscriberID != subscriberID
    }
    let peers = publication.peers
    NetworkActor.perform { peers.remove(matching: peer) }
  }

  // MARK: What our peer connections say

  func publisherPeer(_ output: PeerOutput) {
    guard state == .connected else { return }
    switch output {
    case .offer(let peer, let sdp):
      Log.info("session", "offering stream \(peer.streamID) to \(subscriberName(peer) ?? "a subscriber")")
      dump("offer sent", peer, sdp)
      if publications[peer.streamID]?.clocks[peer] == nil {
        publications[peer.streamID]?.clocks[peer] = StageClock(at: MonotonicClock.now())
      }
      post { $0.offer(sdp, to: peer) }
    case .candidate(let peer, let candidate, let mid, let index):
      post { $0.candidate(candidate, sdpMid: mid, sdpMLineIndex: index, to: peer) }
    case .iceStateChanged(let peer, let state, let local, let remote, let reason):
      emit(
        .iceStateChanged(
          streamID: peer.streamID, state: state.rawValue, localCandidate: local, remoteCandidate: remote,
          reason: reason?.rawValue))
      switch state {
      case .disconnected, .failed: restartPath(peer, reason ?? .silence)
      case .connected, .completed:
        publications[peer.streamID]?.awaitingRestart[peer] = nil
        publications[peer.streamID]?.clocks[peer]?.ended(.ice, at: MonotonicClock.now())
      default: break
      }
    case .pathLost(let peer, let reason): restartPath(peer, reason)
    case .failed(let peer, .mediaTimedOut(let limit)):
      emit(.warning("\(subscriberName(peer) ?? "a subscriber of ours") has been silent for \(limit)"))
    case .failed(let peer, let error):
      forgetRestart(peer)
      let (stage, now) = (error.openTokStage, MonotonicClock.now())
      let clock = publications[peer.streamID]?.clocks.removeValue(forKey: peer)
      emit(
        .error(
          .publisherFailed(
            stage, to: subscriberName(peer), detail: error.text,
            stages: clock?.failed(in: stage, at: now) ?? [])))
    case .relayFailed(let server, let reason): relayFailed(server, reason)
    case .fallback(let peer, let change): videoChanged(for: peer, PublisherVideoChange(change))
    case .connected(let peer):
      Log.info("session", "sending to \(subscriberName(peer) ?? "a subscriber"): ICE and DTLS are done")
      publications[peer.streamID]?.clocks[peer]?.ended(.dtls, at: MonotonicClock.now())
    case .closed(let peer): publications[peer.streamID]?.clocks[peer] = nil
    case .answer, .firstVideoFrame, .firstAudioFrame:
      break
    }
  }

  /// Too little bandwidth for a picture, or enough again: the subscriber is told.
  private func videoChanged(for peer: PeerAddress, _ change: PublisherVideoChange) {
    emit(
      .publisherVideo(
        streamID: peer.streamID, subscriberID: peer.subscriberID, name: subscriberName(peer), change))
    guard let subscriberID = peer.subscriberID,
      let channel = machine?.streams[peer.streamID]?.channel(.video)
    else { return }
    post {
      $0.fallback(stream: peer.streamID, subscriber: subscriberID, channel: channel.id, change)
    }
  }

  /// The name of who subscribes, or its connection data; nil if neither is known.
  private func subscriberName(_ peer: PeerAddress) -> String? {
    guard let id = publications[peer.streamID]?.subscribers[peer] else { return nil }
    let name = machine?.streams.values.first { $0.connection.id == id }?.name ?? ""
    let text = name.isEmpty ? machine?.connections[id]?.data ?? "" : name
    return text.isEmpty ? nil : text
  }

  // MARK: The end

  func endMedia(_ reason: SessionEvent.Reason) {
    for (streamID, _) in subscriptions.map({ ($0.value.subscriber.streamID, $0.key) }) {
      emit(.subscriberDestroyed(streamID: streamID, reason))
    }
    for streamID in publications.keys {
      if let stream = machine?.streams[streamID] {
        emit(.publisherStreamDestroyed(Stream(stream), reason))
      }
    }
    stopMedia()
  }

  func stopMedia() {
    // Whoever enters the session anew goes on with the camera that was chosen.
    for streamID in publications.keys { removePublication(streamID, keepsSource: true) }
    for subscriberID in subscriptions.keys { removeSubscription(subscriberID) }
    for attempt in pendingAttempts.values { attempt.cancel() }
    let audio = audio
    self.audio = nil
    audio?.leave()
    MediaThread.runAside(name: "audio end") { audio?.stop() }
  }
}
