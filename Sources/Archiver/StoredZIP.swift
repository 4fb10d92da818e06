import Base
import Glibc
import SessionServer

/// Writes a ZIP file whose members are stored as they are: media does not get smaller (APPNOTE.TXT 6.3.10).
/// Members and file may be larger than 4 GB (ZIP64).
struct StoredZIP: ~Copyable {
  private let path: String
  private let descriptor: Int32
  private var directory: [UInt8] = []
  private var members = 0
  private var position: UInt64 = 0

  private static let blockSize = 1 << 20
  private static let small: UInt64 = 0xFFFF_FFFF

  /// Replaces what is there.
  init(path: String) throws(ArchiveError) {
    self.path = path
    descriptor = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else { throw Self.failure }
  }

  deinit { close(descriptor) }

  private static var failure: ArchiveError { .output(String(cString: strerror(errno))) }

  /// - Parameter name: UTF-8, without folders.
  mutating func add(_ name: String, contentsOf file: String) throws(ArchiveError) {
    let source = open(file, O_RDONLY | O_CLOEXEC)
    guard source >= 0 else { throw Self.failure }
    defer { close(source) }
    var status = stat()
    guard fstat(source, &status) == 0, status.st_size >= 0 else { throw Self.failure }
    let header = position
    // Its checksum is known when it has been copied.
    try write(localHeader(name, size: UInt64(status.st_size), checksum: 0))
    var checksum = CRC32()
    var size: UInt64 = 0
    var block = [UInt8](repeating: 0, count: Self.blockSize)
    while true {
      let count = read(source, &block, block.count)
      guard count >= 0 else { throw Self.failure }
      if count == 0 { break }
      checksum.add(block[..<count])
      size += UInt64(count)
      try write(Array(block[..<count]))
    }
    try finish(name, at: header, size: size, checksum: checksum.value)
  }

  mutating func add(_ name: String, _ content: [UInt8]) throws(ArchiveError) {
    let header = position
    var checksum = CRC32()
    checksum.add(content[...])
    try write(localHeader(name, size: UInt64(content.count), checksum: checksum.value))
    try write(content)
    try finish(name, at: header, size: UInt64(content.count), checksum: checksum.value)
  }

  private mutating func finish(
    _ name: String, at header: UInt64, size: UInt64, checksum: UInt32
  ) throws(ArchiveError) {
    let bytes = localHeader(name, size: size, checksum: checksum)
    guard pwrite(descriptor, bytes, bytes.count, off_t(header)) == bytes.count else { throw Self.failure }
    members += 1
    directory += centralHeader(name, at: header, size: size, checksum: checksum)
  }

  /// 4.3.7. Always of the same length for a name.
  private func localHeader(_ name: String, size: UInt64, checksum: UInt32) -> [UInt8] {
    var bytes = little(0x0403_4B50 as UInt32) + common(checksum)
    bytes += little(UInt32(Self.small)) + little(UInt32(Self.small))
    bytes += little(UInt16(name.utf8.count)) + little(20 as UInt16) + name.utf8
    return bytes + little(1 as UInt16) + little(16 as UInt16) + little(size) + little(size)
  }

  /// 4.3.12.
  private func centralHeader(_ name: String, at header: UInt64, size: UInt64, checksum: UInt32) -> [UInt8] {
    var bytes = little(0x0201_4B50 as UInt32) + little(0x032D as UInt16) + common(checksum)
    bytes += little(UInt32(Self.small)) + little(UInt32(Self.small))
    bytes += little(UInt16(name.utf8.count)) + little(28 as UInt16)
    // No comment, disk 0, no internal attributes; a plain file with the usual rights.
    bytes += little(0 as UInt16) + little(0 as UInt16) + little(0 as UInt16)
    bytes += little(UInt32(0o100644) << 16) + little(UInt32(Self.small)) + name.utf8
    return bytes + little(1 as UInt16) + little(24 as UInt16) + little(size) + little(size) + little(header)
  }

  /// Version 4.5 for ZIP64; names are UTF-8; stored; no time of day, 1 January 1980; checksum.
  private func common(_ checksum: UInt32) -> [UInt8] {
    little(45 as UInt16) + little(0x0800 as UInt16) + little(0 as UInt16) + little(0 as UInt16)
      + little(0x21 as UInt16) + little(checksum)
  }

  /// Writes the directory (4.3.14 to 4.3.16), and everything to the disk.
  mutating func finish() throws(ArchiveError) {
    let start = position
    let count = UInt64(members)
    try write(directory)
    let end = position
    var bytes = little(0x0606_4B50 as UInt32) + little(44 as UInt64) + little(45 as UInt16)
    bytes += little(45 as UInt16) + little(0 as UInt32) + little(0 as UInt32) + little(count) + little(count)
    bytes += little(end - start) + little(start)
    bytes += little(0x0706_4B50 as UInt32) + little(0 as UInt32) + little(end) + little(1 as UInt32)
    bytes += little(0x0605_4B50 as UInt32) + little(0 as UInt16) + little(0 as UInt16)
    bytes += little(0xFFFF as UInt16) + little(0xFFFF as UInt16) + little(UInt32(Self.small))
    bytes += little(UInt32(Self.small)) + little(0 as UInt16)
    try write(bytes)
    guard fsync(descriptor) == 0 else { throw Self.failure }
  }

  private mutating func write(_ bytes: [UInt8]) throws(ArchiveError) {
    if let number = DescriptorOutput.write(bytes, to: descriptor) {
      throw .output(String(cString: strerror(number)))
    }
    position += UInt64(bytes.count)
  }
}

private func little(_ value: some FixedWidthInteger) -> [UInt8] {
  withUnsafeBytes(of: value.littleEndian) { Array($0) }
}
