import Base
import MediaIO
import Peer
import RTP

/// A published stream's peer connections: one a subscriber (or one to a media server), each sent what it can
/// take of the same encoded frames.
@NetworkActor
final class PublisherPeers {
  private struct Entry {
    let connection: PeerConnection
    var connected: Instant?
    var targetBitrate: Int?
    /// What congestion control began with.
    var initialBitrate: Int?
    var selection = LayerSelection()
    var loss = 0.0
    var fallback = AudioFallback()

    /// Whether it is to get pictures.
    var isShown: Bool { !fallback.isDisabled }
  }

  /// The server may not make us open connections without end.
  private static let maximumPeers = 256
  /// So long a subscriber whose path has shown no limit gets what the others get.
  private static let newFor = Duration.seconds(3)

  private let streamID: String
  private let hasAudio: Bool
  private let hasVideo: Bool
  private let output: @Sendable (PeerOutput) -> Void
  private let controls: PublisherControls
  private var entries: [PeerAddress: Entry] = [:]
  private var departed: Statistics.Publisher
  private var gates = [KeyFrameGate](repeating: KeyFrameGate(), count: VideoEncoding.maximumCount)
  private var allocation = EncodingAllocation()
  private var timer: NetworkTimer?
  private var fallbackTimer: NetworkTimer?
  private static let fallbackInterval = Duration.milliseconds(500)
  /// When a connection last ended before there was a path: perhaps UDP does not pass.
  private var missed: Instant?
  private static let missedLimit: Duration = .seconds(60)

  init(
    streamID: String, hasAudio: Bool, hasVideo: Bool, controls: PublisherControls,
    output: @escaping @Sendable (PeerOutput) -> Void
  ) {
    self.streamID = streamID
    self.hasAudio = hasAudio
    self.hasVideo = hasVideo
    self.controls = controls
    departed = Statistics.Publisher(streamID: streamID)
    self.output = output
    timer = NetworkTimer { [weak self] in self?.releaseKeyFrames() }
    fallbackTimer = NetworkTimer { [weak self] in self?.updateFallbacks() }
  }

  /// Makes a peer connection and an offer, which comes back as output; where there is one already, its other
  /// side asks for a new path.
  func add(_ address: PeerAddress, configuration: PeerConnection.Configuration) {
    if let entry = entries[address], !entry.connection.hasEnded {
      return output(.pathLost(address, .requested))
    }
    remove(matching: address)
    guard entries.count < Self.maximumPeers else {
      return output(.failed(address, .library("more than \(Self.maximumPeers) subscribers")))
    }
    var configuration = configuration
    configuration.usesTCP = missed.map { MonotonicClock.now() - $0 < Self.missedLimit } ?? false
    let connection = PeerConnection(configuration: configuration) { [weak self] event in
      self?.handle(event, address)
    }
    entries[address] = Entry(connection: connection)
    tellWatched()
    if hasVideo, fallbackTimer?.deadline == nil {
      fallbackTimer?.set(MonotonicClock.now() + Self.fallbackInterval)
    }
    negotiate(address) { () throws(PeerError) in
      try connection.offer(audio: hasAudio, video: hasVideo, streamID: streamID)
    }
  }

  /// Asks the other side for new candidates on the same connection.
  func restartICE(_ address: PeerAddress, _ reason: PeerConnection.ICEReason, answerIsLost: Bool) {
    guard let entry = find(address) else { return }
    negotiate(entry.address) { () throws(PeerError) in
      try entry.connection.restartICE(reason, answerIsLost: answerIsLost)
    }
  }

  func addressesChanged(_ addresses: Set<String>) {
    for (address, entry) in entries where entry.connection.isAffected(by: addresses) {
      output(.pathLost(address, .addressChanged))
    }
  }

  private func negotiate(_ address: PeerAddress, _ offer: () throws(PeerError) -> String) {
    do throws(PeerError) {
      output(.offer(address, sdp: try offer()))
    } catch {
      output(.failed(address, error))
    }
  }

  func setAnswer(_ sdp: String, from address: PeerAddress) {
    guard let entry = find(address) else { return }
    do throws(PeerError) {
      try entry.connection.setAnswer(sdp)
    } catch {
      output(.failed(entry.address, error))
    }
  }

  func addCandidate(_ candidate: String, _ sdpMid: String?, _ sdpMLineIndex: Int?, from address: PeerAddress)
  {
    find(address)?.connection.addRemoteCandidate(candidate, sdpMid: sdpMid, sdpMLineIndex: sdpMLineIndex)
  }

  func remove(matching address: PeerAddress) {
    for (known, entry) in entries where known.matches(address) {
      // Counters only grow, whoever leaves.
      departed.add(.init(subscriberID: known.subscriberID, entry.connection.statistics()))
      entry.connection.close()
      entries[known] = nil
      if entry.connected == nil { missed = MonotonicClock.now() }
      output(.closed(known))
    }
    tellWatched()
    adapt()
  }

  func removeAll() {
    for entry in entries.values { entry.connection.close() }
    entries = [:]
  }

  func send(_ frame: EncodedVideoFrame) {
    for index in entries.values.indices
    where entries.values[index].isShown && entries.values[index].selection.takes(frame) {
      entries.values[index].connection.send(frame)
    }
  }

  func send(_ frame: EncodedAudioFrame) {
    for entry in entries.values { entry.connection.send(frame) }
  }

  func statistics() -> Statistics.Publisher {
    var result = departed
    result.subscribers = entries.map { address, entry in
      var peer = Statistics.Peer(subscriberID: address.subscriberID, entry.connection.statistics())
      peer.isVideoDisabled = !entry.isShown
      return peer
    }.sorted { ($0.subscriberID ?? "") < ($1.subscriberID ?? "") }
    for peer in result.subscribers { result.add(peer) }
    result.adopt(result.subscribers)
    return result
  }

  /// Native clients leave the peer id out of what they send.
  private func find(_ address: PeerAddress) -> (address: PeerAddress, connection: PeerConnection)? {
    for (known, entry) in entries where known.matches(address) { return (known, entry.connection) }
    return nil
  }

  private func handle(_ event: PeerEvent, _ address: PeerAddress) {
    guard entries[address] != nil else { return }
    switch event {
    case .localCandidate(let candidate, let mid, let index):
      output(.candidate(address, candidate: candidate, sdpMid: mid, sdpMLineIndex: index))
    case .iceStateChanged(let state, let local, let remote, let reason):
      output(.iceStateChanged(address, state, local: local, remote: remote, reason))
    case .relayFailed(let server, let reason):
      output(.relayFailed(server: server, reason: reason))
    case .connected:
      entries[address]?.connected = MonotonicClock.now()
      output(.connected(address))
      requestKeyFrame(of: address)
      adapt()
    case .failed(let error):
      output(.failed(address, error))
      // That one is only a warning; after the others the connection is at its end.
      if case .mediaTimedOut = error { break }
      remove(matching: address)
    case .keyFrameRequested:
      requestKeyFrame(of: address)
    case .targetBitrate(let bitrate):
      if entries[address]?.initialBitrate == nil { entries[address]?.initialBitrate = bitrate }
      entries[address]?.targetBitrate = bitrate
      adapt()
    case .packetLoss(let fraction):
      entries[address]?.loss = fraction
      controls.setPacketLoss(entries.values.map(\.loss).max() ?? 0)
    case .remoteClosed:
      remove(matching: address)
    case .gatheringComplete, .video, .audio, .audioMinimumDelay:
      break
    }
  }

  private func requestKeyFrame(of address: PeerAddress) {
    guard entries[address]?.isShown != false else { return }
    requestKeyFrame(encoding: entries[address]?.selection.wanted.encoding ?? 0)
  }

  func requestKeyFrame(encoding: Int) {
    if gates[encoding].request(at: MonotonicClock.now()) { controls.requestKeyFrame(encoding) }
    scheduleKeyFrames()
  }

  private func releaseKeyFrames() {
    let now = MonotonicClock.now()
    for index in gates.indices where gates[index].advance(to: now) { controls.requestKeyFrame(index) }
    scheduleKeyFrames()
  }

  private func scheduleKeyFrames() { timer?.set(gates.compactMap(\.deadline).min()) }

  // MARK: Audio fallback

  /// Nothing is encoded while nobody gets it.
  private func tellWatched() { controls.setWatched(entries.values.contains(where: \.isShown)) }

  private func updateFallbacks() {
    let now = MonotonicClock.now()
    for (address, entry) in entries {
      guard let change = entries[address]?.fallback.update(entry.connection.sendingConditions, at: now)
      else { continue }
      switch change {
      case .videoDisabled:
        entry.connection.setWithholdingVideo(true)
        entries[address]?.selection.interrupt()
      case .videoEnabled: entry.connection.setWithholdingVideo(false)
      case .videoDisableWarning, .videoDisableWarningLifted: break
      }
      output(.fallback(address, change))
      tellWatched()
      adapt()
    }
    fallbackTimer?.set(entries.isEmpty ? nil : now + Self.fallbackInterval)
  }

  /// Tells the encoders and each subscriber's selection what congestion control has found out.
  private func adapt() {
    let now = MonotonicClock.now()
    var subscribers: [PeerAddress: EncodingAllocation.Subscriber] = [:]
    for (address, entry) in entries {
      guard entry.isShown, let connected = entry.connected, let target = entry.targetBitrate else { continue }
      subscribers[address] = EncodingAllocation.Subscriber(
        target: target,
        isNew: now - connected < Self.newFor && target >= entry.initialBitrate ?? target)
    }
    if allocation.update(subscribers, at: now) { controls.setEncodings(allocation.encodings) }
    for address in entries.keys where entries[address]?.isShown == true {
      entries[address]?.selection.wanted = allocation.shares[address] ?? .whole
      if entries[address]?.selection.needsKeyFrame == true { requestKeyFrame(of: address) }
    }
  }
}

/// What peers want of the encoders. Called on the network thread.
struct PublisherControls: Sendable {
  var setWatched: @Sendable (Bool) -> Void
  /// Of one encoding.
  var requestKeyFrame: @Sendable (Int) -> Void
  var setEncodings: @Sendable ([VideoEncoding]) -> Void
  var setPacketLoss: @Sendable (Double) -> Void
}

extension PeerAddress {
  /// Whether both mean the same peer connection; ids that one side left out count as equal.
  func matches(_ other: PeerAddress) -> Bool {
    streamID == other.streamID && subscriberID == other.subscriberID
      && (sourceStreamID == nil || other.sourceStreamID == nil || sourceStreamID == other.sourceStreamID)
  }
}
