import Base

/// The loss-based half of congestion control (draft-ietf-rmcat-gcc-02, 6): up to 2 % lost it sets no
/// limit, up to 10 % the bitrate stays, above it falls.
///
/// Loss that does not depend on what is sent (radio, a bad cable) is no congestion. It is found by
/// trials: a bottleneck loses all of what is sent too much, so 10 % more or 20 % less shows. What is the
/// same at both bitrates is taken off before the decision, or a lossy link would be throttled to nothing.
struct LossBasedEstimator {
  /// Packets and seconds for a sample; less is enough where the loss is obvious.
  private static let minimumPackets = (normal: 50, obvious: 20)
  private static let minimumInterval = 0.2
  /// The most that one decision takes off.
  private static let maximumCut = 0.5
  /// Share a second by which the bitrate comes back.
  private static let growth = 0.15
  private static let trialPackets = 200
  private static let pauseBetweenTrials = Duration.seconds(6)

  /// Bits per second.
  private(set) var bitrate: Double
  /// 0...1, smoothed over about a second.
  private(set) var loss = 0.0
  /// The share that does not depend on the bitrate.
  private(set) var inherentLoss = 0.0
  private let limits: ClosedRange<Double>
  /// Sets a limit of its own.
  private(set) var isLimiting = false
  private var total = 0
  private var lost = 0
  private var lastUpdate: Instant?
  private var lastDecrease: Instant?
  private var steady: Counts?
  private var trial: Trial?
  private var nextTrial = Instant(nanoseconds: .min)

  private struct Counts {
    var total = 0
    var lost = 0
    var loss: Double { total == 0 ? 0 : Double(lost) / Double(total) }
  }

  /// Sending more or less than at `bitrate`, where `loss` was seen.
  private struct Trial {
    var bitrate: Double
    var loss: Double
    var isIncrease: Bool
    /// What was sent before has left the queues.
    var begin: Instant
    var counts = Counts()

    /// What a bottleneck that loses the excess would lose at another bitrate, 0...1.
    func congestionLoss(at other: Double) -> Double { max(0, 1 - (1 - loss) * bitrate / other) }
  }

  init(initial: Int, minimum: Int, maximum: Int) {
    bitrate = Double(initial)
    limits = Double(minimum)...Double(max(minimum, maximum))
  }

  /// - Parameters:
  ///   - total, lost: numbers of packets since the last call.
  ///   - ceiling: what the other estimates allow, bits per second; nil if there are none.
  ///   - isQueueing: the delay grows: no time for trials.
  mutating func update(
    total: Int, lost: Int, ceiling: Double?, isQueueing: Bool, roundTripTime: Duration, at now: Instant
  ) {
    self.total += max(0, total)
    self.lost += max(0, min(lost, total))
    guard let last = lastUpdate else {
      lastUpdate = now
      return
    }
    let elapsed = min((now - last).seconds, 1)
    let needed = self.lost * 3 > self.total ? Self.minimumPackets.obvious : Self.minimumPackets.normal
    guard self.total >= needed, elapsed >= Self.minimumInterval else { return }
    let sample = Double(self.lost) / Double(self.total)
    loss += (sample - loss) * max(sample > loss ? 0.5 : 0.3, elapsed)
    inherentLoss = min(inherentLoss, max(loss, inherentLoss - 0.002 * elapsed))
    if let ceiling, !isLimiting || ceiling < bitrate { bitrate = ceiling }
    evaluateTrial(isQueueing: isQueueing, at: now)
    decide(ceiling: ceiling, isQueueing: isQueueing, roundTripTime: roundTripTime, elapsed, at: now)
    bitrate = min(max(bitrate, limits.lowerBound), limits.upperBound)
    self.total = 0
    self.lost = 0
    lastUpdate = now
  }

  /// A probe got through at this bitrate.
  mutating func begin(with bitrate: Double) {
    guard congestionLoss <= 0.02, bitrate > self.bitrate else { return }
    self.bitrate = min(bitrate, limits.upperBound)
  }

  private var congestionLoss: Double { max(0, (loss - inherentLoss) / (1 - inherentLoss)) }

  private mutating func decide(
    ceiling: Double?, isQueueing: Bool, roundTripTime: Duration, _ elapsed: Double, at now: Instant
  ) {
    let congestion = congestionLoss
    if ceiling == nil, isQueueing {
      // Nobody else watches the delay.
      isLimiting = true
      bitrate *= 1 - 0.15 * elapsed
    } else if congestion <= 0.02 {
      steady = nil
      // From where loss held it back, slowly.
      bitrate += (bitrate * Self.growth + 1000) * elapsed
      if let ceiling, bitrate >= ceiling { (bitrate, isLimiting) = (ceiling, false) }
    } else if congestion <= 0.10 {
      isLimiting = true
      tryMore(isQueueing: isQueueing, elapsed, at: now)
    } else {
      isLimiting = true
      steady = nil
      // A trial holds the bitrate where a bottleneck would lose nothing any more.
      if let trial, !trial.isIncrease { return }
      guard lastDecrease.map({ now - $0 >= roundTripTime + .milliseconds(300) }) ?? true else { return }
      lastDecrease = now
      if !isQueueing, now >= nextTrial {
        trial = Trial(
          bitrate: bitrate, loss: loss, isIncrease: false, begin: now + roundTripTime + .milliseconds(200))
        bitrate *= max(Self.maximumCut, 0.95 * (1 - loss))
      } else {
        bitrate *= 1 - 0.5 * congestion
      }
    }
  }

  /// Between rising and falling: finds out by sending a little more whether the loss is ours.
  private mutating func tryMore(isQueueing: Bool, _ elapsed: Double, at now: Instant) {
    guard !isQueueing, now >= nextTrial else {
      steady = nil
      return
    }
    if let trial {
      if trial.isIncrease { bitrate = min(bitrate * (1 + 0.08 * elapsed), trial.bitrate * 1.1) }
      return
    }
    var counts = steady ?? Counts()
    counts.total += total
    counts.lost += lost
    steady = counts
    if counts.total >= Self.trialPackets {
      trial = Trial(bitrate: bitrate, loss: counts.loss, isIncrease: true, begin: now)
      steady = nil
    }
  }

  private mutating func evaluateTrial(isQueueing: Bool, at now: Instant) {
    guard var trial, now >= trial.begin else { return }
    guard !trial.isIncrease || bitrate >= 1.08 * trial.bitrate else { return }
    trial.counts.total += total
    trial.counts.lost += lost
    self.trial = trial
    if !trial.isIncrease, trial.counts.total >= Self.minimumPackets.obvious,
      trial.counts.loss > trial.loss * 1.3 + 0.1
    {
      // It was worse than it seemed at first: once more from here.
      self.trial = nil
      loss = max(loss, trial.counts.loss)
      return
    }
    guard trial.counts.total >= Self.trialPackets || isQueueing else { return }
    self.trial = nil
    let expected = trial.congestionLoss(at: bitrate)
    let middle = (expected + trial.loss) / 2
    let isInherent = trial.isIncrease ? trial.counts.loss < middle : trial.counts.loss > middle
    if isInherent, !isQueueing {
      inherentLoss = min(0.5, max(inherentLoss, min(trial.loss, trial.counts.loss)))
      bitrate = max(bitrate, trial.bitrate)
    } else {
      if trial.isIncrease { bitrate = trial.bitrate * 0.95 }
      nextTrial = now + Self.pauseBetweenTrials
    }
  }
}
