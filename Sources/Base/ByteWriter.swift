/// Writes big-endian values into memory of a fixed size. Writes that do not fit are dropped whole and
/// remembered in `overflowed`; it never traps. The memory must outlive the writer.
package struct ByteWriter {
  package let memory: UnsafeMutableRawBufferPointer
  package private(set) var count = 0
  package private(set) var overflowed = false

  package init(_ memory: UnsafeMutableRawBufferPointer) {
    self.memory = memory
  }

  /// What has been written so far.
  package var written: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(memory)[0..<count])
  }

  package mutating func uint8(_ value: UInt8) {
    guard reserve(1) else { return }
    memory[count] = value
    count += 1
  }

  package mutating func uint16(_ value: UInt16) { store(value.bigEndian) }

  package mutating func uint24(_ value: UInt32) {
    guard reserve(3) else { return }
    memory[count] = UInt8(truncatingIfNeeded: value >> 16)
    memory[count + 1] = UInt8(truncatingIfNeeded: value >> 8)
    memory[count + 2] = UInt8(truncatingIfNeeded: value)
    count += 3
  }

  package mutating func uint32(_ value: UInt32) { store(value.bigEndian) }
  package mutating func uint64(_ value: UInt64) { store(value.bigEndian) }

  package mutating func bytes(_ source: UnsafeRawBufferPointer) {
    guard reserve(source.count), source.count > 0 else { return }
    UnsafeMutableRawBufferPointer(rebasing: memory[count..<count + source.count]).copyMemory(from: source)
    count += source.count
  }

  package mutating func zeros(_ number: Int) {
    guard number > 0, reserve(number) else { return }
    UnsafeMutableRawBufferPointer(rebasing: memory[count..<count + number]).initializeMemory(
      as: UInt8.self, repeating: 0)
    count += number
  }

  /// Overwrites two bytes that have been written before, such as a length; ignored elsewhere.
  package mutating func overwrite(uint16 value: UInt16, at offset: Int) {
    guard offset >= 0, offset + 2 <= count else { return }
    memory.storeBytes(of: value.bigEndian, toByteOffset: offset, as: UInt16.self)
  }

  private mutating func store<T: FixedWidthInteger>(_ value: T) {
    guard reserve(MemoryLayout<T>.size) else { return }
    memory.storeBytes(of: value, toByteOffset: count, as: T.self)
    count += MemoryLayout<T>.size
  }

  private mutating func reserve(_ number: Int) -> Bool {
    if memory.count - count >= number { return true }
    overflowed = true
    return false
  }
}
