import Base
import Testing

@testable import Codecs

@Suite struct BitDebtTests {
  private let start = Instant(nanoseconds: 1_000_000_000)

  @Test func whatIsMadeTooMuchIsMadeUpForAtTheBitrateOfThen() {
    var debt = BitDebt()
    var isTooHigh = debt.isTooHigh(at: start, bitrate: 800_000)
    #expect(!isTooHigh)
    debt.add(bytes: 300_000)  // three seconds
    isTooHigh = debt.isTooHigh(at: start + .milliseconds(400), bitrate: 800_000)
    #expect(isTooHigh)
    isTooHigh = debt.isTooHigh(at: start + .milliseconds(600), bitrate: 800_000)
    #expect(!isTooHigh)
    // With less, the same is too much.
    isTooHigh = debt.isTooHigh(at: start + .milliseconds(600), bitrate: 400_000)
    #expect(isTooHigh)
  }

  @Test func aPauseSavesNothing() {
    var debt = BitDebt()
    _ = debt.isTooHigh(at: start, bitrate: 800_000)
    debt.add(bytes: 100)
    _ = debt.isTooHigh(at: start + .seconds(60), bitrate: 800_000)
    debt.add(bytes: 260_000)
    let isTooHigh = debt.isTooHigh(at: start + .seconds(60), bitrate: 800_000)
    #expect(isTooHigh)
  }

  @Test func aClockThatGoesBackChangesNothing() {
    var debt = BitDebt()
    _ = debt.isTooHigh(at: start + .seconds(5), bitrate: 800_000)
    debt.add(bytes: 260_000)
    var isTooHigh = debt.isTooHigh(at: start, bitrate: 800_000)
    #expect(isTooHigh)
    isTooHigh = debt.isTooHigh(at: start + .milliseconds(5_050), bitrate: 800_000)
    #expect(isTooHigh)
  }
}
