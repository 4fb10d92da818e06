import Base

/// The delay-based half of congestion control: packets with send and arrival times in, a bitrate out. The
/// sender runs it on transport-wide feedback, a receiver on absolute send times (for REMB).
struct DelayBasedEstimator {
  private var groups = ArrivalGroups()
  private var trend = TrendlineEstimator()
  private var throughput = AcknowledgedBitrate()
  private(set) var queue = QueueDelay()
  private var control: AIMDRateControl

  init(initial: Int, minimum: Int, maximum: Int) {
    control = AIMDRateControl(initial: initial, minimum: minimum, maximum: maximum)
  }

  /// Bits per second.
  var bitrate: Double { control.bitrate }
  var acknowledged: Double? { throughput.bitrate }
  var usage: TrendlineEstimator.Usage { trend.usage }

  /// - Parameters: in milliseconds, each by its own clock.
  mutating func packetArrived(sendTime: Double, arrivalTime: Double, size: Int) {
    throughput.add(bytes: size, at: arrivalTime)
    queue.packetArrived(send: sendTime, arrival: arrivalTime, size: size)
    if let delta = groups.add(send: sendTime, arrival: arrivalTime) { trend.add(delta) }
  }

  mutating func update(roundTripTime: Duration, at now: Instant) {
    let usage: TrendlineEstimator.Usage = queue.isGrowing ? .over : trend.usage
    // What comes out of a queue is known at once; the smoothed rate is still of before.
    let acknowledged =
      usage == .over
      ? queue.throughput ?? [throughput.bitrate, throughput.latest].compactMap(\.self).max()
      : throughput.bitrate
    control.update(
      usage, acknowledged: acknowledged, queue: queue.current, roundTripTime: roundTripTime, at: now)
  }

  mutating func begin(with bitrate: Double) { control.begin(with: bitrate) }
}
