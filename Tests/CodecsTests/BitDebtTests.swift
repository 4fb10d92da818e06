import Base
import Testing

@testable import Codecs

@Suite struct BitDebtTests {
  private let start = Instant(nanoseconds: 1_000_000_000)

  @Test func whatIsMadeTooMuchIsMadeUpForAtTheBitrateOfThen() {
    var debt = BitDebt()
    var isTooHigh = debt.isTooHigh(at: start, bitrate: 800_000)
    #expect(!isTooHigh)
    debt.add(bytes: 260_000, bitrate: 800_000)  // 2.6 seconds
    isTooHigh = debt.isTooHigh(at: start + .milliseconds(50), bitrate: 800_000)
    #expect(isTooHigh)
    isTooHigh = debt.isTooHigh(at: start + .milliseconds(150), bitrate: 800_000)
    #expect(!isTooHigh)
    // With less, the same is too much.
    isTooHigh = debt.isTooHigh(at: start + .milliseconds(150), bitrate: 400_000)
    #expect(isTooHigh)
  }

  /// Of one picture that is far too large, and of a bitrate that falls.
  @Test(arguments: [(10_000_000, 800_000), (200_000, 100_000)]) func nothingTakesLongerThanAMoment(
    bytes: Int, then: Int
  ) {
    var debt = BitDebt()
    _ = debt.isTooHigh(at: start, bitrate: 800_000)
    debt.add(bytes: bytes, bitrate: 800_000)
    var isTooHigh = debt.isTooHigh(at: start, bitrate: then)
    #expect(isTooHigh)
    isTooHigh = debt.isTooHigh(at: start + .milliseconds(310), bitrate: then)
    #expect(!isTooHigh)
  }

  @Test func aPauseSavesNothing() {
    var debt = BitDebt()
    _ = debt.isTooHigh(at: start, bitrate: 800_000)
    debt.add(bytes: 100, bitrate: 800_000)
    _ = debt.isTooHigh(at: start + .seconds(60), bitrate: 800_000)
    debt.add(bytes: 260_000, bitrate: 800_000)
    let isTooHigh = debt.isTooHigh(at: start + .seconds(60), bitrate: 800_000)
    #expect(isTooHigh)
  }

  @Test func aClockThatGoesBackChangesNothing() {
    var debt = BitDebt()
    _ = debt.isTooHigh(at: start + .seconds(5), bitrate: 800_000)
    debt.add(bytes: 260_000, bitrate: 800_000)
    var isTooHigh = debt.isTooHigh(at: start, bitrate: 800_000)
    #expect(isTooHigh)
    isTooHigh = debt.isTooHigh(at: start + .milliseconds(5_050), bitrate: 800_000)
    #expect(isTooHigh)
  }
}
