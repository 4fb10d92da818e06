import Base
import Testing

@testable import RTP

@Suite struct CongestionControllerTests {
  private func feedback(_ referenceTime: Int32, _ deltas: [Int16?] = [.max]) -> TransportFeedback {
    TransportFeedback(
      sender: 1, media: 2, baseSequenceNumber: 0, referenceTime: referenceTime, feedbackCount: 0,
      deltas: deltas)
  }

  /// Each feedback moves the receiver's clock by half its range, as far as 64 bits of nanoseconds and on.
  @Test func aClockThatRunsAwayIsHarmless() {
    var controller = CongestionController(initial: 800_000, minimum: 30_000, maximum: 2_500_000)
    for number in 0..<40_000 {
      let now = Instant(nanoseconds: Int64(number) * 1_000_000)
      _ = controller.packetSent(size: 1000, at: now)
      controller.receive(
        feedback(number % 2 == 0 ? -0x80_0000 : -1), roundTripTime: RoundTripTime(), at: now)
      #expect((30_000...2_500_000).contains(controller.target))
    }
  }

  @Test func numbersThatAreNoneAreClamped() {
    #expect(Int(.nan, in: 3...9) == 3)
    #expect(Int(.infinity, in: 3...9) == 9)
    #expect(Int(-.infinity, in: 3...9) == 3)
    #expect(Int(5.9, in: 3...9) == 5)
    #expect(Int(1e300, in: 0...Int.max) == .max)
  }

  /// 46 octets that tell of 65,535 missing packets.
  @Test func feedbackAboutTooManyPacketsIsRefused() {
    func parse(count: UInt16) -> Bool {
      var bytes: [UInt8] = [0, 0, 0, 1, 0, 0, 0, 2, 0, 0, UInt8(count >> 8), UInt8(count & 255), 0, 0, 0, 0]
      for _ in 0..<9 { bytes += [0x1F, 0xFF] }
      return bytes.withUnsafeBytes { raw in
        var reader = ByteReader(raw)
        return TransportFeedback(parsing: &reader) != nil
      }
    }
    #expect(parse(count: 4096))
    #expect(!parse(count: 4097))
    #expect(!parse(count: 65_535))
  }
}
