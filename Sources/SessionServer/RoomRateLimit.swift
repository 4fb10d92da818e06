import Base

/// A token bucket: `burst` at once, `rate` a second in the long run.
struct RoomRateLimit: Sendable {
  private let rate: Double
  private let burst: Double
  private var available: Double
  private var updated: Instant

  init(rate: Double, burst: Double, at now: Instant) {
    self.rate = rate
    self.burst = burst
    available = burst
    updated = now
  }

  /// False if it is too soon.
  mutating func take(_ cost: Double = 1, at now: Instant) -> Bool {
    if now > updated {
      available = min(burst, available + (now - updated).seconds * rate)
      updated = now
    }
    guard available >= cost else { return false }
    available -= cost
    return true
  }
}
