import Base

/// Generic NACK: sequence numbers that did not arrive (RFC 4585, 6.2.1).
package struct NegativeAcknowledgement: Equatable, Sendable {
  static let format: UInt8 = 1

  package var sender: UInt32
  package var media: UInt32
  package var sequenceNumbers: [UInt16]

  package init(sender: UInt32, media: UInt32, sequenceNumbers: [UInt16]) {
    self.sender = sender
    self.media = media
    self.sequenceNumbers = sequenceNumbers
  }

  init?(parsing reader: inout ByteReader) {
    guard let sender = reader.uint32(), let media = reader.uint32(), reader.remaining >= 4 else { return nil }
    self.init(sender: sender, media: media, sequenceNumbers: [])
    while let first = reader.uint16(), let mask = reader.uint16() {
      sequenceNumbers.append(first)
      for bit in 0..<16 where mask >> bit & 1 != 0 {
        sequenceNumbers.append(first &+ UInt16(bit) &+ 1)
      }
    }
  }

  /// Numbers must be in ascending order (modulo 2^16) to be packed tightly.
  func write(to writer: inout ByteWriter) {
    RTCPPacket.write(
      type: RTCPPacket.PayloadType.transportSpecificFeedback, count: Self.format, to: &writer
    ) { writer in
      writer.uint32(sender)
      writer.uint32(media)
      var index = 0
      while index < sequenceNumbers.count {
        let first = sequenceNumbers[index]
        index += 1
        var mask: UInt16 = 0
        var last: UInt16 = 0
        while index < sequenceNumbers.count {
          let distance = sequenceNumbers[index] &- first
          guard distance > last, distance <= 16 else { break }
          mask |= 1 << (distance - 1)
          last = distance
          index += 1
        }
        writer.uint16(first)
        writer.uint16(mask)
      }
    }
  }
}

/// FIR: a new key frame, please, one for each new command number (RFC 5104, 4.3.1).
package struct FullIntraRequest: Equatable, Sendable {
  static let format: UInt8 = 4

  package struct Entry: Equatable, Sendable {
    package var ssrc: UInt32
    package var commandNumber: UInt8

    package init(ssrc: UInt32, commandNumber: UInt8) {
      self.ssrc = ssrc
      self.commandNumber = commandNumber
    }
  }

  package var sender: UInt32
  package var entries: [Entry]

  package init(sender: UInt32, entries: [Entry]) {
    self.sender = sender
    self.entries = entries
  }

  init?(parsing reader: inout ByteReader) {
    guard let sender = reader.uint32(), reader.uint32() != nil else { return nil }
    self.init(sender: sender, entries: [])
    while let ssrc = reader.uint32(), let word = reader.uint32() {
      entries.append(Entry(ssrc: ssrc, commandNumber: UInt8(word >> 24)))
    }
    if entries.isEmpty { return nil }
  }

  func write(to writer: inout ByteWriter) {
    RTCPPacket.write(
      type: RTCPPacket.PayloadType.payloadSpecificFeedback, count: Self.format, to: &writer
    ) { writer in
      writer.uint32(sender)
      writer.uint32(0)
      for entry in entries {
        writer.uint32(entry.ssrc)
        writer.uint32(UInt32(entry.commandNumber) << 24)
      }
    }
  }
}

/// REMB: how much the receiver thinks the way to it can carry (draft-alvestrand-rmcat-remb-03).
package struct ReceiverEstimatedMaximumBitrate: Equatable, Sendable {
  static let format: UInt8 = 15
  /// "REMB"
  static let uniqueIdentifier: UInt32 = 0x5245_4D42

  package var sender: UInt32
  package var bitsPerSecond: Int
  package var ssrcs: [UInt32]

  package init(sender: UInt32, bitsPerSecond: Int, ssrcs: [UInt32]) {
    self.sender = sender
    self.bitsPerSecond = bitsPerSecond
    self.ssrcs = ssrcs
  }

  /// Reads what follows the unique identifier.
  init?(parsingEntries reader: inout ByteReader, sender: UInt32) {
    guard let count = reader.uint8(), let rate = reader.uint24() else { return nil }
    let mantissa = UInt64(rate & 0x3FFFF)
    let exponent = UInt64(rate >> 18)
    let bits = mantissa.leadingZeroBitCount > exponent ? mantissa << exponent : UInt64.max
    self.init(sender: sender, bitsPerSecond: Int(clamping: bits), ssrcs: [])
    for _ in 0..<count {
      guard let ssrc = reader.uint32() else { return nil }
      ssrcs.append(ssrc)
    }
  }

  func write(to writer: inout ByteWriter) {
    RTCPPacket.write(
      type: RTCPPacket.PayloadType.payloadSpecificFeedback, count: Self.format, to: &writer
    ) { writer in
      writer.uint32(sender)
      writer.uint32(0)
      writer.uint32(Self.uniqueIdentifier)
      writer.uint8(UInt8(min(ssrcs.count, 255)))
      let bits = UInt64(max(0, bitsPerSecond))
      let exponent = max(0, 64 - bits.leadingZeroBitCount - 18)
      writer.uint24(UInt32(exponent) << 18 | UInt32(bits >> UInt64(exponent)))
      for ssrc in ssrcs.prefix(255) { writer.uint32(ssrc) }
    }
  }
}
