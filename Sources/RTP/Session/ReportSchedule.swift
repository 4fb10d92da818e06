import Base

/// When sender and receiver reports are due: soon after the first packet, then about once a second
/// (RFC 4585, 3.4: less than five seconds is allowed for feedback profiles; RFC 3550, 6.2: randomised).
struct ReportSchedule {
  private(set) var next: Instant?
  private var count = 0

  mutating func start(at now: Instant) {
    if next == nil { next = now + .milliseconds(50) }
  }

  mutating func reported(at now: Instant, random: inout SeededGenerator) {
    count += 1
    let seconds = count <= 3 ? 0.25 : Double.random(in: 0.8...1.2, using: &random)
    next = now + .seconds(seconds)
  }
}

/// Round-trip times, smoothed as in RFC 6298, 2.
struct RoundTripTime {
  private(set) var latest: Duration?
  private(set) var smoothed: Duration?
  /// Of the current and the previous few samples.
  private var minimum: (current: Duration, previous: Duration)?
  private var samples = 0

  mutating func add(_ sample: Duration) {
    guard sample >= .zero, sample < .seconds(30) else { return }
    latest = sample
    smoothed = smoothed.map { $0 * 7 / 8 + sample / 8 } ?? sample
    samples += 1
    if samples % 16 == 0, let minimum { self.minimum = (sample, minimum.current) }
    minimum = minimum.map { (min($0.current, sample), $0.previous) } ?? (sample, sample)
  }

  /// Packets wait in queues on the way: it takes much longer than it could.
  var isInflated: Bool {
    guard let latest, let minimum else { return false }
    return latest > min(minimum.current, minimum.previous) * 3 / 2 + .milliseconds(50)
  }

  /// For timers: an assumption before the first measurement.
  var estimate: Duration { smoothed ?? .milliseconds(100) }
}
