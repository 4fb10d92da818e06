/// Blocks of a pcapng file (draft-ietf-opsawg-pcapng). The link type is that of PDUs which Wireshark exports: with
/// each packet comes the name of what reads it, so that RTP needs no "decode as", and no invented UDP.
enum CaptureBlock {
  /// Wireshark's "upper PDU".
  private static let linkType: UInt16 = 252

  /// What a file begins with: a section, and its one interface, whose time is in µs.
  static var header: [UInt8] {
    var section = words(0x1A2B_3C4D)
    section += halves(1, 0)
    section += [UInt8](repeating: 0xFF, count: 8)  // of a length that is not said
    return block(0x0A0D_0D0A, section) + block(1, halves(linkType, 0) + words(0))
  }

  /// An enhanced packet.
  static func packet(_ packet: CapturedPacket) -> [UInt8] {
    var data = tag(12, Array(packet.kind.rawValue.utf8))
    let isLong = packet.source.bytes.count == 16
    data += tag(isLong ? 22 : 20, packet.source.bytes)
    data += tag(isLong ? 23 : 21, packet.destination.bytes)
    data += tag(24, [0, 0, 0, 3])  // UDP
    data += tag(25, [0, 0] + big(packet.source.port))
    data += tag(26, [0, 0] + big(packet.destination.port))
    data += tag(0, [])
    data += packet.bytes
    let count = UInt32(clamping: data.count)
    return block(
      6,
      words(0) + time(packet.time) + words(count, count) + padded(data)
        + option(2, words(packet.direction.rawValue)) + option(0, []))
  }

  /// What a file ends with: how many packets there were, and how many of them are not in it.
  static func statistics(packets: Int, dropped: Int, at microseconds: Int64) -> [UInt8] {
    block(
      5,
      words(0) + time(microseconds) + option(4, long(packets)) + option(5, long(dropped)) + option(0, []))
  }

  private static func block(_ type: UInt32, _ body: [UInt8]) -> [UInt8] {
    let length = UInt32(clamping: body.count + 12)
    return words(type, length) + body + words(length)
  }

  private static func option(_ code: UInt16, _ value: [UInt8]) -> [UInt8] {
    halves(code, UInt16(clamping: value.count)) + padded(value)
  }

  /// Of an exported PDU; these are in network order.
  private static func tag(_ code: UInt16, _ value: [UInt8]) -> [UInt8] {
    let value = padded(value)
    return big(code) + big(UInt16(clamping: value.count)) + value
  }

  private static func time(_ microseconds: Int64) -> [UInt8] {
    let time = UInt64(max(0, microseconds))
    return words(UInt32(time >> 32), UInt32(truncatingIfNeeded: time))
  }

  private static func padded(_ bytes: [UInt8]) -> [UInt8] {
    bytes + [UInt8](repeating: 0, count: -bytes.count & 3)
  }

  private static func big(_ value: UInt16) -> [UInt8] { [UInt8(value >> 8), UInt8(value & 255)] }

  private static func words(_ values: UInt32...) -> [UInt8] {
    values.flatMap { withUnsafeBytes(of: $0.littleEndian, Array.init) }
  }

  private static func halves(_ values: UInt16...) -> [UInt8] {
    values.flatMap { withUnsafeBytes(of: $0.littleEndian, Array.init) }
  }

  private static func long(_ value: Int) -> [UInt8] {
    withUnsafeBytes(of: UInt64(max(0, value)).littleEndian, Array.init)
  }
}
