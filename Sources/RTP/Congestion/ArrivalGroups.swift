/// Groups packets that were sent in one burst and tells how the spacing of groups changed on the way
/// (draft-ietf-rmcat-gcc-02, 5.1 and 5.2). Times are in milliseconds.
struct ArrivalGroups {
  struct Delta {
    var send: Double
    var arrival: Double
    /// When the later group had arrived.
    var arrivalTime: Double
  }

  private struct Group {
    var firstSend: Double
    var lastSend: Double
    var firstArrival: Double
    var lastArrival: Double
  }

  private static let burst = 5.0
  private static let maximumBurst = 100.0
  /// The sender's or our clock jumped.
  private static let maximumOffset = 3000.0
  private var current: Group?
  private var previous: Group?

  /// The change of spacing, when this packet begins a new group.
  mutating func add(send: Double, arrival: Double) -> Delta? {
    guard var group = current else {
      current = Group(firstSend: send, lastSend: send, firstArrival: arrival, lastArrival: arrival)
      return nil
    }
    // Sent before the group began: overtaken, it says nothing.
    guard send >= group.firstSend else { return nil }
    if belongs(send: send, arrival: arrival, to: group) {
      group.lastSend = max(group.lastSend, send)
      group.lastArrival = max(group.lastArrival, arrival)
      current = group
      return nil
    }
    defer {
      previous = group
      current = Group(firstSend: send, lastSend: send, firstArrival: arrival, lastArrival: arrival)
    }
    guard let previous else { return nil }
    let delta = Delta(
      send: group.lastSend - previous.lastSend, arrival: group.lastArrival - previous.lastArrival,
      arrivalTime: group.lastArrival)
    guard abs(delta.arrival - delta.send) < Self.maximumOffset, delta.arrival >= 0 else { return nil }
    return delta
  }

  private func belongs(send: Double, arrival: Double, to group: Group) -> Bool {
    if send - group.firstSend <= Self.burst { return true }
    // A queue let go at once: closer together than they were sent.
    let arrivalDelta = arrival - group.lastArrival
    let sendDelta = send - group.lastSend
    return arrivalDelta - sendDelta < 0 && arrivalDelta <= Self.burst
      && arrival - group.firstArrival < Self.maximumBurst
  }
}
