/// A point of the monotonic clock, in nanoseconds since an arbitrary start.
///
/// Protocol code is told the time; only IO at the edges asks `MonotonicClock`. Arithmetic wraps
/// nowhere: 2^63 ns are 292 years.
package struct Instant: Comparable, Hashable, Sendable {
  package var nanoseconds: Int64

  package init(nanoseconds: Int64) {
    self.nanoseconds = nanoseconds
  }

  package static let zero = Instant(nanoseconds: 0)

  /// Seconds since the clock's start.
  package var seconds: Double { Double(nanoseconds) / 1e9 }

  package static func < (left: Instant, right: Instant) -> Bool { left.nanoseconds < right.nanoseconds }

  package static func + (left: Instant, right: Duration) -> Instant {
    Instant(nanoseconds: left.nanoseconds &+ right.nanoseconds)
  }

  package static func - (left: Instant, right: Duration) -> Instant {
    Instant(nanoseconds: left.nanoseconds &- right.nanoseconds)
  }

  package static func - (left: Instant, right: Instant) -> Duration {
    .nanoseconds(left.nanoseconds &- right.nanoseconds)
  }

  package static func += (left: inout Instant, right: Duration) { left = left + right }
}

extension Duration {
  /// Whole nanoseconds; durations beyond ±292 years are clamped.
  package var nanoseconds: Int64 {
    // Below nine seconds there is no need to divide 128 bits.
    if let short = Int64(exactly: attoseconds) { return short / 1_000_000_000 }
    let (seconds, attoseconds) = components
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    if overflow { return seconds < 0 ? .min : .max }
    return product.addingReportingOverflow(attoseconds / 1_000_000_000).partialValue
  }

  package var seconds: Double { Double(nanoseconds) / 1e9 }
  package var milliseconds: Double { Double(nanoseconds) / 1e6 }
}
