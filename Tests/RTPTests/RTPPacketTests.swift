import Base
import Testing

@testable import RTP

@Suite struct RTPPacketTests {
  @Test func theFixedHeader() throws {
    let bytes: [UInt8] = [0x80, 0xE0, 0x12, 0x34, 0xDE, 0xAD, 0xBE, 0xEF, 1, 2, 3, 4, 9, 8]
    try bytes.withUnsafeBytes { bytes in
      let packet = try #require(RTPPacket(parsing: bytes))
      #expect(packet.marker)
      #expect(packet.payloadType == 96)
      #expect(packet.sequenceNumber == 0x1234)
      #expect(packet.timestamp == 0xDEAD_BEEF)
      #expect(packet.ssrc == 0x0102_0304)
      #expect(Array(packet.payload) == [9, 8])
      #expect(packet.paddingCount == 0)
      #expect(packet.contributingSourceCount == 0)
    }
  }

  @Test func sourcesExtensionAndPadding() throws {
    let bytes: [UInt8] = [
      0xB2, 0x6F, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3,  // P, X, two CSRCs
      0, 0, 0, 0x0A, 0, 0, 0, 0x0B,
      0xBE, 0xDE, 0, 3,  // RFC 8285, 4.2
      0x10, 0xAA, 0x21, 0xBB, 0xCC, 0, 0, 0x33, 1, 2, 3, 4,
      0x78, 0x79, 0, 0, 3,
    ]
    try bytes.withUnsafeBytes { bytes in
      let packet = try #require(RTPPacket(parsing: bytes))
      #expect((0..<2).map { packet.contributingSource($0) } == [10, 11])
      #expect(packet.paddingCount == 3)
      #expect(Array(packet.payload) == [0x78, 0x79])
      var elements: [UInt8: [UInt8]] = [:]
      packet.forEachExtension { elements[$0] = Array($1) }
      #expect(elements == [1: [0xAA], 2: [0xBB, 0xCC], 3: [1, 2, 3, 4]])
    }
  }

  @Test func twoByteExtensions() throws {
    let bytes: [UInt8] = [
      0x90, 96, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3,
      0x10, 0x05, 0, 3,  // RFC 8285, 4.3; the low bits are the application's
      0x14, 0, 0x15, 2, 7, 8, 0, 0x16, 3, 1, 2, 3,
    ]
    try bytes.withUnsafeBytes { bytes in
      let packet = try #require(RTPPacket(parsing: bytes))
      var elements: [UInt8: [UInt8]] = [:]
      packet.forEachExtension { elements[$0] = Array($1) }
      #expect(elements == [20: [], 21: [7, 8], 22: [1, 2, 3]])
      #expect(packet.payload.isEmpty)
    }
  }

  @Test func id15EndsOneByteExtensions() throws {
    let bytes: [UInt8] = [
      0x90, 96, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0xBE, 0xDE, 0, 2, 0x10, 5, 0xF0, 6, 0x20, 7, 0, 0,
    ]
    try bytes.withUnsafeBytes { bytes in
      let packet = try #require(RTPPacket(parsing: bytes))
      var ids: [UInt8] = []
      packet.forEachExtension { id, _ in ids.append(id) }
      #expect(ids == [1])
    }
  }

  @Test(
    arguments: [
      [], [0x80], [UInt8](repeating: 0x80, count: 11),
      [0x40, 96, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3],  // version 1
      [0x81, 96, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3],  // a source that is not there
      [0x90, 96, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0xBE, 0xDE],  // half an extension header
      [0x90, 96, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0xBE, 0xDE, 0xFF, 0xFF, 0, 0, 0, 0],  // a lying length
      [0xA0, 96, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 7, 7, 0],  // padding of nothing
      [0xA0, 96, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 7, 7, 4],  // padding beyond the payload
    ] as [[UInt8]])
  func isRefused(bytes: [UInt8]) {
    bytes.withUnsafeBytes { #expect(RTPPacket(parsing: $0) == nil) }
  }

  @Test func onlyPadding() throws {
    let bytes: [UInt8] = [0xA0, 96, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4]
    try bytes.withUnsafeBytes { bytes in
      let packet = try #require(RTPPacket(parsing: bytes))
      #expect(packet.payload.isEmpty && packet.paddingCount == 4)
    }
  }

  @Test func rtcpIsToldFromRTP() {
    for type in UInt8.min...UInt8.max {
      [0x80, type].withUnsafeBytes { #expect(RTPPacket.isRTCP($0) == (192...223).contains(type)) }
    }
    [UInt8]().withUnsafeBytes { #expect(!RTPPacket.isRTCP($0)) }
  }

  @Test func theTemplateWritesWhatTheParserReads() throws {
    for (id, mid) in [(4, "0"), (4, "a mid of more than sixteen octets"), (200, "x")] as [(UInt8, String)] {
      var map = HeaderExtensionMap()
      map.mid = id
      map.absoluteSendTime = 2
      map.transportSequenceNumber = 3
      map.audioLevel = 1
      map.playoutDelay = 5
      let template = RTPHeaderTemplate(ssrc: 0xAABB_CCDD, payloadType: 111, mid: mid, extensions: map)
      try withUnsafeTemporaryAllocation(byteCount: 200, alignment: 1) { memory in
        var writer = ByteWriter(memory)
        template.write(to: &writer, marker: true, sequenceNumber: 7, timestamp: 8, audioLevel: 30)
        #expect(writer.count == template.count && writer.count % 4 == 0)
        let time = try #require(template.absoluteSendTimeOffset)
        memory[time] = 1
        memory[time + 1] = 2
        memory[time + 2] = 3
        let number = try #require(template.transportSequenceNumberOffset)
        memory.storeBytes(of: UInt16(0x1234).bigEndian, toByteOffset: number, as: UInt16.self)
        writer.uint8(99)
        let packet = try #require(RTPPacket(parsing: writer.written))
        #expect(packet.marker && packet.payloadType == 111 && packet.ssrc == 0xAABB_CCDD)
        #expect(packet.sequenceNumber == 7 && packet.timestamp == 8)
        #expect(Array(packet.payload) == [99])
        let values = HeaderExtensionValues(of: packet, by: map)
        #expect(values.mid.map { String(decoding: $0, as: UTF8.self) } == mid)
        #expect(values.absoluteSendTime == 0x010203)
        #expect(values.transportSequenceNumber == 0x1234)
        #expect(values.audioLevel == 30)
        // Until it is filled in, whatever the receiver thinks best.
        let delay = try #require(values.playoutDelay)
        #expect(delay == (0, 0xFFF))
      }
    }
  }

  @Test func playoutDelay() throws {
    var map = HeaderExtensionMap()
    map.playoutDelay = 6
    let bytes: [UInt8] = [
      0x90, 96, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0xBE, 0xDE, 0, 1, 0x62, 0x00, 0xA0, 0x14,
    ]
    try bytes.withUnsafeBytes { bytes in
      let values = HeaderExtensionValues(of: try #require(RTPPacket(parsing: bytes)), by: map)
      #expect(values.playoutDelay?.minimum == 10)
      #expect(values.playoutDelay?.maximum == 20)
    }
  }
}
