import Base

/// When pictures should be shown: the sender's timestamps carried over to our clock, plus a delay that
/// most frames keep (RFC 3550's jitter says too little about frames of many packets).
struct VideoPlayoutTiming: ~Copyable {
  private static let share = 0.95
  private static let maximumDelay = 1.0
  /// How fast the delay comes down, in seconds a second, and for each second too much: pictures run a
  /// little fast meanwhile.
  private static let decay = (least: 0.05, proportional: 0.5)
  /// Within which the fastest frame is looked for; longer windows would fall behind drifting clocks.
  private static let window = 5.0

  private var histogram = DelayHistogram(resolution: 0.002, maximum: maximumDelay, memory: 150)
  private var firstTimestamp: Int64?
  /// Least (arrival − timestamp) of the current and of the previous window, in seconds.
  private var minimum = (current: Double.infinity, previous: Double.infinity)
  private var windowStart = Instant.zero
  private var current = 0.0
  private var lastUpdate: Instant?
  /// After so long without pictures the network is not the one it was.
  private static let memory = Duration.seconds(5)

  /// The delay asked for by lip sync, in seconds.
  var synchronizationDelay = 0.0
  /// From the playout-delay header extension, in seconds.
  var limits: (minimum: Double, maximum: Double) = (0, maximumDelay)

  /// The delay that jitter alone asks for, in seconds.
  var jitterDelay: Double { current }

  /// Seconds after the fastest way here that frames are shown.
  var targetDelay: Double {
    max(synchronizationDelay, min(max(current, limits.minimum), max(limits.maximum, limits.minimum)))
  }

  mutating func frameArrived(timestamp: Int64, at arrival: Instant) {
    if let firstTimestamp, (timestamp &- firstTimestamp).magnitude > 1 << 40 { self = VideoPlayoutTiming() }
    if let lastUpdate, arrival - lastUpdate > Self.memory { forget() }
    let first = firstTimestamp ?? timestamp
    firstTimestamp = first
    let offset = arrival.seconds - Double(timestamp &- first) / 90_000
    let base = min(minimum.current, minimum.previous)
    if base.isFinite, abs(offset - base) > 10 {
      // The sender's clock jumped.
      minimum = (offset, .infinity)
      histogram.removeAll()
    } else if (arrival - windowStart).seconds > Self.window {
      minimum = (offset, minimum.current)
      windowStart = arrival
    }
    minimum.current = min(minimum.current, offset)
    histogram.add(offset - min(minimum.current, minimum.previous))
    let wanted = histogram.quantile(Self.share)
    // Pictures that waited for another are told of after it.
    let elapsed = lastUpdate.map { max(0, (arrival - $0).seconds) } ?? 0
    lastUpdate = max(arrival, lastUpdate ?? arrival)
    let speed = Self.decay.least + Self.decay.proportional * max(0, current - wanted)
    current = max(wanted, current - speed * min(elapsed, 1))
  }

  private mutating func forget() {
    histogram.removeAll()
    minimum = (.infinity, .infinity)
    current = 0
    lastUpdate = nil
  }

  /// When a frame that took the fastest way would have been here.
  func idealArrival(timestamp: Int64) -> Instant? {
    guard let firstTimestamp, minimum.current.isFinite else { return nil }
    let seconds =
      min(minimum.current, minimum.previous) + Double(timestamp &- firstTimestamp) / 90_000
    guard abs(seconds) < 1e9 else { return nil }
    return Instant(nanoseconds: Int64(seconds * 1e9))
  }

  func renderTime(timestamp: Int64, at now: Instant) -> Instant {
    guard let ideal = idealArrival(timestamp: timestamp) else { return now }
    return min(max(now, ideal + .seconds(targetDelay)), now + .seconds(2))
  }
}
