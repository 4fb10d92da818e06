import Base

/// Raises the bitrate while queues do not grow, and lowers it below what got through when they do
/// (draft-ietf-rmcat-gcc-02, 5.5).
struct AIMDRateControl {
  private enum State {
    case hold, increase, decrease
  }

  /// Of what gets through: less, the longer the queue (in milliseconds) that is to drain.
  private static let backoff = (range: 0.87...0.93, queue: 600.0)
  private static let growth = 1.08
  /// More and more while there is no sign of congestion: by so much a second after a pause, up to a limit.
  private static let acceleration = (pause: 2.0, perSecond: 0.1, limit: 1.5)
  /// Before the first sign of congestion: find the link's rate in seconds rather than minutes.
  private static let initialGrowth = 2.0

  private(set) var bitrate: Double
  private let limits: ClosedRange<Double>
  private var state = State.hold
  private var capacity = LinkCapacity()
  private var lastChange: Instant?
  private var lastDecrease: Instant?
  private var isStarting = true

  init(initial: Int, minimum: Int, maximum: Int) {
    bitrate = Double(initial)
    limits = Double(minimum)...Double(max(minimum, maximum))
  }

  /// - Parameters:
  ///   - acknowledged: bits per second that arrive.
  ///   - queue: how long packets wait on the way, in milliseconds.
  mutating func update(
    _ usage: TrendlineEstimator.Usage, acknowledged: Double?, queue: Double, roundTripTime: Duration,
    at now: Instant
  ) {
    switch usage {
    case .normal: if state == .hold { state = .increase; lastChange = now }
    case .over:
      guard mayDecrease(acknowledged, roundTripTime, at: now) else { return }
      state = .decrease
    case .under: state = .hold
    }
    switch state {
    case .hold: break
    case .increase: increase(acknowledged, roundTripTime, at: now)
    case .decrease: decrease(acknowledged, queue: queue, at: now)
    }
    bitrate = min(max(bitrate, limits.lowerBound), limits.upperBound)
  }

  private func mayDecrease(_ acknowledged: Double?, _ roundTripTime: Duration, at now: Instant) -> Bool {
    guard let lastDecrease else { return true }
    let interval = min(max(roundTripTime, .milliseconds(10)), .milliseconds(200))
    return now - lastDecrease >= interval || (acknowledged ?? bitrate) < bitrate / 2
  }

  private mutating func increase(_ acknowledged: Double?, _ roundTripTime: Duration, at now: Instant) {
    let elapsed = min(max(0, (now - (lastChange ?? now)).seconds), 1)
    lastChange = now
    let throughput = acknowledged ?? bitrate
    if let upper = capacity.upperBound, throughput > upper { capacity.reset() }
    // What is not used has not been tried.
    let limit = acknowledged.map { 1.5 * $0 + 10_000 } ?? bitrate
    guard bitrate < limit else { return }
    let raised: Double
    if capacity.estimate != nil {
      // Near the capacity: about a packet more for each round trip.
      let frame = bitrate / 30
      let packet = frame / (frame / (8 * 1200)).rounded(.up)
      raised = bitrate + max(4000, packet / (roundTripTime.seconds + 0.1)) * elapsed
    } else {
      let factor = isStarting ? Self.initialGrowth : growth(at: now)
      raised = bitrate + max(bitrate * (power(factor, elapsed) - 1), 1000 * elapsed)
    }
    bitrate = min(raised, limit)
  }

  private func growth(at now: Instant) -> Double {
    guard let lastDecrease else { return Self.growth }
    let calm = max(0, (now - lastDecrease).seconds - Self.acceleration.pause)
    return min(Self.growth + calm * Self.acceleration.perSecond, Self.acceleration.limit)
  }

  /// `base` to the power of an exponent within 0...1, near enough.
  private func power(_ base: Double, _ exponent: Double) -> Double { 1 + (base - 1) * exponent }

  private mutating func decrease(_ acknowledged: Double?, queue: Double, at now: Instant) {
    isStarting = false
    let backoff = min(
      max(0.95 - queue / Self.backoff.queue, Self.backoff.range.lowerBound), Self.backoff.range.upperBound)
    let throughput = acknowledged ?? bitrate
    var lowered = backoff * throughput
    if lowered > bitrate, let estimate = capacity.estimate { lowered = backoff * estimate }
    bitrate = min(bitrate, lowered)
    if let lower = capacity.lowerBound, throughput < lower { capacity.reset() }
    capacity.overused(at: throughput)
    state = .hold
    lastChange = now
    lastDecrease = now
  }

  /// Begins with what is known to get through.
  mutating func begin(with bitrate: Double) {
    self.bitrate = min(max(bitrate, limits.lowerBound), limits.upperBound)
    if let upper = capacity.upperBound, bitrate > upper { capacity.reset() }
  }

  /// What got through when queues grew, with its spread.
  private struct LinkCapacity {
    /// Kilobits per second.
    private var mean: Double?
    private var deviation = 0.4

    var estimate: Double? { mean.map { $0 * 1000 } }
    var upperBound: Double? { mean.map { ($0 + 3 * spread($0)) * 1000 } }
    var lowerBound: Double? { mean.map { max(0, $0 - 3 * spread($0)) * 1000 } }

    private func spread(_ mean: Double) -> Double { (deviation * mean).squareRoot() }

    mutating func reset() { mean = nil }

    mutating func overused(at bitrate: Double) {
      let sample = bitrate / 1000
      guard let old = mean else {
        mean = sample
        return
      }
      let new = 0.95 * old + 0.05 * sample
      let error = new - sample
      deviation = min(max(0.95 * deviation + 0.05 * error * error / max(new, 1), 0.4), 2.5)
      mean = new
    }
  }
}
