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

  mutating func add(_ sample: Duration) {
    guard sample >= .zero, sample < .seconds(30) else { return }
    latest = sample
    smoothed = smoothed.map { $0 * 7 / 8 + sample / 8 } ?? sample
  }

  /// For timers: an assumption before the first measurement.
  var estimate: Duration { smoothed ?? .milliseconds(100) }
}
