import Base

/// A received RTP packet, read in place (RFC 3550, 5.1). It is valid as long as the memory it was made of.
///
/// ```
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |V=2|P|X|  CC   |M|     PT      |       sequence number         |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                           timestamp                           |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                             SSRC                              |
/// +=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+=+
/// |                  CSRCs (CC), extension (X)                    |
/// ```
package struct RTPPacket {
  package let bytes: UnsafeRawBufferPointer
  package let marker: Bool
  package let payloadType: UInt8
  package let sequenceNumber: UInt16
  package let timestamp: UInt32
  package let ssrc: UInt32
  /// Octets of padding, the count octet included.
  package let paddingCount: Int
  /// What stands between header and padding.
  package let payload: UnsafeRawBufferPointer
  private let extensionOffset: Int
  private let extensionCount: Int
  private let extensionProfile: UInt16

  package static let fixedHeaderSize = 12

  /// Whether a packet that arrived on an RTP port is RTCP rather than RTP (RFC 5761, 4).
  package static func isRTCP(_ bytes: UnsafeRawBufferPointer) -> Bool {
    bytes.count >= 2 && (192...223).contains(bytes[1])
  }

  /// Nil if it is no RTP packet of version 2, or if a length in it points outside.
  package init?(parsing bytes: UnsafeRawBufferPointer) {
    guard bytes.count >= Self.fixedHeaderSize, bytes[0] >> 6 == 2 else { return nil }
    self.bytes = bytes
    marker = bytes[1] & 0x80 != 0
    payloadType = bytes[1] & 0x7F
    sequenceNumber = UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self))
    timestamp = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
    ssrc = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt32.self))
    var offset = Self.fixedHeaderSize + 4 * Int(bytes[0] & 0x0F)
    if bytes[0] & 0x10 != 0 {
      guard bytes.count >= offset + 4 else { return nil }
      extensionProfile = UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt16.self))
      let words = UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: offset + 2, as: UInt16.self))
      extensionOffset = offset + 4
      extensionCount = 4 * Int(words)
      offset = extensionOffset + extensionCount
    } else {
      extensionProfile = 0
      extensionOffset = offset
      extensionCount = 0
    }
    guard bytes.count >= offset else { return nil }
    if bytes[0] & 0x20 != 0 {
      paddingCount = Int(bytes[bytes.count - 1])
      guard paddingCount >= 1, bytes.count - paddingCount >= offset else { return nil }
    } else {
      paddingCount = 0
    }
    payload = UnsafeRawBufferPointer(rebasing: bytes[offset..<bytes.count - paddingCount])
  }

  package var contributingSourceCount: Int { Int(bytes[0] & 0x0F) }

  /// - Precondition: `index` is below `contributingSourceCount`.
  package func contributingSource(_ index: Int) -> UInt32 {
    UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 12 + 4 * index, as: UInt32.self))
  }

  /// Calls `body` for every header extension element of either form (RFC 8285, 4.2 and 4.3). What is
  /// malformed ends the walk.
  package func forEachExtension(_ body: (_ id: UInt8, _ value: UnsafeRawBufferPointer) -> Void) {
    guard extensionCount > 0 else { return }
    var reader = ByteReader(
      UnsafeRawBufferPointer(rebasing: bytes[extensionOffset..<extensionOffset + extensionCount]))
    if extensionProfile == 0xBEDE {
      while let octet = reader.uint8() {
        if octet == 0 { continue }
        let id = octet >> 4
        // 15 is reserved: processing stops there (RFC 8285, 4.2).
        guard id != 15, let value = reader.slice(Int(octet & 0x0F) + 1) else { return }
        if id != 0 { body(id, value) }
      }
    } else if extensionProfile & 0xFFF0 == 0x1000 {
      while let id = reader.uint8() {
        if id == 0 { continue }
        guard let count = reader.uint8(), let value = reader.slice(Int(count)) else { return }
        body(id, value)
      }
    }
  }
}
