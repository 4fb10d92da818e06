import Base

/// How many things happened during the last second.
struct RateCounter {
  private var times: [Instant] = []

  mutating func count(at now: Instant) {
    times.append(now)
    if times.count > 240 { times.removeFirst(120) }
  }

  mutating func perSecond(at now: Instant) -> Int {
    let start = now - .seconds(1)
    times.removeAll { $0 <= start }
    return times.count
  }
}
