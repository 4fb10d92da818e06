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
  /// Between two places that are not quiet; less if more than `urgent` seconds are to be made up for.
  private static let interval = Duration.milliseconds(100)
  private static let urgent = 0.060
  /// A period of a low voice: more is heard as a repetition.
  private static let maximumSamples = 720
  /// For so long, in seconds, a quiet place is waited for: when the delay is too long, much too long, too
  /// short for the picture, and too short for the network, which is worst.
  private static let patience = (long: 4.0, muchTooLong: 1.0, unsynchronized: 0.7, short: 0.4)
  /// Then sound has to be so much like itself, and less each second.
  private static let strictness = (start: 0.92, decay: 0.2)
  private static let onlyWhereQuiet = 2.0

  private var last = Instant(nanoseconds: .min / 2)
  private var since: Instant?

  /// - Parameters:
  ///   - delay: of the sound that is about to be heard, in seconds.
  ///   - needed: what the network asks for, in seconds.
  ///   - target: the same or more, for the picture's sake.
  mutating func request(delay: Double, needed: Double, target: Double, at now: Instant) -> Request? {
    let excess = delay - target
    guard excess > Self.tolerance.long || excess < -Self.tolerance.short else {
      since = nil
      return nil
    }
    let began = since ?? now
    since = began
    // A little beyond the target, but not so far that it would have to be undone.
    let surplus = min(Self.maximumSamples, Int(min(max(excess + Self.overshoot, 0), 1) * 48_000))
    var request = Request(
      samples: excess > 0 ? surplus : -Self.maximumSamples, minimumCorrelation: Self.onlyWhereQuiet)
    let isUrgent = abs(excess) > Self.urgent
    let interval = isUrgent ? Self.interval / 2 : Self.interval
    let patience =
      excess > 0
      ? isUrgent ? Self.patience.muchTooLong : Self.patience.long
      : delay < needed - Self.tolerance.short ? Self.patience.short : Self.patience.unsynchronized
    let overdue = min((now - began).seconds, 20) - patience
    if overdue >= 0, now - last >= interval {
      request.minimumCorrelation = Self.strictness.start - Self.strictness.decay * overdue
    }
    return request
  }

  /// A request was met.
  mutating func stretched(at now: Instant) { last = now }
}
