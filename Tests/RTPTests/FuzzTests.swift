import Base
import Testing

@testable import RTP

/// Runs the fuzz bodies on mutations of well-formed packets, from a fixed seed, for about a second each.
@Suite struct FuzzTests {
  private func run(
    rounds: Int, _ corpus: [[UInt8]], seed: UInt64 = 1, _ body: (UnsafeRawBufferPointer) -> Void
  ) {
    var random = SeededGenerator(seed: seed)
    for round in 0..<rounds {
      var bytes = corpus[round % corpus.count]
      if round >= corpus.count {
        for _ in 0..<Int.random(in: 1...8, using: &random) { mutate(&bytes, corpus, &random) }
      }
      bytes.withUnsafeBytes { body($0) }
    }
  }

  private func mutate(_ bytes: inout [UInt8], _ corpus: [[UInt8]], _ random: inout SeededGenerator) {
    guard !bytes.isEmpty else {
      bytes = [.random(in: 0...255, using: &random)]
      return
    }
    let index = Int.random(in: 0..<bytes.count, using: &random)
    switch Int.random(in: 0..<6, using: &random) {
    case 0: bytes[index] = .random(in: 0...255, using: &random)
    case 1: bytes[index] ^= 1 << UInt8.random(in: 0...7, using: &random)
    case 2: bytes[index] = [0, 0xFF, 0x7F, 0x80][Int.random(in: 0..<4, using: &random)]
    case 3: bytes.removeLast(Int.random(in: 0...min(8, bytes.count), using: &random))
    case 4: bytes.insert(.random(in: 0...255, using: &random), at: index)
    default: bytes += corpus[Int.random(in: 0..<corpus.count, using: &random)].prefix(40)
    }
  }

  private static let packets: [[UInt8]] = [
    [0x80, 96, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0x90, 0x80, 0x80, 1, 0x10, 2, 0, 0x9D, 1, 0x2A, 0, 0, 0, 0],
    [
      0xB0, 0xE0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0xBE, 0xDE, 0, 2, 0x12, 1, 2, 3, 0x31, 4, 5, 0, 9, 9, 0, 0, 0,
      4,
    ],
    [0x91, 111, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 7, 0x10, 0, 0, 1, 1, 1, 0x76, 0, 0x78, 1, 2],
  ]

  private static let control: [[UInt8]] = {
    let block = ReportBlock(
      ssrc: 0x4444, fractionLost: 3, cumulativeLost: -2, extendedHighestSequenceNumber: 70_000, jitter: 5,
      lastSenderReport: 6, delaySinceLastSenderReport: 7)
    let packets: [RTCPPacket] = [
      .senderReport(
        SenderReport(
          ssrc: 0x2222, ntpTime: NTPTime(value: 1 << 40), rtpTimestamp: 9, packetCount: 1, octetCount: 2,
          blocks: [block])),
      .receiverReport(ReceiverReport(ssrc: 1, blocks: [block])),
      .sourceDescription([SourceDescription(ssrc: 1, cname: "abc"), SourceDescription(ssrc: 2, cname: nil)]),
      .goodbye(ssrcs: [0x2222]),
      .nack(NegativeAcknowledgement(sender: 1, media: 0x4444, sequenceNumbers: [1, 2, 5, 100])),
      .pictureLossIndication(sender: 1, media: 0x4444),
      .fullIntraRequest(FullIntraRequest(sender: 1, entries: [.init(ssrc: 0x4444, commandNumber: 1)])),
      .receiverEstimatedMaximumBitrate(
        ReceiverEstimatedMaximumBitrate(sender: 1, bitsPerSecond: 1_000_000, ssrcs: [0x4444])),
      .transportFeedback(
        TransportFeedback(
          sender: 1, media: 2, baseSequenceNumber: 1, referenceTime: 3, feedbackCount: 0,
          deltas: [1, nil, 300, -4, nil, nil, 5])),
    ]
    return packets.map { packet in
      withUnsafeTemporaryAllocation(byteCount: 256, alignment: 8) { memory in
        var writer = ByteWriter(memory)
        packet.write(to: &writer)
        return Array(writer.written)
      }
    }
  }()

  @Test func rtpPackets() { run(rounds: 60_000, Self.packets) { RTPFuzz.rtpPacket($0) } }

  @Test func rtcpPackets() { run(rounds: 15_000, Self.control) { RTPFuzz.rtcpPacket($0) } }

  @Test func redundantAudio() {
    run(rounds: 20_000, [[0xEF, 0x0F, 0, 3, 0x6F, 0x78, 1, 2, 0x78, 3]]) { RTPFuzz.redundantAudio($0) }
  }

  @Test func vp8PayloadDescriptors() {
    run(rounds: 60_000, [[0x90, 0xF0, 0x81, 2, 3, 0x60, 0x10, 0, 0]]) { RTPFuzz.vp8PayloadDescriptor($0) }
  }

  @Test func wholeSessions() {
    let scripts = (Self.packets + Self.control).map { packet -> [UInt8] in
      (0..<12).flatMap { step -> [UInt8] in
        var packet = packet
        packet[3] = packet[1] < 200 && packet[1] > 127 || packet[1] < 128 ? UInt8(step) : packet[3]
        return [UInt8(truncatingIfNeeded: step * 37) | 1, 10, UInt8(packet.count)] + packet
      }
    }
    run(rounds: 700, scripts) { RTPFuzz.session($0) }
  }
}
