import Base

/// How late packets of sound come, compared with the fastest of late: what the jitter buffer has to
/// make up for.
struct AudioDelayEstimator {
  /// Share of the packets that shall be in time.
  private static let share = 0.97
  /// Playout asks every 10 ms: what came just too late for one turn waits for the next.
  private static let margin = 0.010
  private static let maximum = 2.0
  private static let window = 5.0

  private var histogram = DelayHistogram(resolution: 0.005, maximum: maximum, memory: 400)
  /// Least (arrival − timestamp) of the current and of the previous window, in seconds.
  private var minimum = (current: Double.infinity, previous: Double.infinity)
  private var windowStart: Instant?
  private var firstTimestamp: Int64?

  /// The delay at which most packets are in time, in seconds.
  private(set) var target = 0.03

  mutating func packetArrived(timestamp: Int64, at arrival: Instant) {
    let first = firstTimestamp ?? timestamp
    firstTimestamp = first
    let offset = arrival.seconds - Double(timestamp &- first) / 48_000
    if let start = windowStart, (arrival - start).seconds > Self.window {
      minimum = (offset, minimum.current)
      windowStart = arrival
    } else if windowStart == nil {
      windowStart = arrival
    }
    minimum.current = min(minimum.current, offset)
    histogram.add(offset - min(minimum.current, minimum.previous))
    target = min(histogram.quantile(Self.share) + Self.margin, Self.maximum)
  }

  /// Seconds since the fastest packet with this timestamp would have arrived; nil before the first.
  func delay(of timestamp: Int64, at now: Instant) -> Double? {
    guard let firstTimestamp else { return nil }
    return now.seconds - Double(timestamp &- firstTimestamp) / 48_000
      - min(minimum.current, minimum.previous)
  }
}
