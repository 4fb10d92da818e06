import Testing

@testable import Base

@Suite struct TimeTests {
  @Test func instantsAddAndSubtract() {
    let start = Instant(nanoseconds: 1_000_000_000)
    #expect((start + .milliseconds(20)).nanoseconds == 1_020_000_000)
    #expect((start - .milliseconds(20)).nanoseconds == 980_000_000)
    #expect((start + .seconds(3)) - start == .seconds(3))
    #expect(start.seconds == 1)
  }

  @Test func durationsAreClampedNotTrapped() {
    #expect(Duration.seconds(Int64.max).nanoseconds == .max)
    #expect(Duration.seconds(Int64.min).nanoseconds == .min)
    #expect(Duration.milliseconds(1500).milliseconds == 1500)
    #expect(Duration.milliseconds(-1500).seconds == -1.5)
  }

  /// 2019-07-19 12:00:00.5 UTC is 3,772,526,400.5 s after 1900.
  @Test func ntpTimesCountFrom1900() {
    let time = NTPTime(unixMicroseconds: 1_563_537_600_500_000)
    #expect(time.value >> 32 == 3_772_526_400)
    #expect(time.value & 0xFFFF_FFFF == 0x8000_0000)
    #expect(time.middle == UInt32(3_772_526_400 & 0xFFFF) << 16 | 0x8000)
    #expect(time.unixMicroseconds == 1_563_537_600_500_000)
  }

  @Test func ntpRoundTripKeepsMicroseconds() {
    var random = SeededGenerator(seed: 1)
    for _ in 0..<1000 {
      let microseconds = Int64.random(in: 0...2_000_000_000_000_000, using: &random)
      let back = NTPTime(unixMicroseconds: microseconds).unixMicroseconds
      #expect(back == microseconds)
    }
  }

  @Test func clocksMove() {
    let before = MonotonicClock.now()
    #expect(MonotonicClock.now() >= before)
    #expect(WallClock.seconds() > 1_700_000_000)
  }
}
