import Base
import RTP
import SDP

/// One WebRTC connection over one transport: either it offers and sends at most one audio and one video,
/// or it answers and receives them.
///
/// Everything happens on the network thread, events included; they may come from within a call, and their
/// receiver may call anything. Each stage of connecting has a limit in time and ends in `.connected` or
/// `.failed`.
@NetworkActor
package final class PeerConnection {
  /// A STUN or TURN server, with credentials for TURN.
  package struct ICEServer: Sendable, Equatable {
    package var urls: [String]
    package var username: String?
    package var credential: String?

    package init(urls: [String], username: String? = nil, credential: String? = nil) {
      self.urls = urls
      self.username = username
      self.credential = credential
    }
  }

  package struct Configuration: Sendable {
    /// Made once a process.
    package var certificate: Certificate
    /// Names the sender across its streams (RFC 7022).
    package var cname: String
    package var iceServers: [ICEServer] = []
    package var relayTrust = RelayTrust()
    /// Only paths over TURN servers.
    package var relayOnly = false
    /// Paths over TCP too, without a server.
    package var usesTCP = false
    /// Candidates on the loopback interface even if there are other interfaces.
    package var includesLoopback = false
    /// For each stage: ICE, DTLS (and the answer, where there has been a path before).
    package var limit = Duration.seconds(15)
    /// For the first packet, once connected.
    package var mediaLimit = Duration.seconds(15)
    /// Once connected: silence of the other side after which the path counts as lost. Every peer reports
    /// more often, even one that is muted (RFC 3550, 6.2).
    package var silenceLimit = Duration.seconds(7)
    /// Once connected: silence after which nothing more is sent on a path (RFC 7675, 5.1). Only a restart of
    /// ICE ends that.
    package var consentLimit = Duration.seconds(30)
    /// Once connected: how long the other side may be silent, restarts of ICE included.
    package var interruptionLimit = Duration.seconds(60)
    /// Bits per second that sending never exceeds.
    package var maximumBitrate = 2_500_000
    /// A network that is worse than the real one; nil: that one.
    package var link: ImpairedLink?
    /// Gets all packets as they are without encryption.
    package var capture: PacketCapture?

    package init(certificate: Certificate, cname: String) {
      self.certificate = certificate
      self.cname = cname
    }
  }

  /// The names of the W3C's RTCIceConnectionState.
  package enum ICEState: String, Sendable {
    case new, checking, connected, completed, disconnected, failed, closed
  }

  /// Why a path is given up or a new one looked for.
  package enum ICEReason: String, Sendable {
    /// Nothing has come from the other side for a while.
    case silence
    /// The other side no longer answers checks, or answers none.
    case checksFailed
    /// Looking for a new path has led to none.
    case restartFailed
    /// Our own address is gone, or there is a new one while there was no path.
    case addressChanged
    /// The other side wants a new path.
    case requested
  }

  enum Phase {
    case new, connecting, connected, ended
  }

  /// Candidates that come before the description they belong to are kept this far.
  static let maximumPendingCandidates = 64
  /// From the answer; libnice gives up its checks before that, and then only another restart finds a path.
  static let checksLimit = Duration.seconds(8)
  /// From the offer. Whoever is asked may have lost its signalling, and gets the offer when it is back.
  package nonisolated static let answerLimit = Duration.seconds(30)

  let configuration: Configuration
  private let handle: (PeerEvent) -> Void
  var phase = Phase.new
  private(set) var iceState = ICEState.new
  /// Closed, failed, or closed by the other side: of no more use.
  package var hasEnded: Bool { phase == .ended }

  // Negotiation
  var mediaOffer: MediaOffer?
  /// Offers of ours without an answer. The answer to an offer that was followed by another is of no use.
  var unanswered = 0
  let sessionID = UInt64.random(in: 1...UInt64.max >> 1)
  var version: UInt64 = 0
  var remote: RemoteTransport?
  var pendingCandidates: [(candidate: ICECandidate, mid: String?, index: Int?)] = []
  var candidateMid: String?
  var candidateIndex = 0

  // Transport
  var ice: ICETransport?
  /// A restart that has no path yet; until it has, `ice` carries on.
  var nextICE: ICETransport?
  /// When `nextICE` is given up.
  var restartDeadline: Instant?
  var generations = 0
  var secure: SecureTransport?
  /// Whether a retransmission repeats a packet number (no RTX), which AES-GCM must never see.
  var repeatsPackets = false
  private var association: String?
  let capture: ConnectionCapture?

  // Media
  var rtp: RTPSession?
  var sendStreams: [(configuration: SendStreamConfiguration, id: StreamID)] = []
  var receiveStreams: [(configuration: ReceiveStreamConfiguration, id: StreamID)] = []

  // Time
  private var rtpTimer: NetworkTimer?
  private var limitTimer: NetworkTimer?
  private var watchTimer: NetworkTimer?
  private var expiry: PeerError?
  /// When the present path was opened: silence before it does not count.
  private var opened = Instant.zero
  private var hasConsent = true

  /// - Parameter events: called on the network thread; nothing is called after `close`.
  package init(configuration: Configuration, events: @escaping (PeerEvent) -> Void) {
    self.configuration = configuration
    handle = events
    capture = configuration.capture.map { ConnectionCapture($0) }
    rtpTimer = NetworkTimer { [weak self] in self?.advance() }
    limitTimer = NetworkTimer { [weak self] in self?.expire() }
    watchTimer = NetworkTimer { [weak self] in self?.watch() }
  }

  isolated deinit { end(saysGoodbye: true) }

  // MARK: Media

  /// Sends a picture; dropped if not connected or video was not agreed on.
  package func send(_ frame: EncodedVideoFrame) {
    guard phase == .connected, let rtp, let stream = sendStream(.video) else { return }
    let now = MonotonicClock.now()
    rtp.send(frame, on: stream, at: now)
    pump(at: now)
  }

  /// Sends sound; dropped if not connected or audio was not agreed on.
  package func send(_ frame: EncodedAudioFrame) {
    guard phase == .connected, let rtp, let stream = sendStream(.audio) else { return }
    let now = MonotonicClock.now()
    rtp.send(frame, on: stream, at: now)
    pump(at: now)
  }

  /// See `RTPSession.setWithholdingVideo`.
  package func setWithholdingVideo(_ withholding: Bool) {
    let now = MonotonicClock.now()
    rtp?.setWithholdingVideo(withholding, at: now)
    pump(at: now)
  }

  /// Nil while not connected.
  package var sendingConditions: SendingConditions? {
    phase == .connected ? rtp?.sendingConditions(at: MonotonicClock.now()) : nil
  }

  /// Asks for a key frame of the video we receive, until one comes.
  package func requestKeyFrame() {
    guard let rtp, let stream = receiveStreams.first(where: { $0.configuration.kind == .video }) else {
      return
    }
    let now = MonotonicClock.now()
    rtp.requestKeyFrame(stream.id, at: now)
    pump(at: now)
  }

  /// The sound that is heard now, for lip sync. What follows from it is told with the next packet.
  package func updateAudioPlayout(_ position: AudioPlayoutPosition) {
    guard let rtp else { return }
    for stream in receiveStreams where stream.configuration.kind == .audio {
      rtp.updateAudioPlayout(stream.id, position)
    }
  }

  // Here and in `pump` without closures: each call of one would have the runtime prove that this is the network
  // thread, several times a packet.
  private func sendStream(_ kind: MediaKind) -> StreamID? {
    for stream in sendStreams where stream.configuration.kind == kind { return stream.id }
    return nil
  }

  package func statistics() -> PeerStatistics {
    var statistics = PeerStatistics()
    statistics.rtp = rtp?.statistics(at: MonotonicClock.now())
    statistics.iceState = iceState
    statistics.localCandidate = ice?.selectedPair?.local
    statistics.remoteCandidate = ice?.selectedPair?.remote
    statistics.ignoredCandidates = (ice?.ignoredCandidates ?? 0) + (nextICE?.ignoredCandidates ?? 0)
    statistics.dtls = association
    if let secure {
      statistics.packetsSent = secure.packetsSent
      statistics.bytesSent = secure.bytesSent
      statistics.packetsReceived = secure.packetsReceived
      statistics.bytesReceived = secure.bytesReceived
      statistics.dropped = secure.drops
    }
    return statistics
  }

  /// Says goodbye (RTCP BYE, DTLS close_notify) and ends. No event follows.
  package func close() { end(saysGoodbye: true) }

  /// Hands packets to the transport and events to the owner, and sets the timer for what comes next.
  func pump(at now: Instant) {
    guard phase == .connected, let secure else { return }
    while let packet = rtp?.nextPacket(at: now) {
      secure.send(packet.memory, count: packet.count, isRTCP: packet.isRTCP)
    }
    while phase == .connected, let event = rtp?.nextEvent() { report(event) }
    guard phase == .connected else { return }
    // Never at once: a deadline that stays in the past must not keep the thread busy.
    var next = rtp?.deadline
    if let deadline = next { next = max(deadline, now + .microseconds(200)) }
    rtpTimer?.set(next)
  }

  private func advance() {
    let now = MonotonicClock.now()
    rtp?.advance(to: now)
    pump(at: now)
  }

  private func report(_ event: RTPSessionEvent) {
    switch event {
    case .audioPacket(_, let packet): emit(.audio(packet))
    case .videoFrame(_, let frame): emit(.video(frame))
    case .keyFrameRequested: emit(.keyFrameRequested)
    case .targetBitrate(let bitsPerSecond): emit(.targetBitrate(bitsPerSecond))
    case .packetLoss(let share): emit(.packetLoss(share))
    case .audioMinimumDelay(_, let delay): emit(.audioMinimumDelay(delay))
    case .bye: Log.debug("peer", "the other side ended a stream")
    }
  }

  func emit(_ event: PeerEvent) { handle(event) }

  // MARK: Transport

  func makeSecureTransport() -> SecureTransport {
    SecureTransport(
      certificate: configuration.certificate,
      transmit: { [weak self] datagram in
        guard let self, hasConsent, let ice else { return false }
        guard let link = configuration.link else { return ice.send(datagram) }
        return link.send(datagram) { [weak self] in self?.ice?.send($0) ?? false }
      },
      events: { [weak self] event in self?.secureTransport(event) },
      packets: { [weak self] packet, now in
        guard let self, phase == .connected else { return }
        rtp?.receive(packet, at: now)
      }, capture: capture)
  }

  private func secureTransport(_ event: SecureTransport.Event) {
    switch event {
    case .connected(let association):
      self.association = association
      phase = .connected
      wait(for: .mediaTimedOut(after: configuration.mediaLimit), within: configuration.mediaLimit)
      watchTimer?.set(MonotonicClock.now() + .seconds(1))
      emit(.connected(association))
      // Whatever the encoder made before could not be sent.
      if sendStreams.contains(where: { $0.configuration.kind == .video }) { emit(.keyFrameRequested) }
      pump(at: MonotonicClock.now())
    case .failed(let error): fail(error)
    case .closed:
      end(saysGoodbye: false)
      emit(.remoteClosed)
    }
  }

  func setICEState(_ state: ICEState, _ reason: ICEReason? = nil) {
    guard state != iceState else { return }
    iceState = state
    tell(state, reason)
  }

  func tell(_ state: ICEState, _ reason: ICEReason?) {
    let pair = ice?.selectedPair
    emit(.iceStateChanged(state, local: pair?.local, remote: pair?.remote, reason))
  }

  /// Whether the change to these addresses of our own calls for a restart of ICE: the path went out from one
  /// that is gone, or there is no path and now something new to try.
  package func isAffected(by addresses: Set<String>) -> Bool {
    guard phase == .connecting || phase == .connected, let ice, addresses.contains(where: { !isLoopback($0) })
    else { return false }
    return (nextICE ?? ice).isCutOff(from: addresses) || iceState == .disconnected
  }

  private func isLoopback(_ address: String) -> Bool { ICETransport.isLoopback(address) }

  /// A path has been found.
  func pathOpened() {
    opened = MonotonicClock.now()
    hasConsent = true
    capture?.pathChanged(ice?.selectedPair)
    guard phase == .connecting, let remote, let secure else { return }
    wait(for: nil)
    secure.start(
      role: remote.role, fingerprints: remote.fingerprints, repeatsPackets: repeatsPackets,
      limit: configuration.limit)
  }

  // MARK: Limits

  /// Allows so long (nil: `configuration.limit`) from now until the next call; nil: nothing is waited for.
  func wait(for expiry: PeerError?, within limit: Duration? = nil) {
    self.expiry = expiry
    limitTimer?.set(expiry == nil ? nil : MonotonicClock.now() + (limit ?? configuration.limit))
  }

  private func expire() {
    guard let error = expiry else { return }
    expiry = nil
    if case .mediaTimedOut = error {
      if secure?.packetsReceived == 0 { emit(.failed(error)) }
    } else {
      fail(error)
    }
  }

  /// Tells the owner when the other side has fallen silent, long before ICE gives it up, and again when a
  /// restart was in vain.
  private func watch() {
    guard phase == .connected else { return }
    let now = MonotonicClock.now()
    watchTimer?.set(now + configuration.silenceLimit / 7)
    let silence = now - max(secure?.lastReceived ?? .zero, opened)
    if silence > configuration.interruptionLimit { return fail(.consentLost) }
    let isSilent = silence > configuration.silenceLimit
    if silence > configuration.consentLimit { hasConsent = false }
    if let restartDeadline, nextICE != nil, now > restartDeadline { giveUpRestart(isSilent: isSilent) }
    if isSilent, iceState == .connected || iceState == .completed {
      setICEState(.disconnected, .silence)
    } else if !isSilent, iceState == .disconnected {
      setICEState(.connected)
    }
  }

  /// The old path, if it works again, goes on without the new one; if not, the owner may try once more.
  func giveUpRestart(isSilent: Bool) {
    nextICE?.close()
    nextICE = nil
    restartDeadline = nil
    guard isSilent else { return }
    iceState = .disconnected
    tell(.disconnected, .restartFailed)
  }

  // MARK: The end

  func fail(_ error: PeerError) {
    guard phase != .ended else { return }
    if error.stage == .ice { setICEState(.failed, error == .consentLost ? .silence : .checksFailed) }
    end(saysGoodbye: true)
    emit(.failed(error))
  }

  private func end(saysGoodbye: Bool) {
    guard phase != .ended else { return }
    if saysGoodbye, phase == .connected, let secure {
      rtp?.close()
      rtp?.transmit(at: MonotonicClock.now()) { packet, count, isRTCP in
        secure.send(packet, count: count, isRTCP: isRTCP)
      }
    }
    phase = .ended
    iceState = iceState == .failed ? .failed : .closed
    rtpTimer?.set(nil)
    watchTimer?.set(nil)
    wait(for: nil)
    secure?.close()
    ice?.close()
    nextICE?.close()
    nextICE = nil
    pendingCandidates = []
  }
}
