import Base

/// One direction of a bad network: loses, delays and throttles what passes through it. No IO, told the time,
/// repeatable by its seed.
struct ImpairedQueue<Route> {
  /// A datagram on its way.
  struct Datagram {
    let bytes: [UInt8]
    let route: Route
    let due: Instant
  }

  /// Datagrams that are kept, whatever delay and rate say.
  static var capacity: Int { 4096 }

  var impairment = Impairment()
  /// Lost by chance, and for want of room or rate.
  private(set) var lost = 0
  private(set) var passed = 0

  private var generator: SeededGenerator
  private var waiting: [Datagram] = []
  private var first = 0
  /// When the bottleneck has sent what it was given.
  private var free = Instant.zero
  private var lastDue = Instant.zero

  init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

  var isEmpty: Bool { first == waiting.count }

  /// When the next datagram arrives.
  var deadline: Instant? { isEmpty ? nil : waiting[first].due }

  /// Takes in a datagram, or loses it.
  mutating func add(_ datagram: UnsafeRawBufferPointer, _ route: Route, at now: Instant) {
    // Drawn for each one, so that what comes later does not depend on how much is lost now.
    let chance = Double.random(in: 0..<1, using: &generator)
    let share = Double.random(in: 0..<1, using: &generator)
    guard chance >= impairment.loss, waiting.count - first < Self.capacity else {
      lost += 1
      return
    }
    var sent = now
    if let rate = impairment.rate, rate > 0 {
      let start = max(now, free)
      guard start - now <= impairment.queue else {
        lost += 1
        return
      }
      free = start + .nanoseconds(Int64(datagram.count) * 8 * 1_000_000_000 / Int64(rate))
      sent = free
    }
    let jitter = Duration.nanoseconds(Int64(Double(impairment.jitter.nanoseconds) * share))
    lastDue = max(lastDue, sent + impairment.delay + jitter)
    waiting.append(Datagram(bytes: Array(datagram), route: route, due: lastDue))
  }

  /// The next datagram that has arrived by now.
  mutating func next(at now: Instant) -> Datagram? {
    guard !isEmpty, waiting[first].due <= now else { return nil }
    defer {
      first += 1
      passed += 1
      if first == waiting.count || first > Self.capacity {
        waiting.removeFirst(first)
        first = 0
      }
    }
    return waiting[first]
  }
}
