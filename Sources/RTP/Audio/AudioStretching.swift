import Base

/// Decides when sound is to be played a little faster or slower, so that its delay follows the target: at
/// first where it is quiet and nobody can tell, then where it repeats itself, in the end anywhere.
package struct AudioStretching {
  /// Samples a channel at 48 kHz to leave out (positive) or to repeat (negative), at most.
  package struct Request: Equatable, Sendable {
    package var samples: Int
    /// How alike the pieces must be that are joined, -1 to 1; more than 1: only where it is quiet.
    package var minimumCorrelation: Double
  }

  /// Seconds too long or too short that are left alone: a packet is only so exact.
  private static let tolerance = (long: 0.0075, short: 0.005)
  private static let overshoot = 0.0025
  private static let interval = Duration.milliseconds(100)
  /// Seconds too much or too little that make it urgent.
  private static let urgent = 0.060
  /// A period of a low voice: more is heard as a repetition.
  private static let maximumSamples = 720
  /// For so long, in seconds, a quiet place is waited for; too little delay is worse than too much.
  private static let patience = (long: 4.0, short: 0.5)
  /// Then sound has to be so much like itself, and less each second.
  private static let strictness = (start: 0.95, decay: 0.2)

  private var last = Instant(nanoseconds: .min / 2)
  private var since: Instant?

  /// - Parameters:
  ///   - delay: of the sound that is about to be heard, in seconds.
  ///   - target: in seconds.
  mutating func request(delay: Double, target: Double, at now: Instant) -> Request? {
    let excess = delay - target
    guard excess > Self.tolerance.long || excess < -Self.tolerance.short else {
      since = nil
      return nil
    }
    let isUrgent = abs(excess) > Self.urgent
    guard now - last >= (isUrgent ? Self.interval / 2 : Self.interval) else { return nil }
    let began = since ?? now
    since = began
    let patience = isUrgent ? 0 : excess > 0 ? Self.patience.long : Self.patience.short
    let overdue = min((now - began).seconds, 20) - patience
    // Beyond the target, but not so far that it would have to be undone.
    let surplus = min(Self.maximumSamples, Int(min(max(excess + Self.overshoot, 0), 1) * 48_000))
    return Request(
      samples: excess > 0 ? surplus : -Self.maximumSamples,
      minimumCorrelation: overdue < 0 ? 2 : Self.strictness.start - Self.strictness.decay * overdue)
  }

  /// A request was met.
  mutating func stretched(at now: Instant) { last = now }
}
