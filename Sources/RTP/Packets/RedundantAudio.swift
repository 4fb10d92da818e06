import Base

/// Sound that carries earlier sound once more: `audio/red` (RFC 2198, 3).
///
/// ```
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |1|  block PT   |      timestamp offset     |   block length    |  an earlier one: 4 octets
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |0|  block PT   |  the last one: 1 octet; then the blocks in the same order
/// +-+-+-+-+-+-+-+-+
/// ```
struct RedundantAudio {
  /// Timestamps reach back less than this.
  static let offsetLimit: UInt32 = 1 << 14
  static let maximumBlockSize = (1 << 10) - 1
  static let redundantHeaderSize = 4
  static let primaryHeaderSize = 1
  /// More is nobody's redundancy.
  private static let maximumBlocks = 32

  struct Block {
    var payloadType: UInt8
    /// How much older than the packet's timestamp.
    var timestampOffset: UInt32
    var bytes: UnsafeRawBufferPointer
  }

  /// The packet's own sound.
  let primary: Block
  private let headers: UnsafeRawBufferPointer
  private let contents: UnsafeRawBufferPointer

  /// Nil if a length points behind the end. The pointers are valid as long as `payload` is.
  init?(parsing payload: UnsafeRawBufferPointer) {
    var reader = ByteReader(payload)
    var size = 0
    var count = 0
    while true {
      guard let first = reader.uint8() else { return nil }
      if first & 0x80 == 0 {
        headers = UnsafeRawBufferPointer(rebasing: payload[..<(count * Self.redundantHeaderSize)])
        contents = reader.rest()
        guard size <= contents.count else { return nil }
        primary = Block(
          payloadType: first, timestampOffset: 0, bytes: UnsafeRawBufferPointer(rebasing: contents[size...]))
        return
      }
      guard let rest = reader.uint24(), count < Self.maximumBlocks else { return nil }
      count += 1
      size += Int(rest & 0x3FF)
    }
  }

  /// The earlier sound, in the order it is in; blocks without content are left out.
  func forEachRedundant(_ body: (Block) -> Void) {
    var reader = ByteReader(headers)
    var bytes = ByteReader(contents)
    while let type = reader.uint8(), let rest = reader.uint24(), let content = bytes.slice(Int(rest & 0x3FF))
    {
      guard !content.isEmpty else { continue }
      body(Block(payloadType: type & 0x7F, timestampOffset: rest >> 10, bytes: content))
    }
  }

  static func writeHeader(payloadType: UInt8, timestampOffset: UInt32, size: Int, to writer: inout ByteWriter)
  {
    writer.uint8(0x80 | payloadType & 0x7F)
    writer.uint24((timestampOffset & (offsetLimit - 1)) << 10 | UInt32(truncatingIfNeeded: size & 0x3FF))
  }

  static func writePrimaryHeader(payloadType: UInt8, to writer: inout ByteWriter) {
    writer.uint8(payloadType & 0x7F)
  }
}
