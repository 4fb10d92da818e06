import Base

/// What a receiver says about one source (RFC 3550, 6.4.1).
package struct ReportBlock: Equatable, Sendable {
  package var ssrc: UInt32
  /// Lost since the last report, in 1/256.
  package var fractionLost: UInt8
  /// Lost since the start, 24 bits, signed: duplicates can make it negative.
  package var cumulativeLost: Int32
  package var extendedHighestSequenceNumber: UInt32
  /// In timestamp units.
  package var jitter: UInt32
  /// The middle 32 bits of the NTP time of the last sender report; 0 if there was none.
  package var lastSenderReport: UInt32
  /// Since that report's arrival, units of 1/65536 s.
  package var delaySinceLastSenderReport: UInt32

  package init(
    ssrc: UInt32, fractionLost: UInt8, cumulativeLost: Int32, extendedHighestSequenceNumber: UInt32,
    jitter: UInt32, lastSenderReport: UInt32, delaySinceLastSenderReport: UInt32
  ) {
    self.ssrc = ssrc
    self.fractionLost = fractionLost
    self.cumulativeLost = cumulativeLost
    self.extendedHighestSequenceNumber = extendedHighestSequenceNumber
    self.jitter = jitter
    self.lastSenderReport = lastSenderReport
    self.delaySinceLastSenderReport = delaySinceLastSenderReport
  }

  init?(parsing reader: inout ByteReader) {
    guard let ssrc = reader.uint32(), let fraction = reader.uint8(), let lost = reader.uint24(),
      let highest = reader.uint32(), let jitter = reader.uint32(), let last = reader.uint32(),
      let delay = reader.uint32()
    else { return nil }
    self.init(
      ssrc: ssrc, fractionLost: fraction, cumulativeLost: Int32(bitPattern: lost << 8) >> 8,
      extendedHighestSequenceNumber: highest, jitter: jitter, lastSenderReport: last,
      delaySinceLastSenderReport: delay)
  }

  func write(to writer: inout ByteWriter) {
    writer.uint32(ssrc)
    writer.uint8(fractionLost)
    writer.uint24(UInt32(bitPattern: min(max(cumulativeLost, -0x80_0000), 0x7F_FFFF)) & 0xFF_FFFF)
    writer.uint32(extendedHighestSequenceNumber)
    writer.uint32(jitter)
    writer.uint32(lastSenderReport)
    writer.uint32(delaySinceLastSenderReport)
  }

  static func parse(_ reader: inout ByteReader, count: Int) -> [ReportBlock]? {
    var blocks: [ReportBlock] = []
    for _ in 0..<count {
      guard let block = ReportBlock(parsing: &reader) else { return nil }
      blocks.append(block)
    }
    return blocks
  }
}

/// RFC 3550, 6.4.1.
package struct SenderReport: Equatable, Sendable {
  package var ssrc: UInt32
  package var ntpTime: NTPTime
  /// The same instant in the stream's timestamp units.
  package var rtpTimestamp: UInt32
  package var packetCount: UInt32
  /// Payload octets.
  package var octetCount: UInt32
  package var blocks: [ReportBlock]

  package init(
    ssrc: UInt32, ntpTime: NTPTime, rtpTimestamp: UInt32, packetCount: UInt32, octetCount: UInt32,
    blocks: [ReportBlock] = []
  ) {
    self.ssrc = ssrc
    self.ntpTime = ntpTime
    self.rtpTimestamp = rtpTimestamp
    self.packetCount = packetCount
    self.octetCount = octetCount
    self.blocks = blocks
  }

  init?(parsing reader: inout ByteReader, blocks count: Int) {
    guard let ssrc = reader.uint32(), let time = reader.uint64(), let timestamp = reader.uint32(),
      let packets = reader.uint32(), let octets = reader.uint32(),
      let blocks = ReportBlock.parse(&reader, count: count)
    else { return nil }
    self.init(
      ssrc: ssrc, ntpTime: NTPTime(value: time), rtpTimestamp: timestamp, packetCount: packets,
      octetCount: octets, blocks: blocks)
  }

  func write(to writer: inout ByteWriter) {
    RTCPPacket.write(
      type: RTCPPacket.PayloadType.senderReport, count: UInt8(min(blocks.count, 31)), to: &writer
    ) { writer in
      writer.uint32(ssrc)
      writer.uint64(ntpTime.value)
      writer.uint32(rtpTimestamp)
      writer.uint32(packetCount)
      writer.uint32(octetCount)
      for block in blocks.prefix(31) { block.write(to: &writer) }
    }
  }
}

/// RFC 3550, 6.4.2.
package struct ReceiverReport: Equatable, Sendable {
  package var ssrc: UInt32
  package var blocks: [ReportBlock]

  package init(ssrc: UInt32, blocks: [ReportBlock] = []) {
    self.ssrc = ssrc
    self.blocks = blocks
  }

  init?(parsing reader: inout ByteReader, blocks count: Int) {
    guard let ssrc = reader.uint32(), let blocks = ReportBlock.parse(&reader, count: count) else {
      return nil
    }
    self.init(ssrc: ssrc, blocks: blocks)
  }

  func write(to writer: inout ByteWriter) {
    RTCPPacket.write(
      type: RTCPPacket.PayloadType.receiverReport, count: UInt8(min(blocks.count, 31)), to: &writer
    ) { writer in
      writer.uint32(ssrc)
      for block in blocks.prefix(31) { block.write(to: &writer) }
    }
  }
}

/// One chunk of an SDES packet, of which only the CNAME is used (RFC 3550, 6.5).
package struct SourceDescription: Equatable, Sendable {
  package var ssrc: UInt32
  package var cname: String?

  package init(ssrc: UInt32, cname: String?) {
    self.ssrc = ssrc
    self.cname = cname
  }

  static func parse(_ reader: inout ByteReader, chunks count: Int) -> [SourceDescription]? {
    var chunks: [SourceDescription] = []
    for _ in 0..<count {
      guard let ssrc = reader.uint32() else { return nil }
      var chunk = SourceDescription(ssrc: ssrc, cname: nil)
      while true {
        guard let item = reader.uint8() else { return nil }
        if item == 0 {
          // Zeros up to the next multiple of four end a chunk.
          _ = reader.skip((4 - reader.position % 4) % 4)
          break
        }
        guard let size = reader.uint8(), let text = reader.slice(Int(size)) else { return nil }
        if item == 1 { chunk.cname = String(decoding: text, as: UTF8.self) }
      }
      chunks.append(chunk)
    }
    return chunks
  }

  static func write(_ chunks: [SourceDescription], to writer: inout ByteWriter) {
    RTCPPacket.write(
      type: RTCPPacket.PayloadType.sourceDescription, count: UInt8(min(chunks.count, 31)), to: &writer
    ) { writer in
      for chunk in chunks.prefix(31) {
        let start = writer.count
        writer.uint32(chunk.ssrc)
        if let cname = chunk.cname {
          let text = Array(cname.utf8.prefix(255))
          writer.uint8(1)
          writer.uint8(UInt8(text.count))
          text.withUnsafeBytes { writer.bytes($0) }
        }
        writer.zeros(4 - (writer.count - start) % 4)
      }
    }
  }
}
