import Base
import TestSupport
import Testing

@testable import RTP

@Suite struct RedundantAudioTests {
  private func parse(_ bytes: [UInt8]) -> (blocks: [(offset: UInt32, bytes: [UInt8])], primary: [UInt8])? {
    bytes.withUnsafeBytes { memory in
      guard let content = RedundantAudio(parsing: memory) else { return nil }
      var blocks: [(UInt32, [UInt8])] = []
      content.forEachRedundant { blocks.append(($0.timestampOffset, Array($0.bytes))) }
      return (blocks, Array(content.primary.bytes))
    }
  }

  /// As browsers send it: opus 111 in red, one copy of 20 ms before.
  @Test func chromiumsPackets() throws {
    let parsed = try #require(parse([0xEF, 0x0F, 0x00, 0x03, 0x6F, 0x78, 1, 2, 0x78, 3, 4, 5]))
    #expect(parsed.blocks.count == 1)
    #expect(parsed.blocks[0].offset == 960 && parsed.blocks[0].bytes == [0x78, 1, 2])
    #expect(parsed.primary == [0x78, 3, 4, 5])
    let bare = try #require(parse([0x6F, 0x78, 1]))
    #expect(bare.blocks.isEmpty && bare.primary == [0x78, 1])
    // A copy without content: nothing was to be heard.
    let empty = try #require(parse([0xEF, 0x0F, 0x00, 0x00, 0x6F, 0x78]))
    #expect(empty.blocks.isEmpty && empty.primary == [0x78])
  }

  @Test func lengthsThatLieAreRefused() {
    #expect(parse([]) == nil)
    #expect(parse([0xEF, 0x0F, 0x00]) == nil)
    #expect(parse([0xEF, 0x0F, 0x00, 0x03]) == nil)
    #expect(parse([0xEF, 0x0F, 0x00, 0x03, 0x6F, 1, 2]) == nil)
    #expect(parse([UInt8](repeating: 0xEF, count: 400)) == nil)
  }

  @Test func whatIsWrittenIsRead() {
    let stream = makeStream(distances: [3, 1])
    var packets: [[UInt8]] = []
    for index in 0..<5 as Range<UInt32> {
      let number = stream.store(
        EncodedAudioFrame(
          bytes: [0x78, 0, UInt8(index)], timestamp: index * 960, captureTime: .zero, level: 20))
      if let number, let packet = stream.history.packet(number) { packets.append(Array(packet)) }
    }
    #expect(packets.map { $0[1] & 0x7F } == [111, 63, 63, 63, 63])
    let parsed = packets.map { packet in
      packet.withUnsafeBytes { RTPPacket(parsing: $0).flatMap { parse(Array($0.payload)) } }
    }
    #expect(parsed[1]?.blocks.map(\.bytes) == [[0x78, 0, 0]])
    #expect(parsed[4]?.blocks.map(\.offset) == [2880, 960])
    #expect(parsed[4]?.blocks.map(\.bytes) == [[0x78, 0, 1], [0x78, 0, 3]])
    #expect(parsed[4]?.primary == [0x78, 0, 4])
  }

  @Test func whatIsTooOldOrTooLargeIsLeftOut() throws {
    let stream = makeStream(distances: [2, 1])
    func store(_ size: Int, _ timestamp: UInt32) throws -> (type: UInt8, size: Int) {
      let number = try #require(
        stream.store(
          EncodedAudioFrame(
            bytes: [UInt8](repeating: 0x78, count: size), timestamp: timestamp, captureTime: .zero, level: 20)
        ))
      let stored = stream.history.packet(number)
      let packet = try #require(stored)
      return (packet[1] & 0x7F, packet.count)
    }
    _ = try store(100, 0)
    // After a pause of 400 ms the offset does not fit.
    #expect(try store(100, 19_200).type == 111)
    #expect(try store(1_100, 20_160).size <= SendStream.maximumPacketSize)
    #expect(try store(200, 21_120) == (63, 12 + 4 + 100 + 1 + 200))
    #expect(try store(1_400, 22_080).type == 111)
  }

  private func makeStream(distances: [Int]) -> SendStream {
    var random = SeededGenerator(seed: 1)
    var configuration = SendStreamConfiguration(kind: .audio, ssrc: 1, payloadType: 111)
    configuration.redundantPayloadType = 63
    let stream = SendStream(id: StreamID(number: 1), configuration: configuration, random: &random)
    stream.redundancy = AudioRedundancy(distances: distances)
    return stream
  }

  @Test func copiesThatNobodyNeedsAreNotHandedOn() {
    let call = SimulatedCall(.init(), seed: 1)
    call.sendsVideo = false
    call.run(for: .seconds(1))
    #expect(call.audioPackets.count == 50)
    #expect(call.audioPackets.allSatisfy { !$0.isCopy })
    #expect(call.b.statistics(at: call.now).inbound[0].fecPacketsReceived > 20)
  }
}

@Suite struct AudioRedundancyTests {
  /// Feeds the fate of packets in the way transport-wide feedback tells it.
  private func redundancy(
    _ packets: Int, bitrate: Int = 50_000, available: Int = 1_000_000, isAlone: Bool = false,
    isLost: (Int) -> Bool
  ) -> AudioRedundancy {
    var redundancy = AudioRedundancy()
    for batch in stride(from: 0, to: packets, by: 5) {
      let numbers = batch..<min(batch + 5, packets)
      // Others have numbers in between.
      for number in numbers { redundancy.packetSent(UInt16(truncatingIfNeeded: 65_000 + 2 * number)) }
      redundancy.receive(
        TransportFeedback(
          sender: 1, media: 2, baseSequenceNumber: UInt16(truncatingIfNeeded: 65_000 + 2 * batch),
          referenceTime: 0, feedbackCount: 0,
          deltas: numbers.flatMap { [isLost($0) ? nil : 4, 4] }))
      redundancy.update(bitrate: bitrate, available: available, isAlone: isAlone)
    }
    return redundancy
  }

  @Test func nothingIsRepeatedWhereNothingIsLost() {
    #expect(AudioRedundancy().distances == [2, 1], "until more is known")
    #expect(redundancy(45) { _ in false }.distances == [2, 1])
    #expect(redundancy(300) { _ in false }.distances == [])
    #expect(redundancy(300) { $0 % 50 == 0 }.distances == [1])
    #expect(redundancy(300) { $0 % 10 == 0 }.distances == [2, 1])
  }

  @Test func burstsAreSteppedOver() {
    let distances = redundancy(1_000) { $0 % 100 < 6 }.distances
    #expect(distances.count == 2 && distances[0] >= 6 && distances[0] <= AudioRedundancy.maximumDistance)
  }

  @Test func copiesTakeNoMoreThanTheirShare() {
    #expect(redundancy(300, available: 240_000) { $0 % 5 == 0 }.distances == [1])
    #expect(redundancy(300, available: 100_000) { $0 % 5 == 0 }.distances == [])
    #expect(redundancy(300, available: 100_000, isAlone: true) { $0 % 5 == 0 }.distances == [1])
    #expect(redundancy(300, available: 150_000, isAlone: true) { $0 % 5 == 0 }.distances == [2, 1])
  }

  @Test func theRestIsTheEncodersBusiness() {
    let none = redundancy(300) { _ in false }
    #expect(none.residualLoss(of: 0.1) == 0.1)
    let two = redundancy(1_000) { $0 % 10 == 0 }
    #expect(two.residualLoss(of: 0.1) < 0.01)
  }

  @Test func reportsWillDoToo() {
    var redundancy = AudioRedundancy()
    for _ in 0..<10 {
      redundancy.receiveReport(total: 50, lost: 5)
      redundancy.update(bitrate: 50_000, available: 1_000_000)
    }
    #expect(abs(redundancy.loss - 0.1) < 0.03)
    #expect(redundancy.distances == [2, 1])
    redundancy.receiveReport(total: 50, lost: -5)
    redundancy.receiveReport(total: .max, lost: .max)
  }
}
