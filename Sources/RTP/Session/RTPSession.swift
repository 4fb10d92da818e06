import Base

/// All streams of one transport (a BUNDLE group): RTP and RTCP both ways, repair, congestion control.
///
/// No IO and no clock: it is told the time, takes in packets, and is drained. Confined to one thread.
/// After every call, and when `deadline` has passed and `advance` was called, drain `transmit` and
/// `nextEvent`. Times passed in must not go back.
package final class RTPSession {
  package struct Configuration: Sendable {
    /// RFC 7022: the same for all streams that belong together.
    package var cname: String
    /// For sequence numbers, offsets and intervals: seed it with real randomness, except in tests.
    package var randomSeed: UInt64
    /// Microseconds since the Unix epoch when `Instant` was zero, for the NTP times in sender reports.
    package var wallClockAtZero: Int64
    /// `a=rtcp-rsize`: feedback may travel without a report (RFC 5506).
    package var reducedSizeRTCP = false
    /// Bits per second that sending starts with, and its limits; packets with their overhead.
    package var initialBitrate = 800_000
    package var minimumBitrate = 60_000
    package var maximumBitrate = 2_500_000

    package init(cname: String, randomSeed: UInt64, wallClockAtZero: Int64) {
      self.cname = cname
      self.randomSeed = randomSeed
      self.wallClockAtZero = wallClockAtZero
    }
  }

  /// Packets given to `transmit` leave at least this many octets of the buffer free behind them, for SRTP.
  package static let tailroom = 256

  let configuration: Configuration
  var random: SeededGenerator
  /// The source of feedback while nothing is sent.
  let feedbackSSRC: UInt32
  var sendStreams: [SendStream] = []
  var receiveStreams: [ReceiveStream] = []
  var routes: [UInt32: Route] = [:]
  var receiveExtensions = HeaderExtensionMap()
  var pacer: Pacer
  var events = FIFO<RTPSessionEvent>()
  var congestion: CongestionController
  var videoTarget: VideoTargetBitrate
  var retransmissions = RetransmissionBudget()
  var arrivals = TransportFeedbackRecorder()
  var lipSync = LipSync()
  var sentLoss = SentLoss()
  var repairDelay = RepairDelay()
  var reports = ReportSchedule()
  var signsOfLife = SignsOfLife()
  /// When something came from the peer, whatever it was.
  var lastHeard: Instant?
  var goodbyes: [UInt32] = []
  var roundTripTime = RoundTripTime()
  /// As extended reports have it: known on a side that sends nothing, too, also while nothing is lost.
  var reportedRoundTripTime = RoundTripTime()
  /// Of peers, that they are to be told the age of.
  var referenceTimes: [(ssrc: UInt32, time: UInt32, arrival: Instant)] = []
  var packetsMalformed = 0
  var packetsUnknown = 0
  var isWithholdingVideo = false
  var rehearsal = Rehearsal()
  /// When pictures were last let through again.
  var resumed: Instant?
  private(set) var isClosed = false
  private var nextStream = 0
  let scratch: UnsafeMutableRawBufferPointer

  /// Where the packets of a source go.
  struct Route {
    var stream: ReceiveStream
    var isRetransmission: Bool
  }

  package init(configuration: Configuration) {
    self.configuration = configuration
    random = SeededGenerator(seed: configuration.randomSeed)
    feedbackSSRC = UInt32.random(in: 1...UInt32.max, using: &random)
    pacer = Pacer(rate: configuration.initialBitrate * 5 / 2)
    congestion = CongestionController(
      initial: configuration.initialBitrate, minimum: configuration.minimumBitrate,
      maximum: configuration.maximumBitrate)
    videoTarget = VideoTargetBitrate(initial: configuration.initialBitrate)
    scratch = .allocate(byteCount: 1536 + Self.tailroom, alignment: 16)
  }

  deinit { scratch.deallocate() }

  // MARK: Streams

  package func addSendStream(_ configuration: SendStreamConfiguration) -> StreamID {
    let stream = SendStream(id: makeID(), configuration: configuration, random: &random)
    sendStreams.append(stream)
    if configuration.kind == .video {
      stream.statistics.targetBitrate = videoTarget.bitrate
      events.append(.targetBitrate(bitsPerSecond: videoTarget.bitrate))
    }
    return stream.id
  }

  package func addReceiveStream(_ configuration: ReceiveStreamConfiguration) -> StreamID {
    let stream = ReceiveStream(id: makeID(), configuration: configuration)
    receiveStreams.append(stream)
    receiveExtensions.merge(configuration.extensions)
    if let ssrc = configuration.ssrc {
      routes[ssrc] = Route(stream: stream, isRetransmission: false)
      stream.bind(ssrc: ssrc)
    }
    if let ssrc = configuration.rtxSSRC {
      routes[ssrc] = Route(stream: stream, isRetransmission: true)
      stream.bind(rtxSSRC: ssrc)
    }
    return stream.id
  }

  /// Ends a stream; the peer is told of one we sent (BYE). Unknown ids are ignored.
  package func removeStream(_ id: StreamID) {
    if let stream = sendStreams.first(where: { $0.id == id }) {
      goodbyes.append(stream.configuration.ssrc)
      pacer.removeAll(of: id)
    }
    sendStreams.removeAll { $0.id == id }
    receiveStreams.removeAll { $0.id == id }
    routes = routes.filter { $0.value.stream.id != id }
  }

  /// Ends everything we send: drain `transmit` once more for the BYE.
  package func close() {
    goodbyes += sendStreams.map(\.configuration.ssrc)
    if sendStreams.isEmpty { goodbyes.append(feedbackSSRC) }
    isClosed = true
  }

  private func makeID() -> StreamID {
    nextStream += 1
    return StreamID(number: nextStream)
  }

  /// Some stream's peer wants transport-wide feedback; it covers all of them.
  var sendsTransportFeedback: Bool { receiveStreams.contains { $0.configuration.transportCC } }

  /// REMB only where there is nothing better.
  func sendsREMB(for stream: ReceiveStream) -> Bool {
    stream.configuration.remb && !stream.configuration.transportCC && stream.ssrc != nil
  }

  func sendStream(_ id: StreamID) -> SendStream? { sendStreams.first { $0.id == id } }

  func receiveStream(_ id: StreamID) -> ReceiveStream? { receiveStreams.first { $0.id == id } }

  // MARK: Time

  /// When `advance` must be called; nil if nothing is due until the next call of something else. In the
  /// past: at once.
  package var deadline: Instant? {
    var earliest: Instant?
    func consider(_ instant: Instant?) {
      if let instant { earliest = earliest.map { min($0, instant) } ?? instant }
    }
    guard !isClosed else { return nil }
    consider(pacer.deadline)
    consider(reports.next)
    consider(signsOfLife.deadline)
    consider(congestion.deadline)
    if sendsTransportFeedback { consider(arrivals.deadline) }
    for stream in sendStreams { consider(stream.keyFrameRequests.deadline) }
    for stream in receiveStreams {
      if stream.canRequestKeyFrame { consider(stream.keyFrameRequester.deadline) }
      consider(stream.nack?.deadline)
      if sendsREMB(for: stream) { consider(stream.remoteBitrate.deadline) }
      if let video = stream.video, let last = stream.lastPacket { consider(video.deadline(at: last)) }
    }
    return earliest
  }

  /// Does what has become due. `transmit` and `nextEvent` may have something afterwards.
  package func advance(to now: Instant) {
    if let due = congestion.deadline, due <= now {
      congestion.advance(to: now)
      applyTarget(at: now)
    }
    for stream in sendStreams where stream.keyFrameRequests.poll(at: now) {
      events.append(.keyFrameRequested(stream.id))
    }
    for stream in receiveStreams { drainVideo(of: stream, at: now) }
  }

  package func nextEvent() -> RTPSessionEvent? { events.popFirst() }
}
