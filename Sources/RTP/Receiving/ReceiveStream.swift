import Base

/// A stream that we receive: what was negotiated, the source it is bound to now, and its counters.
final class ReceiveStream {
  enum PayloadKind: UInt8 {
    case unknown, media, redundantMedia, retransmission
  }

  let id: StreamID
  let configuration: ReceiveStreamConfiguration
  let midBytes: [UInt8]?
  /// By payload type.
  private var payloadKinds = [PayloadKind](repeating: .unknown, count: 128)
  /// The sources bound now, or named in the description.
  var ssrc: UInt32?
  var rtxSSRC: UInt32?
  var reception: ReceptionStatistics?
  var rtxReception: ReceptionStatistics?
  var timestamps = TimestampUnwrapper()
  var video: VideoReceiver?
  var nack: NACKTracker?
  /// Pictures: where parity packets were negotiated.
  var parity: ULPFECReceiver?
  var senderClock = SenderClock()
  /// Sound: which of the last packets have arrived, so that copies of their content are not needed.
  var recent = RecentSequenceNumbers()
  var remoteBitrate = RemoteBitrateEstimator()
  var keyFrameRequester = KeyFrameRequester()
  var lastPacket: Instant?
  var statistics: InboundRTPStatistics

  init(id: StreamID, configuration: ReceiveStreamConfiguration) {
    self.id = id
    self.configuration = configuration
    midBytes = configuration.mid.map { Array($0.utf8) }
    for type in configuration.payloadTypes { payloadKinds[Int(type & 0x7F)] = .media }
    if let type = configuration.redundantPayloadType { payloadKinds[Int(type & 0x7F)] = .redundantMedia }
    for type in configuration.rtxPayloadTypes.keys { payloadKinds[Int(type & 0x7F)] = .retransmission }
    ssrc = configuration.ssrc
    rtxSSRC = configuration.rtxSSRC
    statistics = InboundRTPStatistics(stream: id, kind: configuration.kind)
    statistics.mid = configuration.mid
  }

  func payloadKind(_ type: UInt8) -> PayloadKind { payloadKinds[Int(type & 0x7F)] }

  /// Seconds of the sender's clock; nil before its first report.
  func captureTime(of timestamp: Int64) -> Double? {
    senderClock.captureTime(of: timestamp, clockRate: configuration.kind.clockRate)
  }

  var canRequestKeyFrame: Bool { ssrc != nil && (configuration.pli || configuration.fir) }

  /// Starts over with a new source (RFC 3550, 8.2: a sender may change its SSRC at any time).
  func bind(ssrc: UInt32) {
    self.ssrc = ssrc
    statistics.ssrc = ssrc
    statistics.packetsLost += reception?.packetsLost ?? 0
    reception = ReceptionStatistics(ssrc: ssrc, clockRate: configuration.kind.clockRate)
    timestamps = TimestampUnwrapper()
    senderClock = SenderClock()
    recent = RecentSequenceNumbers()
    nack = configuration.nack && configuration.kind == .video ? NACKTracker() : nil
    parity = configuration.parityPayloadType == nil ? nil : ULPFECReceiver()
    video = configuration.kind == .video ? VideoReceiver(counters: video?.counters ?? .init()) : nil
  }

  func bind(rtxSSRC: UInt32) {
    self.rtxSSRC = rtxSSRC
    rtxReception = ReceptionStatistics(ssrc: rtxSSRC, clockRate: configuration.kind.clockRate)
  }
}

/// Asks for a key frame, again and again until one comes.
struct KeyFrameRequester {
  private static let minimumInterval = Duration.milliseconds(300)
  private static let maximumInterval = Duration.seconds(1)

  private(set) var isWanted = false
  private var lastRequest: Instant?
  private var interval = minimumInterval
  /// Of FIR (RFC 5104, 4.3.1.1): the same for repetitions of one request.
  private(set) var commandNumber: UInt8 = 0

  mutating func request() {
    guard !isWanted else { return }
    isWanted = true
    commandNumber &+= 1
    interval = Self.minimumInterval
  }

  mutating func keyFrameArrived() { isWanted = false }

  /// A key frame is on its way in: no need to ask for another yet.
  mutating func postpone(at now: Instant) { lastRequest = max(now, lastRequest ?? now) }

  var deadline: Instant? {
    guard isWanted else { return nil }
    return lastRequest.map { $0 + interval } ?? .zero
  }

  /// True if a request is to be sent now.
  mutating func poll(at now: Instant) -> Bool {
    guard let deadline, deadline <= now else { return false }
    if lastRequest != nil { interval = min(interval + interval / 2, Self.maximumInterval) }
    lastRequest = now
    return true
  }
}

/// Remembers the last 64 numbers of a sequence that were there.
struct RecentSequenceNumbers {
  private var highest: Int64 = 0
  /// Bit n: `highest` - n.
  private var present: UInt64 = 0

  mutating func insert(_ number: Int64) {
    let ahead = number &- highest
    if present == 0 || ahead >= 64 {
      present = 0
    } else if ahead > 0 {
      present <<= UInt64(ahead)
    }
    if present == 0 || ahead > 0 { highest = number }
    let behind = highest &- number
    if (0..<64).contains(behind) { present |= 1 << UInt64(behind) }
  }

  func contains(_ number: Int64) -> Bool {
    let behind = highest &- number
    return (0..<64).contains(behind) && present >> UInt64(behind) & 1 != 0
  }
}
