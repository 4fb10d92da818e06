import Base

/// Absolute due times of pictures at a constant rate; slots that were missed are skipped.
struct FrameSchedule {
  private let period: Int64
  private let start: Instant
  private(set) var slot: Int64 = -1
  private let sleeper = Semaphore()

  init(frameRate: Int, start: Instant) {
    period = 1_000_000_000 / Int64(max(1, frameRate))
    self.start = start
  }

  /// Waits for the next slot. Nil if `deadline` comes first, and then the slot is still the next one.
  mutating func wait(until deadline: Instant) -> Instant? {
    var next = slot + 1
    let late = (MonotonicClock.now() - due(next)).nanoseconds
    if late >= period { next += late / period }
    let time = due(next)
    if time > deadline {
      _ = sleeper.wait(until: deadline)
      return nil
    }
    _ = sleeper.wait(until: time)
    slot = next
    return time
  }

  private func due(_ slot: Int64) -> Instant { start + .nanoseconds(slot * period) }
}
