import Base
import Testing

@testable import RTP

@Suite struct RepairDelayTests {
  private var delay = RepairDelay()
  private let start = Instant(nanoseconds: 1_000_000_000)

  @Test mutating func picturesAreKeptBackForAsManyRoundsOfRepairAsTheLossAsksFor() {
    delay.update(loss: 0.01, roundTripTime: .milliseconds(100), at: start)
    #expect(delay.extensionValue == 0x000FFF)
    delay.update(loss: 0.05, roundTripTime: .milliseconds(100), at: start)
    #expect(delay.minimum == .milliseconds(140))
    #expect(delay.extensionValue == 0x00EFFF)
    delay.update(loss: 0.2, roundTripTime: .milliseconds(100), at: start)
    #expect(delay.minimum == .milliseconds(240))
    delay.update(loss: 0.2, roundTripTime: .seconds(3), at: start)
    #expect(delay.minimum == .milliseconds(500))
  }

  @Test mutating func onQuickPathsRepairIsInTimeAnyway() {
    delay.update(loss: 0.1, roundTripTime: .milliseconds(20), at: start)
    #expect(delay.minimum == .zero)
  }

  @Test mutating func itDoesNotFlicker() {
    delay.update(loss: 0.05, roundTripTime: .milliseconds(100), at: start)
    delay.update(loss: 0, roundTripTime: .milliseconds(100), at: start + .seconds(4))
    #expect(delay.minimum == .milliseconds(140))
    delay.update(loss: 0.05, roundTripTime: .milliseconds(110), at: start + .seconds(5))
    #expect(delay.minimum == .milliseconds(140))
    delay.update(loss: 0, roundTripTime: .milliseconds(100), at: start + .seconds(11))
    #expect(delay.minimum == .zero)
  }
}
