import Base
import Testing

@testable import RTP

@Suite struct VP8PayloadTests {
  private func parse(_ bytes: [UInt8]) -> (VP8PayloadDescriptor?, rest: Int) {
    bytes.withUnsafeBytes { bytes in
      var reader = ByteReader(bytes)
      let descriptor = VP8PayloadDescriptor(parsing: &reader)
      return (descriptor, reader.remaining)
    }
  }

  private func bytes(_ descriptor: VP8PayloadDescriptor) -> [UInt8] {
    withUnsafeTemporaryAllocation(byteCount: 8, alignment: 1) { memory in
      var writer = ByteWriter(memory)
      descriptor.write(to: &writer)
      #expect(writer.count == descriptor.count)
      return Array(writer.written)
    }
  }

  @Test func theShortestDescriptor() {
    let (descriptor, rest) = parse([0x10, 0xAA])
    #expect(descriptor?.startsFrame == true)
    #expect(descriptor?.pictureID == nil && rest == 1)
  }

  /// The examples of RFC 7741, 4.2 and everything at once.
  @Test func allFields() {
    var all = VP8PayloadDescriptor()
    all.isDiscardable = true
    all.startsPartition = true
    all.partitionIndex = 3
    all.pictureID = 0x1234
    all.tl0PictureIndex = 0x56
    all.temporalLayer = 2
    all.layerSync = true
    all.keyIndex = 9
    let vector: [UInt8] = [0xB3, 0xF0, 0x92, 0x34, 0x56, 0xA9]
    #expect(bytes(all) == vector)
    #expect(parse(vector).0 == all)
    #expect(!all.startsFrame)

    var short = VP8PayloadDescriptor()
    short.pictureID = 0x11
    short.hasLongPictureID = false
    #expect(bytes(short) == [0x80, 0x80, 0x11])
    #expect(parse([0x80, 0x80, 0x11]).0 == short)

    var keyIndexOnly = VP8PayloadDescriptor()
    keyIndexOnly.keyIndex = 31
    #expect(bytes(keyIndexOnly) == [0x80, 0x10, 0x1F])
    #expect(parse([0x80, 0x10, 0x1F]).0 == keyIndexOnly)
  }

  @Test(
    arguments: [[], [0x80], [0x80, 0x80], [0x80, 0x80, 0x80], [0x80, 0x40], [0x80, 0x20]] as [[UInt8]])
  func endsTooSoon(bytes: [UInt8]) { #expect(parse(bytes).0 == nil) }

  @Test func framesAreCutEvenly() {
    #expect(Array(VP8Packetizer(frameSize: 10, maximum: 4)) == [0..<4, 4..<7, 7..<10])
    #expect(Array(VP8Packetizer(frameSize: 4, maximum: 4)) == [0..<4])
    #expect(Array(VP8Packetizer(frameSize: 0, maximum: 4)).isEmpty)
    #expect(Array(VP8Packetizer(frameSize: 4, maximum: 0)).isEmpty)
    for size in 1...3000 {
      let pieces = Array(VP8Packetizer(frameSize: size, maximum: 1000))
      #expect(pieces.count == (size + 999) / 1000)
      #expect(pieces.last?.upperBound == size)
      let sizes = pieces.map(\.count)
      #expect(sizes.max()! - sizes.min()! <= 1)
    }
  }

  @Test func keyFramesAreKnownByTheirStartCode() {
    func isKey(_ bytes: [UInt8]) -> Bool? { bytes.withUnsafeBytes { VP8FrameHeader.isKeyFrame($0) } }
    #expect(isKey([0x10, 0, 0, 0x9D, 1, 0x2A, 0x40, 1, 0xF0, 0]) == true)
    #expect(isKey([0x11, 0, 0]) == false)
    #expect(isKey([0x10, 0, 0, 0x9D, 1, 0x2B, 0x40, 1, 0xF0, 0]) == nil)
    #expect(isKey([0x10, 0, 0]) == nil)
    #expect(isKey([0x11, 0]) == nil)
    #expect(isKey([]) == nil)
  }
}
