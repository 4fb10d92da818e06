import Testing

@testable import Base

@Suite struct BytesTests {
  @Test func readsBigEndianInOrder() {
    let bytes: [UInt8] = [1, 0, 2, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 5, 9, 9]
    bytes.withUnsafeBytes { raw in
      var reader = ByteReader(raw)
      #expect(reader.uint8() == 1)
      #expect(reader.uint16() == 2)
      #expect(reader.uint24() == 3)
      #expect(reader.uint32() == 4)
      #expect(reader.uint64() == 5)
      #expect(reader.remaining == 2)
      #expect(Array(reader.rest()) == [9, 9])
      #expect(reader.isAtEnd)
    }
  }

  /// Every read at every length: nil behind the end, and nothing consumed then.
  @Test func readsBehindTheEndAreNil() {
    for length in 0..<9 {
      let bytes = [UInt8](repeating: 0xAB, count: length)
      bytes.withUnsafeBytes { raw in
        var reader = ByteReader(raw)
        #expect((reader.uint64() != nil) == (length >= 8))
        reader = ByteReader(raw)
        #expect((reader.uint32() != nil) == (length >= 4))
        reader = ByteReader(raw)
        #expect((reader.uint24() != nil) == (length >= 3))
        reader = ByteReader(raw)
        #expect((reader.uint16() != nil) == (length >= 2))
        reader = ByteReader(raw)
        #expect((reader.uint8() != nil) == (length >= 1))
        reader = ByteReader(raw)
        #expect(reader.slice(length + 1) == nil)
        #expect(reader.slice(-1) == nil)
        #expect(reader.skip(length + 1) == false)
        #expect(reader.skip(.min) == false)
        #expect(reader.position == 0)
        #expect(reader.skip(length) == true)
      }
    }
    var empty = ByteReader(UnsafeRawBufferPointer(start: nil, count: 0))
    #expect(empty.uint8() == nil)
    #expect(empty.rest().isEmpty)
  }

  @Test func writerDropsWhatDoesNotFit() {
    var memory = [UInt8](repeating: 0xEE, count: 8)
    memory.withUnsafeMutableBytes { raw in
      var writer = ByteWriter(raw)
      writer.uint16(0x0102)
      writer.uint24(0x030405)
      writer.uint32(0xFFFF_FFFF)
      #expect(writer.overflowed)
      #expect(writer.count == 5)
      writer.overwrite(uint16: 0xAABB, at: 0)
      writer.overwrite(uint16: 0xAABB, at: 4)
      #expect(Array(writer.written) == [0xAA, 0xBB, 3, 4, 5])
    }
    #expect(memory[5...] == [0xEE, 0xEE, 0xEE])
  }
}
