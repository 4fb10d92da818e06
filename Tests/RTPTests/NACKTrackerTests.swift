import Base
import Testing

@testable import RTP

@Suite struct NACKTrackerTests {
  private let start = Instant(nanoseconds: 1_000_000_000)
  private let trip = Duration.milliseconds(40)

  private func receive(_ tracker: inout NACKTracker, _ numbers: [Int64], at now: Instant) {
    for number in numbers { _ = tracker.received(number, isRepair: false, roundTripTime: nil, at: now) }
  }

  @Test func gapsAreAskedForOnceARoundTrip() {
    var tracker = NACKTracker()
    receive(&tracker, [100, 101, 104], at: start)
    #expect(tracker.deadline == start)
    #expect(tracker.requests(at: start, roundTripTime: trip, limit: 10) == [102, 103])
    #expect(tracker.requests(at: start + .milliseconds(20), roundTripTime: trip, limit: 10).isEmpty)
    #expect(tracker.deadline == start + .milliseconds(50))
    let again = start + .milliseconds(50)
    #expect(tracker.requests(at: again, roundTripTime: trip, limit: 10) == [102, 103])
    let arrival = tracker.received(102, isRepair: true, roundTripTime: trip, at: again)
    #expect(arrival.wasRequested && arrival.roundTrip == nil)
    #expect(tracker.requests(at: start + .milliseconds(100), roundTripTime: trip, limit: 10) == [103])
  }

  @Test func theAnswerTellsTheRoundTrip() {
    var tracker = NACKTracker()
    receive(&tracker, [1, 3], at: start)
    _ = tracker.requests(at: start, roundTripTime: trip, limit: 10)
    let arrival = tracker.received(2, isRepair: true, roundTripTime: nil, at: start + .milliseconds(33))
    #expect(arrival.roundTrip == .milliseconds(33))
    #expect(tracker.isEmpty && tracker.deadline == nil)
  }

  @Test func afterReorderingItIsPatient() {
    var tracker = NACKTracker()
    receive(&tracker, [1, 3], at: start)
    receive(&tracker, [2], at: start + .milliseconds(8))
    receive(&tracker, [5], at: start + .milliseconds(20))
    let deadline = tracker.deadline ?? .zero
    #expect(deadline > start + .milliseconds(28) && deadline < start + .milliseconds(32))
  }

  @Test func itGivesUp() {
    var tracker = NACKTracker()
    receive(&tracker, [1, 3], at: start)
    var requests = 0
    for step in 0..<400 {
      requests +=
        tracker.requests(at: start + .milliseconds(10 * step), roundTripTime: trip, limit: 10).count
    }
    #expect(requests == 10)
    #expect(tracker.hasGivenUp && tracker.isEmpty)
    tracker.acknowledgeGivingUp()
    #expect(!tracker.hasGivenUp)
  }

  @Test func aHugeGapIsHopeless() {
    var tracker = NACKTracker()
    receive(&tracker, [1, 500], at: start)
    #expect(tracker.isEmpty && tracker.hasGivenUp)
  }

  @Test func whatIsNoLongerNeededIsForgotten() {
    var tracker = NACKTracker()
    receive(&tracker, [1, 3, 5, 7], at: start)
    tracker.discard(through: 4)
    #expect(tracker.requests(at: start, roundTripTime: trip, limit: 10) == [6])
  }

  @Test func itNeverGrowsWithoutLimit() {
    var tracker = NACKTracker()
    for number in 0..<5000 as Range<Int64> { receive(&tracker, [number * 90], at: start) }
    #expect(tracker.requests(at: start, roundTripTime: trip, limit: 10_000).count <= 500)
    #expect(tracker.hasGivenUp)
  }
}
