/// Reads big-endian values from bytes that a stranger may have sent: every read is checked and
/// answers nil behind the end. It never traps. The memory must outlive the reader.
package struct ByteReader {
  package let bytes: UnsafeRawBufferPointer
  package private(set) var position = 0

  @inlinable
  package init(_ bytes: UnsafeRawBufferPointer) {
    self.bytes = bytes
  }

  package var remaining: Int { bytes.count - position }
  package var isAtEnd: Bool { position >= bytes.count }

  package mutating func uint8() -> UInt8? {
    guard remaining >= 1 else { return nil }
    defer { position += 1 }
    return bytes[position]
  }

  package mutating func uint16() -> UInt16? {
    guard remaining >= 2 else { return nil }
    defer { position += 2 }
    return UInt16(bytes[position]) << 8 | UInt16(bytes[position + 1])
  }

  package mutating func uint24() -> UInt32? {
    guard remaining >= 3 else { return nil }
    defer { position += 3 }
    return UInt32(bytes[position]) << 16 | UInt32(bytes[position + 1]) << 8 | UInt32(bytes[position + 2])
  }

  package mutating func uint32() -> UInt32? {
    guard remaining >= 4 else { return nil }
    defer { position += 4 }
    return UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt32.self))
  }

  package mutating func uint64() -> UInt64? {
    guard remaining >= 8 else { return nil }
    defer { position += 8 }
    return UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
  }

  /// The next `count` bytes, in place.
  package mutating func slice(_ count: Int) -> UnsafeRawBufferPointer? {
    guard count >= 0, remaining >= count else { return nil }
    defer { position += count }
    return UnsafeRawBufferPointer(rebasing: bytes[position..<position + count])
  }

  /// Everything that is left, in place.
  package mutating func rest() -> UnsafeRawBufferPointer {
    defer { position = bytes.count }
    return UnsafeRawBufferPointer(rebasing: bytes[position...])
  }

  /// False, and nothing skipped, if fewer than `count` bytes are left.
  package mutating func skip(_ count: Int) -> Bool {
    guard count >= 0, remaining >= count else { return false }
    position += count
    return true
  }
}
