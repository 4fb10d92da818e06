import Base

/// Freezes as W3C webrtc-stats counts them: the time between two pictures that were shown is a freeze if it
/// reaches max(3 d, d + 150 ms), where d is the mean over the last 30 of them.
struct FreezeDetector {
  private(set) var freezeCount = 0
  /// Seconds.
  private(set) var totalFreezesDuration = 0.0
  private(set) var totalInterFrameDelay = 0.0
  private(set) var totalSquaredInterFrameDelay = 0.0

  private static let window = 30
  private var intervals: [Double] = []
  private var position = 0
  private var last: Instant?

  mutating func shown(at now: Instant) {
    defer { last = now }
    guard let last else { return }
    let interval = max(0, (now - last).seconds)
    totalInterFrameDelay += interval
    totalSquaredInterFrameDelay += interval * interval
    if intervals.count == Self.window {
      let mean = intervals.reduce(0, +) / Double(Self.window)
      if interval >= max(3 * mean, mean + 0.150) {
        freezeCount += 1
        totalFreezesDuration += interval
      }
    }
    if intervals.count < Self.window {
      intervals.append(interval)
    } else {
      intervals[position] = interval
      position = (position + 1) % Self.window
    }
  }

  /// The next interval does not count: the other side had its camera off.
  mutating func interrupt() { last = nil }
}
