import Base

/// Counts what arrives from one source as RFC 3550, A.1, A.3 and A.8 say, for report blocks.
struct ReceptionStatistics {
  let ssrc: UInt32
  let clockRate: Int
  private(set) var packetsReceived = 0
  private var unwrapper = SequenceNumberUnwrapper()
  private var first: Int64 = 0
  private(set) var highest: Int64 = 0
  private var expectedPrior: Int64 = 0
  private var receivedPrior = 0
  /// In timestamp units.
  private(set) var jitter = 0.0
  private var lastArrival: Double?
  private var lastTimestamp: UInt32?
  var lastSenderReport: (ntpTime: NTPTime, arrival: Instant)?

  init(ssrc: UInt32, clockRate: Int) {
    self.ssrc = ssrc
    self.clockRate = clockRate
  }

  /// - Returns: the extended sequence number.
  mutating func receive(sequenceNumber: UInt16, timestamp: UInt32, at now: Instant) -> Int64 {
    let number = unwrapper.unwrap(sequenceNumber)
    if packetsReceived == 0 {
      first = number
      highest = number
    }
    packetsReceived += 1
    first = min(first, number)
    guard number >= highest else { return number }
    highest = number
    // Only the first packet of a frame tells the time of the way: the others waited for it.
    guard timestamp != lastTimestamp else { return number }
    if let lastTimestamp, let lastArrival {
      let elapsed = Double(Int32(bitPattern: timestamp &- lastTimestamp))
      let arrival = now.seconds * Double(clockRate)
      let difference = abs(arrival - lastArrival - elapsed)
      // A pause or a jump of the timestamps is no jitter.
      if difference < 5 * Double(clockRate) { jitter += (difference - jitter) / 16 }
    }
    lastTimestamp = timestamp
    lastArrival = now.seconds * Double(clockRate)
    return number
  }

  /// Extends a number of this source without counting it.
  func extend(_ sequenceNumber: UInt16) -> Int64? {
    guard packetsReceived > 0 else { return nil }
    return highest &+ Int64(Int16(bitPattern: sequenceNumber &- UInt16(truncatingIfNeeded: highest)))
  }

  var packetsLost: Int {
    packetsReceived == 0 ? 0 : Int(clamping: highest - first + 1) - packetsReceived
  }

  /// Starts a new interval of `fractionLost`.
  mutating func reportBlock(at now: Instant) -> ReportBlock? {
    guard packetsReceived > 0 else { return nil }
    let expected = highest - first + 1
    let expectedInterval = expected - expectedPrior
    let lost = expectedInterval - Int64(packetsReceived - receivedPrior)
    expectedPrior = expected
    receivedPrior = packetsReceived
    let fraction = expectedInterval > 0 && lost > 0 ? min(255, lost * 256 / expectedInterval) : 0
    let delay = lastSenderReport.map { max(0, (now - $0.arrival).seconds) * 65536 } ?? 0
    return ReportBlock(
      ssrc: ssrc, fractionLost: UInt8(fraction), cumulativeLost: Int32(clamping: packetsLost),
      extendedHighestSequenceNumber: UInt32(truncatingIfNeeded: highest - 65536),
      jitter: UInt32(clamping: Int64(min(jitter, 1e9))),
      lastSenderReport: lastSenderReport?.ntpTime.middle ?? 0,
      delaySinceLastSenderReport: UInt32(clamping: Int64(min(delay, 4e9))))
  }
}
