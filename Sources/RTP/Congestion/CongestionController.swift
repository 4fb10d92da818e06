import Base

/// How much may be sent: the lowest of what delay (transport-wide feedback), loss and the receiver's own
/// estimate (REMB) allow.
struct CongestionController: ~Copyable {
  /// UDP, IP and SRTP on top of each RTP packet, in octets.
  static let packetOverhead = 20 + 8 + 16
  private static let historySize = 4096
  /// In milliseconds.
  private static let noticeableQueue = 15.0

  private struct SentPacket {
    var number: Int64 = -1
    var time = Instant.zero
    var size = 0
    /// Bytes sent up to its end.
    var total = 0
    var isProbe = false
    var content: Content?
  }

  /// The packet of a stream that a packet on the wire carries, be it as a retransmission.
  struct Content {
    var stream: StreamID
    var sequenceNumber: Int64
  }

  /// What the last feedback said was lost, and had been sent when.
  private(set) var lost: [(content: Content, sent: Instant)] = []
  private var history = [SentPacket](repeating: SentPacket(), count: historySize)
  private var nextNumber: Int64 = 1
  private var acknowledgedNumber: Int64 = 0
  private var sentBytes = 0
  private var acknowledgedBytes = 0
  private var window = CongestionWindow()
  private(set) var delayBased: DelayBasedEstimator
  private(set) var lossBased: LossBasedEstimator
  private var probe = BandwidthProbe()
  /// The last packet of the probe under way.
  private var lastProbeNumber: Int64?
  private let limits: ClosedRange<Int>
  private var hasFeedback = false
  private var lastFeedback: Instant?
  private var lastSent: Instant?
  /// How many times feedback has been missed.
  private var silences = 0
  private static let maximumSilence = Duration.seconds(1)
  /// Sent since the last feedback.
  private var unreported = 0
  /// So many without feedback are no pause of ours.
  private static let missedPackets = 20
  /// Losses of what was sent before have been answered by a lower bitrate already: a queue that overflowed
  /// goes on to be reported for a while.
  private var answered = Instant(nanoseconds: Int64.min / 2)
  private var remoteEstimate: (bitrate: Int, at: Instant)?
  /// Nanoseconds of the receiver's clock.
  private var reference: (ticks: Int64, raw: Int32)?

  init(initial: Int, minimum: Int, maximum: Int) {
    delayBased = DelayBasedEstimator(initial: initial, minimum: minimum, maximum: maximum)
    lossBased = LossBasedEstimator(initial: initial, minimum: minimum, maximum: maximum)
    limits = minimum...max(minimum, maximum)
    target = initial
  }

  /// Bits per second, packets with their overhead.
  private(set) var target: Int
  /// Share of our packets lost, 0...1.
  var loss: Double { lossBased.loss }

  /// The bitrate has just been lowered, because a queue grew.
  func isYielding(at now: Instant) -> Bool { now - answered < .seconds(1) }

  /// Numbers a packet that leaves now.
  ///
  /// - Parameters:
  ///   - isProbe: it is sent at the rate of a probe.
  ///   - content: what may have to be sent again.
  mutating func packetSent(size: Int, isProbe: Bool = false, content: Content? = nil, at now: Instant)
    -> UInt16
  {
    let number = nextNumber
    nextNumber += 1
    lastSent = now
    unreported += 1
    sentBytes += size + Self.packetOverhead
    history[Int(number % Int64(Self.historySize))] = SentPacket(
      number: number, time: now, size: size + Self.packetOverhead, total: sentBytes, isProbe: isProbe,
      content: content)
    if isProbe { lastProbeNumber = number }
    return UInt16(truncatingIfNeeded: number)
  }

  mutating func receive(_ feedback: TransportFeedback, roundTripTime: RoundTripTime, at now: Instant) {
    guard let first = extend(feedback.baseSequenceNumber) else { return }
    hasFeedback = true
    var arrival = referenceTime(feedback.referenceTime)
    var total = 0
    var lost = 0
    var outage = Outage()
    var newest: Instant?
    self.lost.removeAll(keepingCapacity: true)
    lastFeedback = now
    silences = 0
    unreported = 0
    for (offset, delta) in feedback.deltas.enumerated() {
      let number = first + Int64(offset)
      guard number > 0, number < nextNumber else {
        if let delta { arrival &+= Int64(delta) * TransportFeedback.deltaTick.nanoseconds }
        continue
      }
      let isNew = number > acknowledgedNumber
      let index = Int(number % Int64(Self.historySize))
      let packet = history[index]
      if isNew { acknowledgedNumber = number }
      let countsForLoss = packet.time >= answered
      guard let delta else {
        if isNew, packet.number == number, let content = packet.content {
          self.lost.append((content, packet.time))
        }
        if isNew, countsForLoss {
          (total, lost) = (total + 1, lost + 1)
          outage.lost(sentAt: packet.time)
        }
        continue
      }
      if outage.end() { (total, lost) = (total - outage.packets, lost - outage.packets) }
      outage = Outage()
      arrival &+= Int64(delta) * TransportFeedback.deltaTick.nanoseconds
      guard packet.number == number else { continue }
      if isNew { (acknowledgedBytes, newest) = (packet.total, packet.time) }
      // Counted once, however often it is reported.
      history[index].number = -1
      if isNew {
        if countsForLoss { total += 1 }
      } else if countsForLoss {
        lost -= 1
      }
      let (sendTime, arrivalTime) = (Double(packet.time.nanoseconds) / 1e6, Double(arrival) / 1e6)
      delayBased.packetArrived(sendTime: sendTime, arrivalTime: arrivalTime, size: packet.size)
      if packet.isProbe {
        probe.packetArrived(sendTime: sendTime, arrivalTime: arrivalTime, size: packet.size)
      }
    }
    let before = delayBased.bitrate
    delayBased.update(roundTripTime: roundTripTime.estimate, at: now)
    if delayBased.bitrate < 0.9 * before { answered = now }
    evaluateProbe(at: now)
    updateLoss(total: total, lost: lost, roundTripTime: roundTripTime, at: now)
    if let newest { window.add(now - newest, queueDelay: queueDelay) }
    window.update(
      underWay: sentBytes - acknowledgedBytes, bitrate: target,
      isQueueing: delayBased.queue.latest > Self.noticeableQueue, at: now)
  }

  /// As much is under way as should be: pictures have to wait, until feedback comes or this time has passed.
  func holdsBack(at now: Instant) -> Instant? {
    window.isFull(underWay: sentBytes - acknowledgedBytes, at: now) ? window.binding : nil
  }

  /// How long packets wait on the way.
  var queueDelay: Duration { .seconds(delayBased.queue.current / 1000) }

  private mutating func evaluateProbe(at now: Instant) {
    if delayBased.usage == .over { probe.congested(at: now) }
    let isComplete = lastProbeNumber.map { acknowledgedNumber >= $0 } ?? false
    guard let result = probe.result(bitrate: delayBased.bitrate, isComplete: isComplete, at: now) else {
      return
    }
    lastProbeNumber = nil
    delayBased.begin(with: result)
    lossBased.begin(with: result)
  }

  /// Much more will be sent from now on, of which probes have said that it can be. They may be wrong, and what
  /// arrives will be taken for what can: so it begins with no more than this.
  mutating func resume(with bitrate: Int, at now: Instant) {
    delayBased.begin(with: min(delayBased.bitrate, Double(bitrate)))
    lossBased.begin(with: min(lossBased.bitrate, Double(bitrate)))
    updateTarget(at: now)
  }

  /// Bits per second that arrive; nil where nobody tells.
  var acknowledged: Double? { hasFeedback ? delayBased.acknowledged : nil }
  /// The delay grows.
  var isQueueing: Bool { delayBased.usage == .over }

  /// More was sent than arrived, though a probe had found room for it.
  mutating func rehearsalFailed() { probe.doubt() }
  mutating func forgetRehearsals() { probe.trust() }

  /// Whether the peer tells what becomes of the packets.
  var isAnswered: Bool { silences == 0 }

  /// The rate in bits per second at which some packets are to be sent now, to find out more; nil: none.
  mutating func nextProbe(isWithholding: Bool, at now: Instant) -> Int? {
    guard hasFeedback, silences == 0, delayBased.usage == .normal,
      let rate = probe.next(
        bitrate: Double(target), maximum: Double(limits.upperBound), acknowledged: delayBased.acknowledged,
        loss: loss, isWithholding: isWithholding, at: now)
    else { return nil }
    lastProbeNumber = nil
    return Int(rate)
  }

  /// A row of lost packets. A bottleneck always lets some through: a longer hole is a broken link, and
  /// says nothing about how much it carries.
  private struct Outage {
    private(set) var packets = 0
    private var first: Instant?
    private var last = Instant.zero

    mutating func lost(sentAt time: Instant) {
      packets += 1
      first = first ?? time
      last = time
    }

    func end() -> Bool {
      guard let first else { return false }
      return packets >= 10 && last - first >= .milliseconds(250)
    }
  }

  /// When the lack of feedback is to be noticed.
  var deadline: Instant? {
    guard hasFeedback, let lastFeedback, let lastSent, unreported >= Self.missedPackets else { return nil }
    return max(lastFeedback + Self.maximumSilence * (silences + 1), lastSent)
  }

  /// Without feedback, nobody knows what becomes of the packets: halve what is sent, each second.
  mutating func advance(to now: Instant) {
    guard let deadline, deadline <= now else { return }
    silences += 1
    updateTarget(at: now)
  }

  /// The peer speaks of what we send: the way there is open again, whatever has been missed before.
  mutating func peerAnswered(at now: Instant) {
    guard silences > 0 else { return }
    silences = 0
    lastFeedback = now
    unreported = 0
    updateTarget(at: now)
  }

  /// From a report block, where there is no transport-wide feedback.
  mutating func receiveReport(total: Int, lost: Int, roundTripTime: RoundTripTime, at now: Instant) {
    guard !hasFeedback else { return }
    updateLoss(total: total, lost: lost, roundTripTime: roundTripTime, at: now)
  }

  mutating func receiveEstimate(_ bitrate: Int, at now: Instant) {
    remoteEstimate = (bitrate, now)
    updateTarget(at: now)
  }

  private mutating func updateLoss(total: Int, lost: Int, roundTripTime: RoundTripTime, at now: Instant) {
    var ceiling = hasFeedback ? delayBased.bitrate : nil
    if let remote = currentRemoteEstimate(at: now) { ceiling = min(ceiling ?? remote, remote) }
    lossBased.update(
      total: total, lost: lost, ceiling: ceiling,
      isQueueing: hasFeedback && delayBased.usage == .over || roundTripTime.isInflated,
      roundTripTime: roundTripTime.estimate, at: now)
    updateTarget(at: now)
  }

  /// REMB is repeated about once a second; an old one says nothing.
  private func currentRemoteEstimate(at now: Instant) -> Double? {
    guard let remoteEstimate, now - remoteEstimate.at < .seconds(10) else { return nil }
    return Double(remoteEstimate.bitrate)
  }

  private mutating func updateTarget(at now: Instant) {
    var bitrate = hasFeedback ? delayBased.bitrate : lossBased.bitrate
    if lossBased.isLimiting { bitrate = min(bitrate, lossBased.bitrate) }
    if let remote = currentRemoteEstimate(at: now) { bitrate = min(bitrate, remote) }
    for _ in 0..<min(silences, 5) { bitrate /= 2 }
    target = Int(bitrate, in: limits)
  }

  private func extend(_ number: UInt16) -> Int64? {
    let last = nextNumber - 1
    let extended = last + Int64(Int16(bitPattern: number &- UInt16(truncatingIfNeeded: last)))
    return extended > last ? nil : extended
  }

  /// Beyond this, 2,200 years of ticks, it is no clock that moves the reference.
  private static let maximumTicks: Int64 = 1 << 40

  /// The reference time without its wrap (24 bits of 64 ms are 12 days).
  private mutating func referenceTime(_ raw: Int32) -> Int64 {
    let ticks: Int64
    if let reference, abs(reference.ticks) < Self.maximumTicks {
      ticks = reference.ticks &+ Int64(((raw &- reference.raw) << 8) >> 8)
    } else {
      ticks = Int64(raw) + (1 << 24)
    }
    reference = (ticks, raw)
    return ticks &* TransportFeedback.referenceTick.nanoseconds
  }
}
