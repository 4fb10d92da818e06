import Base

/// A receiver's estimate of what the way to it carries, for senders that take REMB
/// (draft-alvestrand-rmcat-remb-03): the delay-based half of congestion control on absolute send times,
/// or on timestamps where there are none.
struct RemoteBitrateEstimator: ~Copyable {
  private static let interval = Duration.seconds(1)
  private static let limits = (initial: 300_000.0, minimum: 60_000, maximum: 20_000_000)

  private var estimator = DelayBasedEstimator(
    initial: Int(limits.initial), minimum: limits.minimum, maximum: limits.maximum)
  /// 24 bits of 2^-18 s, extended.
  private var sendTime: (extended: Int64, raw: UInt32)?
  private var lastUpdate: Instant?
  private var lastSent: (bitrate: Int, at: Instant)?
  private var isActive = false

  mutating func received(absoluteSendTime raw: UInt32, size: Int, at now: Instant) {
    let extended: Int64
    if let sendTime {
      extended = sendTime.extended &+ Int64(Int32(bitPattern: (raw &- sendTime.raw) << 8) >> 8)
    } else {
      extended = Int64(raw)
    }
    sendTime = (extended, raw)
    received(sendTime: Double(extended) * 1000 / 262_144, size: size, at: now)
  }

  /// - Parameter timestamp: extended, 90 kHz.
  mutating func received(videoTimestamp timestamp: Int64, size: Int, at now: Instant) {
    received(sendTime: Double(timestamp) / 90, size: size, at: now)
  }

  private mutating func received(sendTime: Double, size: Int, at now: Instant) {
    estimator.packetArrived(
      sendTime: sendTime, arrivalTime: Double(now.nanoseconds) / 1e6,
      size: size + CongestionController.packetOverhead)
    if !isActive {
      // The first estimate comes from what arrives.
      guard let acknowledged = estimator.acknowledged else { return }
      estimator.begin(with: max(1.5 * acknowledged, Self.limits.initial))
      isActive = true
    }
    // A sign of congestion is acted on at once, else it is looked at now and then.
    let isDue = lastUpdate.map { now - $0 >= .milliseconds(50) } ?? true
    guard isDue || estimator.usage == .over else { return }
    lastUpdate = now
    estimator.update(roundTripTime: .milliseconds(100), at: now)
  }

  var deadline: Instant? {
    guard isActive else { return nil }
    guard let lastSent else { return .zero }
    return estimator.bitrate < Double(lastSent.bitrate) * 0.97 ? .zero : lastSent.at + Self.interval
  }

  /// Bits per second to tell the sender now: about once a second, sooner if it has fallen.
  mutating func estimate(at now: Instant) -> Int? {
    guard let deadline, deadline <= now else { return nil }
    let bitrate = Int(estimator.bitrate, in: 0...1_000_000_000)
    lastSent = (bitrate, now)
    return bitrate
  }
}
