import Base

/// How late frames of sound come, compared with the fastest of late, and from that the delay that is worth
/// having: what the jitter buffer has to make up for.
struct AudioDelayEstimator {
  /// Seconds of delay that avoiding all loss would be worth: 160 ms a percent, roughly what the E-model
  /// (ITU-T G.107) makes of either.
  private static let worthOfCompleteness = 16.0
  /// On top, for what the histogram is too coarse to know.
  private static let margin = 0.005
  private static let maximum = 2.0
  /// Aimed at before the jitter is known; less and less until this time has passed.
  private static let initialTarget = 0.04
  private static let initialPhase = 4.0
  /// The fastest frame is looked for within two of these; longer would fall behind drifting clocks.
  private static let window = Duration.seconds(5)
  private static let updateInterval = Duration.milliseconds(100)
  /// A conversation bears so much (ITU-T G.114). What is above comes from a queue, not from jitter, and is had only as
  /// long as there was need of it within the current and the previous one of these windows.
  private static let bearable = 0.25
  private static let need = Duration.seconds(2)

  private var histogram = DelayHistogram(resolution: 0.0025, maximum: maximum, memory: 300)
  /// Least (arrival − timestamp) of the current and of the previous window, in seconds.
  private var minimum = (current: Double.infinity, previous: Double.infinity)
  /// The latest frames of the current and of the previous window, in seconds.
  private var latest = (current: 0.0, previous: 0.0)
  private var latestStart = Instant.zero
  private var start = Instant.zero
  private var windowStart = Instant.zero
  private var lastUpdate = Instant.zero
  private var firstTimestamp: Int64?
  private var optimum = 0.0

  /// From a frame's earliest arrival to its playout, in seconds.
  private(set) var target = Self.initialTarget

  /// A frame is there: its packet, or whatever it could be recovered from.
  mutating func frameArrived(timestamp: Int64, at arrival: Instant) {
    let first: Int64
    if let firstTimestamp {
      first = firstTimestamp
    } else {
      first = timestamp
      firstTimestamp = timestamp
      start = arrival
      windowStart = arrival
      latestStart = arrival
    }
    let offset = arrival.seconds - Double(timestamp &- first) / 48_000
    if arrival - windowStart > Self.window {
      minimum = (offset, minimum.current)
      windowStart = arrival
    }
    minimum.current = min(minimum.current, offset)
    let lateness = offset - min(minimum.current, minimum.previous)
    histogram.add(lateness)
    if arrival - latestStart > Self.need {
      latest = (lateness, latest.current)
      latestStart = arrival
    }
    latest.current = max(latest.current, lateness)
    guard lateness > optimum || arrival - lastUpdate >= Self.updateInterval else { return }
    lastUpdate = arrival
    let needed = max(Self.bearable, latest.current, latest.previous)
    optimum = min(histogram.optimum(worth: Self.worthOfCompleteness), needed)
    let caution = Self.initialTarget * (1 - (arrival - start).seconds / Self.initialPhase)
    target = min(max(optimum + Self.margin, caution), Self.maximum)
  }

  /// Seconds since the fastest packet with this timestamp would have arrived; nil before the first.
  func delay(of timestamp: Int64, at now: Instant) -> Double? {
    guard let firstTimestamp else { return nil }
    return now.seconds - Double(timestamp &- firstTimestamp) / 48_000
      - min(minimum.current, minimum.previous)
  }
}
