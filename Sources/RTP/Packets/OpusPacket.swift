/// What the first octets of an Opus packet say (RFC 6716, 3.1).
package enum OpusPacket {
  /// The longest a packet may be: 120 ms at 48 kHz.
  package static let maximumSamples = 5760

  /// How much sound it holds, in samples at 48 kHz; nil if it is malformed.
  package static func samples(_ packet: [UInt8]) -> Int? { packet.withUnsafeBytes { samples($0) } }

  static func samples(_ packet: UnsafeRawBufferPointer) -> Int? {
    guard let toc = packet.first else { return nil }
    let configuration = Int(toc >> 3)
    let frame: Int
    switch configuration {
    case 0..<12: frame = [480, 960, 1920, 2880][configuration & 3]  // SILK
    case 12..<16: frame = [480, 960][configuration & 1]  // hybrid
    default: frame = [120, 240, 480, 960][configuration & 3]  // CELT
    }
    let frames: Int
    switch toc & 3 {
    case 0: frames = 1
    case 1, 2: frames = 2
    default:
      guard packet.count >= 2 else { return nil }
      frames = Int(packet[1] & 0x3F)
    }
    let samples = frame * frames
    return samples > 0 && samples <= maximumSamples ? samples : nil
  }

  /// Whether it carries the sound of the packet before once more, at a lower bitrate: in-band FEC
  /// (RFC 6716, 2.1.7 and 4.2.4). Packets of several frames of different sizes count as without.
  package static func hasFEC(_ packet: [UInt8]) -> Bool {
    guard packet.count >= 2 else { return false }
    let configuration = Int(packet[0] >> 3)
    // CELT alone has none; one or two equal frames begin right behind the first octet.
    guard configuration < 16, packet[0] & 3 < 2 else { return false }
    let silkFrames = configuration < 12 ? [1, 1, 2, 3][configuration & 3] : 1
    // One bit a SILK frame for voice activity, then the flag; for both channels if there are two.
    let isMiddleMarked = packet[1] >> (7 - silkFrames) & 1 != 0
    guard packet[0] & 4 != 0 else { return isMiddleMarked }
    return isMiddleMarked || silkFrames < 3 && packet[1] >> (6 - 2 * silkFrames) & 1 != 0
  }

  /// Whether it only says that there is nothing to hear (discontinuous transmission: RFC 6716, 2.1.9).
  package static func isDiscontinuous(_ packet: [UInt8]) -> Bool { packet.count <= 2 }
}
