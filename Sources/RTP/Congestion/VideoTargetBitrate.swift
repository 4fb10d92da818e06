import Base

/// What is left for the video encoder of the bitrate that may be sent: without sound, retransmissions
/// and the headers of its packets.
struct VideoTargetBitrate {
  private static let window = 0.5
  /// The encoder is bothered by larger changes only.
  private static let relevantChange = 0.03
  private static let minimumInterval = Duration.milliseconds(100)
  private static let minimum = 30_000
  /// Payload, of a full packet with its overhead.
  private static let payloadShare = 0.93

  /// Bits per second.
  private(set) var bitrate: Int
  private var windowStart: Instant?
  private var audioBytes = 0
  private var retransmittedBytes = 0
  /// Bits per second, with overhead.
  private(set) var audioRate = 0.0
  private var retransmissionRate = 0.0
  private var lastChange: Instant?

  init(initial: Int) { bitrate = Int(Double(initial) * Self.payloadShare) }

  mutating func packetSent(size: Int, isAudio: Bool, isRetransmission: Bool, at now: Instant) {
    let bytes = size + CongestionController.packetOverhead
    if isAudio { audioBytes += bytes }
    if isRetransmission { retransmittedBytes += bytes }
    guard let start = windowStart else {
      windowStart = now
      return
    }
    let elapsed = (now - start).seconds
    guard elapsed >= Self.window else { return }
    audioRate = Double(audioBytes * 8) / elapsed
    retransmissionRate += (Double(retransmittedBytes * 8) / elapsed - retransmissionRate) * 0.3
    (audioBytes, retransmittedBytes) = (0, 0)
    windowStart = now
  }

  /// - Parameter total: bits per second, packets with their overhead.
  /// - Returns: whether the encoder should be told.
  mutating func update(total: Int, at now: Instant) -> Bool {
    let repair = min(retransmissionRate, Double(total) * 0.4)
    let wanted = Int(
      (Double(total) - audioRate - repair) * Self.payloadShare, in: Self.minimum...max(Self.minimum, total))
    let change = abs(Double(wanted - bitrate)) / Double(bitrate)
    let elapsed = lastChange.map { now - $0 } ?? .seconds(1)
    guard
      change > Self.relevantChange && elapsed >= Self.minimumInterval || change > 0 && elapsed > .seconds(2)
        || wanted < bitrate / 2
    else { return false }
    bitrate = wanted
    lastChange = now
    return true
  }
}

/// Bounds what retransmissions may cost, so that no flood of NACKs makes a flood of packets.
struct RetransmissionBudget {
  /// Seconds of the rate that may be spent at once.
  private static let burst = 0.5
  private var bytes = 20_000.0
  private var lastRefill: Instant?

  /// - Parameter rate: bits per second.
  /// - Returns: false if there is not enough left.
  mutating func spend(_ size: Int, rate: Int, at now: Instant) -> Bool {
    let speed = Double(rate) / 8
    let elapsed = lastRefill.map { (now - $0).seconds } ?? 0
    lastRefill = now
    bytes = min(bytes + elapsed * speed, max(20_000, Self.burst * speed))
    guard bytes >= Double(size) else { return false }
    bytes -= Double(size)
    return true
  }
}

/// The share of our packets that the peer reports lost, for the audio encoder's FEC.
struct SentLoss {
  private static let relevantChange = 0.01
  private var smoothed = 0.0
  private var told = 0.0

  /// - Returns: the share, if it has changed enough to be told.
  mutating func add(total: Int, lost: Int) -> Double? {
    guard total > 0, total < 1 << 20 else { return nil }
    let sample = min(max(Double(lost) / Double(total), 0), 1)
    // Up fast, down slowly: loss comes in bursts.
    smoothed += (sample - smoothed) * (sample > smoothed ? 0.5 : 0.1)
    guard abs(smoothed - told) >= Self.relevantChange || smoothed < 0.001 && told > 0 else { return nil }
    told = smoothed < 0.001 ? 0 : smoothed
    return told
  }
}
