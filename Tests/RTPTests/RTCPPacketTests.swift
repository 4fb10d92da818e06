import Base
import Testing

@testable import RTP

@Suite struct RTCPPacketTests {
  private func parse(_ bytes: [UInt8]) -> (packets: [RTCPPacket], isWellFormed: Bool) {
    var packets: [RTCPPacket] = []
    let isWellFormed = bytes.withUnsafeBytes { RTCPPacket.parse($0) { packets.append($0) } }
    return (packets, isWellFormed)
  }

  private func bytes(_ packets: RTCPPacket...) -> [UInt8] {
    withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { memory in
      var writer = ByteWriter(memory)
      for packet in packets { packet.write(to: &writer) }
      return Array(writer.written)
    }
  }

  private let block = ReportBlock(
    ssrc: 0x0102_0304, fractionLost: 0x40, cumulativeLost: -3, extendedHighestSequenceNumber: 0x0001_0005,
    jitter: 7, lastSenderReport: 0x1122_3344, delaySinceLastSenderReport: 0x0001_0000)

  private let blockBytes: [UInt8] = [
    1, 2, 3, 4, 0x40, 0xFF, 0xFF, 0xFD, 0, 1, 0, 5, 0, 0, 0, 7, 0x11, 0x22, 0x33, 0x44, 0, 1, 0, 0,
  ]

  @Test func extendedReport() {
    let vector: [UInt8] = [
      0x80, 207, 0, 8, 0xAA, 0xBB, 0xCC, 0xDD,  //
      4, 0, 0, 2, 0xE0, 0, 0, 1, 0x80, 0, 0, 0,  //
      5, 0, 0, 3, 1, 2, 3, 4, 0, 1, 0x80, 0, 0, 0, 0x40, 0,
    ]
    let packet = RTCPPacket.extendedReport(
      ExtendedReport(
        ssrc: 0xAABB_CCDD, referenceTime: NTPTime(value: 0xE000_0001_8000_0000),
        delays: [.init(ssrc: 0x0102_0304, lastReceiverReport: 0x0001_8000, delay: 0x4000)]))
    #expect(parse(vector) == ([packet], true))
    #expect(bytes(packet) == vector)
    // Another block, here statistics, is passed over; one that points outside is malformed.
    let other: [UInt8] = [0x80, 207, 0, 3, 0, 0, 0, 9, 6, 0, 0, 1, 1, 2, 3, 4]
    #expect(parse(other) == ([.extendedReport(ExtendedReport(ssrc: 9))], true))
    #expect(parse([0x80, 207, 0, 2, 0, 0, 0, 9, 6, 0, 0, 1]) == ([], false))
    #expect(parse([0x80, 207, 0, 3, 0, 0, 0, 9, 4, 0, 0, 1, 1, 2, 3, 4]) == ([], false))
  }

  @Test func senderReport() {
    let vector: [UInt8] =
      [
        0x81, 200, 0, 12, 0xAA, 0xBB, 0xCC, 0xDD, 0xE0, 0, 0, 1, 0x80, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 5, 0, 0,
        1, 0,
      ]
      + blockBytes
    let packet = RTCPPacket.senderReport(
      SenderReport(
        ssrc: 0xAABB_CCDD, ntpTime: NTPTime(value: 0xE000_0001_8000_0000), rtpTimestamp: 9, packetCount: 5,
        octetCount: 256, blocks: [block]))
    #expect(parse(vector) == ([packet], true))
    #expect(bytes(packet) == vector)
  }

  @Test func receiverReport() {
    let vector: [UInt8] = [0x81, 201, 0, 7, 0, 0, 0, 1] + blockBytes
    let packet = RTCPPacket.receiverReport(ReceiverReport(ssrc: 1, blocks: [block]))
    #expect(parse(vector) == ([packet], true))
    #expect(bytes(packet) == vector)
  }

  @Test func sourceDescription() {
    // "ab" leaves no room for its end in the word: a whole word of zeros follows "abcdef".
    let vector: [UInt8] = [
      0x82, 202, 0, 7, 0, 0, 0, 1, 1, 2, 0x61, 0x62, 0, 0, 0, 0,
      0, 0, 0, 2, 1, 6, 0x61, 0x62, 0x63, 0x64, 0x65, 0x66, 0, 0, 0, 0,
    ]
    let packet = RTCPPacket.sourceDescription([
      SourceDescription(ssrc: 1, cname: "ab"), SourceDescription(ssrc: 2, cname: "abcdef"),
    ])
    #expect(parse(vector) == ([packet], true))
    #expect(bytes(packet) == vector)
    // Other items are skipped.
    let tool: [UInt8] = [0x81, 202, 0, 3, 0, 0, 0, 1, 6, 1, 0x78, 1, 1, 0x79, 0, 0]
    #expect(parse(tool).packets == [.sourceDescription([SourceDescription(ssrc: 1, cname: "y")])])
  }

  @Test func goodbyeWithAReason() {
    let vector: [UInt8] = [0x81, 203, 0, 2, 0, 0, 0, 9, 3, 0x62, 0x79, 0x65]
    #expect(parse(vector) == ([.goodbye(ssrcs: [9])], true))
    #expect(bytes(.goodbye(ssrcs: [9])) == [0x81, 203, 0, 1, 0, 0, 0, 9])
  }

  @Test func nack() {
    let vector: [UInt8] = [
      0x81, 205, 0, 4, 0, 0, 0, 1, 0, 0, 0, 2, 0xFF, 0xFE, 0x80, 0x03, 0x01, 0x00, 0, 0,
    ]
    let packet = RTCPPacket.nack(
      NegativeAcknowledgement(sender: 1, media: 2, sequenceNumbers: [0xFFFE, 0xFFFF, 0, 14, 256]))
    #expect(parse(vector) == ([packet], true))
    #expect(bytes(packet) == vector)
  }

  @Test func keyFrameRequests() {
    let pli: [UInt8] = [0x81, 206, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2]
    #expect(parse(pli) == ([.pictureLossIndication(sender: 1, media: 2)], true))
    #expect(bytes(.pictureLossIndication(sender: 1, media: 2)) == pli)
    let fir: [UInt8] = [0x84, 206, 0, 4, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 5, 0, 0, 0]
    let packet = RTCPPacket.fullIntraRequest(
      FullIntraRequest(sender: 1, entries: [.init(ssrc: 2, commandNumber: 5)]))
    #expect(parse(fir) == ([packet], true))
    #expect(bytes(packet) == fir)
  }

  @Test func remb() {
    // 2^18 - 1 with exponent 2.
    let vector: [UInt8] = [
      0x8F, 206, 0, 5, 0, 0, 0, 1, 0, 0, 0, 0, 0x52, 0x45, 0x4D, 0x42, 1, 0x0B, 0xFF, 0xFF, 0, 0, 0, 7,
    ]
    let packet = RTCPPacket.receiverEstimatedMaximumBitrate(
      ReceiverEstimatedMaximumBitrate(sender: 1, bitsPerSecond: 0x3FFFF << 2, ssrcs: [7]))
    #expect(parse(vector) == ([packet], true))
    #expect(bytes(packet) == vector)
    // The exponent may say more than an integer holds; other application feedback is skipped.
    var huge = vector
    huge[17] = 0xFF
    #expect(
      parse(huge).packets == [
        .receiverEstimatedMaximumBitrate(
          ReceiverEstimatedMaximumBitrate(sender: 1, bitsPerSecond: .max, ssrcs: [7]))
      ])
    var other = vector
    other[12] = 0x53
    #expect(parse(other) == ([], true))
  }

  @Test func transportFeedback() {
    // Two received with small deltas, one lost, one with a large delta, one with a negative one.
    let vector: [UInt8] = [
      0x8F, 205, 0, 6, 0, 0, 0, 1, 0, 0, 0, 2, 0xFF, 0xFF, 0, 5, 0xFF, 0xFF, 0xFE, 7,
      0b1101_0100, 0b1010_0000, 4, 0xFF, 0x01, 0x00, 0xFF, 0xFC,
    ]
    let packet = RTCPPacket.transportFeedback(
      TransportFeedback(
        sender: 1, media: 2, baseSequenceNumber: 0xFFFF, referenceTime: -2, feedbackCount: 7,
        deltas: [4, 255, nil, 256, -4]))
    #expect(parse(vector) == ([packet], true))
    #expect(bytes(packet) == vector)
  }

  @Test func transportFeedbackOfEveryShape() {
    var random = SeededGenerator(seed: 5)
    for _ in 0..<300 {
      let count = Int.random(in: 1...200, using: &random)
      let loss = Int.random(in: 0...10, using: &random)
      var deltas: [Int16?] = (0..<count).map { _ in
        if Int.random(in: 0..<10, using: &random) < loss { return nil }
        return Int.random(in: 0..<20, using: &random) == 0
          ? .random(in: .min ... .max, using: &random) : .random(in: 0...255, using: &random)
      }
      deltas[0] = 1
      let packet = RTCPPacket.transportFeedback(
        TransportFeedback(
          sender: 1, media: 2, baseSequenceNumber: 65_500, referenceTime: 0x7F_FFFF, feedbackCount: 255,
          deltas: deltas))
      #expect(parse(bytes(packet)) == ([packet], true))
    }
  }

  @Test func compoundsSkipWhatIsUnknown() {
    let reserved: [UInt8] = [0x80, 209, 0, 2, 0, 0, 0, 1, 4, 0, 0, 0]
    let app: [UInt8] = [0x80, 204, 0, 2, 0, 0, 0, 1, 0x6E, 0x61, 0x6D, 0x65]
    let pli: [UInt8] = [0x81, 206, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2]
    let padded: [UInt8] = [0xA1, 203, 0, 2, 0, 0, 0, 9, 0, 0, 0, 4]
    #expect(
      parse(reserved + app + pli + padded)
        == ([.pictureLossIndication(sender: 1, media: 2), .goodbye(ssrcs: [9])], true))
  }

  @Test(
    arguments: [
      [], [0x80], [0x80, 200, 0],
      [0x80, 200, 0, 9, 1, 2, 3, 4],  // longer than it is
      [0x40, 201, 0, 1, 0, 0, 0, 1],  // version 1
      [0x82, 201, 0, 1, 0, 0, 0, 1],  // blocks that are not there
      [0xA0, 201, 0, 1, 0, 0, 0, 0],  // padding of nothing
      [0xA0, 201, 0, 1, 0, 0, 0, 5],  // padding beyond the packet
      [0x81, 202, 0, 2, 0, 0, 0, 1, 1, 9, 0x61, 0x62],  // text beyond the packet
      [0x82, 203, 0, 1, 0, 0, 0, 9],
      [0x81, 205, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2],  // nothing is missing
      [0x8F, 205, 0, 4, 0, 0, 0, 1, 0, 0, 0, 2, 0, 1, 0, 9, 0, 0, 0, 0],  // no chunks
      [0x8F, 205, 0, 5, 0, 0, 0, 1, 0, 0, 0, 2, 0, 1, 0, 2, 0, 0, 0, 0, 0x60, 0x02, 0, 0],  // reserved
    ] as [[UInt8]])
  func isRefused(bytes: [UInt8]) {
    let (packets, isWellFormed) = parse(bytes)
    #expect(packets.isEmpty)
    #expect(!isWellFormed)
  }
}
