/// How long packets wait on the way, and what gets through while they do: a queue never idles, so the spacing
/// of the packets that come out of it is what the way carries. Times are in milliseconds, each by its own
/// clock, rates in bits per second.
struct QueueDelay {
  /// Within which the fastest packet is looked for; longer windows would fall behind drifting clocks.
  private static let window = 5_000.0
  /// The fastest of so many packets counts: single ones are late for other reasons.
  private static let filter = 5
  /// Waiting longer than this is a queue.
  private static let busy = 30.0
  /// Of the time in the queue, the last is what counts: its rate may change.
  private static let measured = (least: 60.0, most: 300.0)
  private static let minimumArrivals = 5
  /// A queue of this length that goes on growing calls for more than a step down.
  private static let considerable = 80.0

  private struct Arrival {
    var send: Double
    var arrival: Double
    var size: Int
  }

  /// Least (arrival − send) of the current and of the previous window.
  private var least = (current: Double.infinity, previous: Double.infinity)
  private var windowStart = -Double.infinity
  private var recent: [Double] = []
  /// Those that came out of the queue one behind the other.
  private var arrivals: [Arrival] = []

  /// Waiting time of the last packets.
  private(set) var current = 0.0

  /// Of the very last packet, for whatever reason.
  private(set) var latest = 0.0

  mutating func packetArrived(send: Double, arrival: Double, size: Int) {
    let way = arrival - send
    if arrival - windowStart > Self.window {
      least = (way, windowStart.isFinite ? least.current : .infinity)
      windowStart = arrival
    }
    least.current = min(least.current, way)
    let waiting = way - min(least.current, least.previous)
    latest = waiting
    recent.append(waiting)
    if recent.count > Self.filter { recent.removeFirst() }
    current = recent.min() ?? 0
    guard waiting > Self.busy else {
      arrivals.removeAll(keepingCapacity: true)
      return
    }
    arrivals.append(Arrival(send: send, arrival: arrival, size: size))
    while let first = arrivals.first, arrival - first.arrival > Self.measured.most { arrivals.removeFirst() }
  }

  /// What comes out of the queue; nil if there is none, or too little has come yet.
  var throughput: Double? {
    guard let first = arrivals.first, let last = arrivals.last, arrivals.count >= Self.minimumArrivals,
      last.arrival - first.arrival >= Self.measured.least
    else { return nil }
    let bytes = arrivals.dropFirst().reduce(0) { $0 + $1.size }
    return Double(bytes * 8) * 1000 / (last.arrival - first.arrival)
  }

  /// Much more is sent than gets through.
  var isGrowing: Bool {
    guard current > Self.considerable, throughput != nil, let first = arrivals.first, let last = arrivals.last
    else { return false }
    return last.arrival - first.arrival > 1.25 * (last.send - first.send)
  }
}
