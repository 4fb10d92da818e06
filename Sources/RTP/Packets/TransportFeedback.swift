import Base

/// Transport-wide feedback: when each packet of a bundle arrived, by its transport-wide sequence number
/// (draft-holmer-rmcat-transport-wide-cc-extensions-01, 3.1).
///
/// ```
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |      base sequence number     |      packet status count      |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |         reference time (24, units of 64 ms)   | fb pkt. count |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |         packet chunks (16 each), receive deltas (8 or 16)     |
/// ```
package struct TransportFeedback: Equatable, Sendable {
  static let format: UInt8 = 15
  /// Units of receive deltas.
  static let deltaTick = Duration.microseconds(250)
  static let referenceTick = Duration.milliseconds(64)

  package var sender: UInt32
  package var media: UInt32
  package var baseSequenceNumber: UInt16
  /// 24 bits, signed, units of 64 ms.
  package var referenceTime: Int32
  package var feedbackCount: UInt8
  /// For each number from the base on: time since the packet before that arrived (the first: since the
  /// reference time) in units of 250 µs; nil if it did not arrive.
  package var deltas: [Int16?]

  package init(
    sender: UInt32, media: UInt32, baseSequenceNumber: UInt16, referenceTime: Int32, feedbackCount: UInt8,
    deltas: [Int16?]
  ) {
    self.sender = sender
    self.media = media
    self.baseSequenceNumber = baseSequenceNumber
    self.referenceTime = referenceTime
    self.feedbackCount = feedbackCount
    self.deltas = deltas
  }

  /// Packets that one message tells of. Runs of missing ones cost a peer next to nothing, and us time.
  static let maximumCount = 4096

  private enum Symbol {
    static let notReceived: UInt16 = 0
    static let smallDelta: UInt16 = 1
    static let largeDelta: UInt16 = 2
  }

  init?(parsing reader: inout ByteReader) {
    guard let sender = reader.uint32(), let media = reader.uint32(), let base = reader.uint16(),
      let count = reader.uint16(), count > 0, Int(count) <= Self.maximumCount, let time = reader.uint24(),
      let feedback = reader.uint8()
    else { return nil }
    var symbols: [UInt16] = []
    symbols.reserveCapacity(Int(count))
    while symbols.count < Int(count) {
      guard let chunk = reader.uint16() else { return nil }
      let wanted = Int(count) - symbols.count
      if chunk & 0x8000 == 0 {
        let run = min(Int(chunk & 0x1FFF), wanted)
        symbols.append(contentsOf: repeatElement(chunk >> 13 & 3, count: run))
        if run == 0 { return nil }
      } else if chunk & 0x4000 == 0 {
        for bit in 0..<min(14, wanted) { symbols.append(chunk >> (13 - bit) & 1) }
      } else {
        for pair in 0..<min(7, wanted) { symbols.append(chunk >> (12 - 2 * pair) & 3) }
      }
    }
    var deltas: [Int16?] = []
    deltas.reserveCapacity(symbols.count)
    for symbol in symbols {
      switch symbol {
      case Symbol.notReceived: deltas.append(nil)
      case Symbol.smallDelta:
        guard let delta = reader.uint8() else { return nil }
        deltas.append(Int16(delta))
      case Symbol.largeDelta:
        guard let delta = reader.uint16() else { return nil }
        deltas.append(Int16(bitPattern: delta))
      default: return nil
      }
    }
    self.init(
      sender: sender, media: media, baseSequenceNumber: base,
      referenceTime: Int32(bitPattern: time << 8) >> 8, feedbackCount: feedback, deltas: deltas)
  }

  func write(to writer: inout ByteWriter) {
    RTCPPacket.write(
      type: RTCPPacket.PayloadType.transportSpecificFeedback, count: Self.format, to: &writer
    ) { writer in
      writer.uint32(sender)
      writer.uint32(media)
      writer.uint16(baseSequenceNumber)
      writer.uint16(UInt16(clamping: deltas.count))
      writer.uint24(UInt32(bitPattern: referenceTime) & 0xFF_FFFF)
      writer.uint8(feedbackCount)
      writeChunks(to: &writer)
      for case .some(let delta) in deltas.prefix(Int(UInt16.max)) {
        if (0...255).contains(delta) {
          writer.uint8(UInt8(delta))
        } else {
          writer.uint16(UInt16(bitPattern: delta))
        }
      }
    }
  }

  private func symbol(_ index: Int) -> UInt16 {
    guard let delta = deltas[index] else { return Symbol.notReceived }
    return (0...255).contains(delta) ? Symbol.smallDelta : Symbol.largeDelta
  }

  /// A run where it saves something, else a vector of one bit (14) or two bits (7) a packet.
  private func writeChunks(to writer: inout ByteWriter) {
    let count = min(deltas.count, Int(UInt16.max))
    var index = 0
    while index < count {
      let first = symbol(index)
      var run = 1
      while index + run < count, run < 0x1FFF, symbol(index + run) == first { run += 1 }
      if run >= 14 || index + run == count {
        writer.uint16(first << 13 | UInt16(run))
        index += run
        continue
      }
      let oneBit = min(14, count - index)
      if !(0..<oneBit).contains(where: { symbol(index + $0) == Symbol.largeDelta }) {
        var chunk: UInt16 = 0x8000
        for bit in 0..<oneBit { chunk |= symbol(index + bit) << (13 - bit) }
        writer.uint16(chunk)
        index += oneBit
      } else {
        let twoBits = min(7, count - index)
        var chunk: UInt16 = 0xC000
        for pair in 0..<twoBits { chunk |= symbol(index + pair) << (12 - 2 * pair) }
        writer.uint16(chunk)
        index += twoBits
      }
    }
  }
}
