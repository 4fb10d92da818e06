import Base

/// Finds out at once what growing by steps would take many seconds to learn: a few packets leave faster than
/// the estimate, and how they arrive tells what the way carries. Done at the start and, while the bitrate is
/// used up, every few seconds.
struct BandwidthProbe {
  private static let interval = Duration.seconds(4)
  private static let firstFactor = 3.0
  private static let factor = 2.0
  private static let pauseAfterCongestion = Duration.seconds(2)
  private static let timeout = Duration.seconds(2)
  private static let minimumArrivals = 4
  /// With more loss than this nothing can be said of a few packets.
  static let maximumLoss = 0.1
  /// What is not used is not worth a look, 0...1.
  private static let leastUse = 0.6

  /// How long the packets of a probe take, at least.
  static let duration = 0.015
  static let minimumPackets = 5
  /// Of a packet on the mean, in octets.
  static let packetSize = 400
  /// Of a packet where sound is all that is left: it need not wait for more.
  static let paddingSize = 150

  private struct Cluster {
    /// Bits per second.
    var rate: Double
    var begin: Instant
    /// Of a packet, times in milliseconds.
    struct Packet {
      var sendTime: Double
      var arrivalTime: Double
      var size: Int
    }
    /// By send time.
    private(set) var first: Packet?
    private(set) var last: Packet?
    private var arrivals = (first: Double.infinity, last: -Double.infinity)
    private var bytes = 0
    private(set) var count = 0

    init(rate: Double, begin: Instant) {
      self.rate = rate
      self.begin = begin
    }

    mutating func add(_ packet: Packet) {
      count += 1
      bytes += packet.size
      if packet.sendTime < first?.sendTime ?? .infinity { first = packet }
      if packet.sendTime >= last?.sendTime ?? -.infinity { last = packet }
      arrivals = (min(arrivals.first, packet.arrivalTime), max(arrivals.last, packet.arrivalTime))
    }

    /// Bits per second that got through. Where packets arrive more slowly than they were sent, that is all
    /// the way carries.
    var carried: Double? {
      guard count >= BandwidthProbe.minimumArrivals, let first, let last else { return nil }
      let send = Double((bytes - last.size) * 8) / max(1, last.sendTime - first.sendTime)
      let arrival = Double((bytes - first.size) * 8) / max(1, arrivals.last - arrivals.first)
      return min(rate, 1000 * (arrival < 0.9 * send ? 0.95 * arrival : min(send, arrival)))
    }
  }

  private var cluster: Cluster?
  private var lastProbe: Instant?
  private var lastCongestion: Instant?
  /// The last one was promising: it is worth going on.
  private var goesOn = false
  /// How often what was found out was wrong.
  private var failures = 0

  /// What it found out was wrong: the next one waits longer.
  mutating func doubt() {
    failures = min(failures + 1, 2)
    goesOn = false
  }

  mutating func trust() { failures = 0 }

  var isRunning: Bool { cluster != nil }

  mutating func congested(at now: Instant) {
    lastCongestion = now
    goesOn = false
  }

  /// The rate to send some packets at now, in bits per second; nil if it is not time for it.
  ///
  /// - Parameters:
  ///   - bitrate: the estimate.
  ///   - acknowledged: what arrives.
  ///   - isWithholding: more would be sent if there were room for it, however little is sent now.
  mutating func next(
    bitrate: Double, maximum: Double, acknowledged: Double?, loss: Double, isWithholding: Bool = false,
    at now: Instant
  ) -> Double? {
    guard cluster == nil, bitrate < 0.9 * maximum, loss < Self.maximumLoss else { return nil }
    let factor: Double
    if let lastProbe {
      guard let acknowledged, acknowledged > Self.leastUse * bitrate || goesOn || isWithholding,
        goesOn || now - lastProbe >= Self.interval * (1 << failures),
        lastCongestion.map({ now - $0 >= Self.pauseAfterCongestion }) ?? true
      else { return nil }
      factor = Self.factor
    } else {
      factor = Self.firstFactor
    }
    lastProbe = now
    goesOn = false
    let rate = min(bitrate * factor, 1.1 * maximum)
    cluster = Cluster(rate: rate, begin: now)
    return rate
  }

  /// - Parameters: in milliseconds, each by its own clock.
  mutating func packetArrived(sendTime: Double, arrivalTime: Double, size: Int) {
    cluster?.add(Cluster.Packet(sendTime: sendTime, arrivalTime: arrivalTime, size: size))
  }

  /// What the probe says, in bits per second, once it is over.
  ///
  /// - Parameter isComplete: nothing of it is under way any more.
  mutating func result(bitrate: Double, isComplete: Bool, at now: Instant) -> Double? {
    guard let cluster, isComplete || now - cluster.begin > Self.timeout else { return nil }
    self.cluster = nil
    guard let result = cluster.carried, result > bitrate else { return nil }
    goesOn = result > 1.4 * bitrate
    return result
  }
}
