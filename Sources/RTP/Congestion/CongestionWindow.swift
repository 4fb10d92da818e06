import Base

/// Bounds what is under way: a link that slows down all of a sudden must not be given a queue that takes
/// seconds to drain.
///
/// Whether it is too much is decided when feedback comes, so that lost feedback holds nothing back: at that
/// moment only what was sent within a round trip is under way, unless it waits in a queue.
struct CongestionWindow {
  /// Share of the round trips that are as short as expected.
  private static let share = 0.95
  /// Pictures leave in bursts.
  private static let margin = 0.02
  private static let minimum = 6_000
  /// Before so much feedback there is no telling how long it takes.
  private static let minimumSamples = 10
  /// Once full, it is kept to for so long.
  private static let vigilance = Duration.milliseconds(250)

  /// From sending a packet until feedback tells of it, less the queue on the way, in seconds.
  private var roundTrips = DelayHistogram(resolution: 0.005, maximum: 1, memory: 150)
  private var samples = 0
  /// In bytes.
  private var size = Int.max / 8
  /// No more than the window may be under way until then.
  private(set) var binding = Instant(nanoseconds: .min)

  /// - Parameters:
  ///   - roundTrip: of the last packet that the feedback tells of.
  ///   - queueDelay: how long packets wait on the way.
  mutating func add(_ roundTrip: Duration, queueDelay: Duration) {
    guard roundTrip < .seconds(2) else { return }
    samples = min(samples + 1, Self.minimumSamples)
    roundTrips.add(max(0, (roundTrip - queueDelay).seconds))
  }

  /// With each feedback.
  ///
  /// - Parameters:
  ///   - bytes: under way.
  ///   - bitrate: bits per second.
  ///   - isQueueing: the last packet waited on the way. Else there is no reason to hold anything back.
  mutating func update(underWay bytes: Int, bitrate: Int, isQueueing: Bool, at now: Instant) {
    guard samples == Self.minimumSamples else { return }
    let usual = roundTrips.quantile(0.5)
    let long = roundTrips.quantile(Self.share)
    let seconds = long + (long - usual) / 2 + Self.margin
    size = max(Self.minimum, Int(Double(bitrate) / 8 * seconds))
    let isNearlyFull = bytes > size * (now < binding ? 3 : 4) / 4
    if isNearlyFull, isQueueing { binding = now + Self.vigilance }
  }

  func isFull(underWay bytes: Int, at now: Instant) -> Bool { now < binding && bytes > size }
}
