import Base

/// The blocks of an extended report (RFC 3611) by which somebody who sends nothing learns the round-trip time:
/// it tells its time, and is told how long ago that came.
///
///      0                   1                   2                   3
///     |V=2|P|reserved |   PT=207      |             length            |
///     |                              SSRC                             |
///     |  BT (4, 5)    |   reserved    |         block length          |
///     |  4: NTP time, 64 bits; 5: SSRC, last RR, delay since, each 32 |
package struct ExtendedReport: Equatable, Sendable {
  /// What is said of one receiver's reference time (RFC 3611, 4.5).
  package struct Delay: Equatable, Sendable {
    package var ssrc: UInt32
    /// The middle 32 bits of the reference time.
    package var lastReceiverReport: UInt32
    /// Since its arrival, units of 1/65536 s.
    package var delay: UInt32

    package init(ssrc: UInt32, lastReceiverReport: UInt32, delay: UInt32) {
      self.ssrc = ssrc
      self.lastReceiverReport = lastReceiverReport
      self.delay = delay
    }
  }

  private enum Block {
    static let referenceTime: UInt8 = 4
    static let delays: UInt8 = 5
  }

  static let payloadType: UInt8 = 207
  private static let maximumDelays = 31

  package var ssrc: UInt32
  /// RFC 3611, 4.4.
  package var referenceTime: NTPTime?
  package var delays: [Delay]

  package init(ssrc: UInt32, referenceTime: NTPTime? = nil, delays: [Delay] = []) {
    self.ssrc = ssrc
    self.referenceTime = referenceTime
    self.delays = delays
  }

  /// Blocks of other kinds are left out.
  init?(parsing reader: inout ByteReader) {
    guard let ssrc = reader.uint32() else { return nil }
    self.init(ssrc: ssrc)
    while !reader.isAtEnd {
      guard let type = reader.uint8(), reader.uint8() != nil, let words = reader.uint16(),
        let content = reader.slice(4 * Int(words))
      else { return nil }
      var inner = ByteReader(content)
      switch type {
      case Block.referenceTime:
        guard let time = inner.uint64() else { return nil }
        referenceTime = NTPTime(value: time)
      case Block.delays:
        while delays.count < Self.maximumDelays, let ssrc = inner.uint32(), let last = inner.uint32(),
          let delay = inner.uint32()
        {
          delays.append(Delay(ssrc: ssrc, lastReceiverReport: last, delay: delay))
        }
      default: break
      }
    }
  }

  func write(to writer: inout ByteWriter) {
    RTCPPacket.write(type: Self.payloadType, count: 0, to: &writer) { writer in
      writer.uint32(ssrc)
      if let referenceTime {
        writer.uint8(Block.referenceTime)
        writer.uint8(0)
        writer.uint16(2)
        writer.uint64(referenceTime.value)
      }
      let delays = delays.prefix(Self.maximumDelays)
      guard !delays.isEmpty else { return }
      writer.uint8(Block.delays)
      writer.uint8(0)
      writer.uint16(UInt16(3 * delays.count))
      for delay in delays {
        writer.uint32(delay.ssrc)
        writer.uint32(delay.lastReceiverReport)
        writer.uint32(delay.delay)
      }
    }
  }
}
