import Base

/// One direction of a network in virtual time: loses, delays, reorders, duplicates and queues packets as
/// told, the same way for the same seed.
package struct SimulatedLink: Sendable {
  package struct Conditions: Sendable {
    /// Probability that a packet is lost, 0...1.
    package var loss = 0.0
    /// Mean number of packets lost in a row (Gilbert-Elliott: everything is lost in the bad state).
    package var lossBurst = 1.0
    /// One way.
    package var delay = Duration.zero
    /// Added to the delay, uniform from zero; packets keep their order.
    package var jitter = Duration.zero
    /// Probability that a packet is overtaken: it takes `reorderDelay` longer.
    package var reorder = 0.0
    package var reorderDelay = Duration.milliseconds(10)
    package var duplicate = 0.0
    /// Bits per second, 28 octets of UDP and IP counted with each packet; nil: unlimited.
    package var rate: Int?
    /// What the queue in front of the rate limit holds; more is lost.
    package var queue = Duration.milliseconds(300)
    /// Everything is lost meanwhile.
    package var isBlackedOut = false

    package init() {}
  }

  package var conditions: Conditions
  private var random: SeededGenerator
  private var inFlight: [(arrival: Instant, number: Int, packet: [UInt8])] = []
  private var sent = 0
  private var isBad = false
  private var rateFree = Instant.zero
  private var lastArrival = Instant.zero
  package private(set) var lost = 0
  package private(set) var delivered = 0
  /// How long the last packet waited in the queue.
  package private(set) var queueingDelay = Duration.zero

  package init(_ conditions: Conditions = Conditions(), seed: UInt64) {
    self.conditions = conditions
    random = SeededGenerator(seed: seed)
  }

  package var nextArrival: Instant? { inFlight.first?.arrival }

  package mutating func send(_ packet: [UInt8], at now: Instant) {
    sent += 1
    guard !conditions.isBlackedOut, !decideLoss() else {
      lost += 1
      return
    }
    var departure = now
    if let rate = conditions.rate {
      queueingDelay = max(.zero, rateFree - now)
      guard queueingDelay <= conditions.queue else {
        lost += 1
        return
      }
      rateFree = max(rateFree, now) + .seconds(Double((packet.count + 28) * 8) / Double(rate))
      departure = rateFree
    }
    var arrival = departure + conditions.delay + conditions.jitter * Double.random(in: 0...1, using: &random)
    arrival = max(arrival, lastArrival)
    if chance(conditions.reorder) {
      arrival += conditions.reorderDelay
    } else {
      lastArrival = arrival
    }
    enqueue(packet, arrival)
    if chance(conditions.duplicate) { enqueue(packet, arrival + .milliseconds(1)) }
  }

  /// The next packet that has arrived by `now`.
  package mutating func receive(at now: Instant) -> [UInt8]? {
    guard let first = inFlight.first, first.arrival <= now else { return nil }
    delivered += 1
    return inFlight.removeFirst().packet
  }

  private mutating func enqueue(_ packet: [UInt8], _ arrival: Instant) {
    var index = inFlight.count
    while index > 0, inFlight[index - 1].arrival > arrival { index -= 1 }
    inFlight.insert((arrival, sent, packet), at: index)
  }

  private mutating func decideLoss() -> Bool {
    guard conditions.loss > 0 else { return false }
    guard conditions.lossBurst > 1 else { return chance(conditions.loss) }
    let leaveBad = 1 / conditions.lossBurst
    let enterBad = leaveBad * conditions.loss / max(1e-9, 1 - conditions.loss)
    isBad = isBad ? !chance(leaveBad) : chance(enterBad)
    return isBad
  }

  private mutating func chance(_ probability: Double) -> Bool {
    probability > 0 && Double.random(in: 0..<1, using: &random) < probability
  }
}
