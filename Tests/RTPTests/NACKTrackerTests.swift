import Base
import Testing

@testable import RTP

@Suite struct NACKTrackerTests {
  /// A tracker, in milliseconds from a start; the test's macros need something that can be copied.
  private final class Subject {
    private var tracker = NACKTracker()
    private let start = Instant(nanoseconds: 1_000_000_000)

    var isEmpty: Bool { tracker.isEmpty }
    var hasGivenUp: Bool { tracker.hasGivenUp }
    var deadline: Double? { tracker.deadline.map { ($0 - start).milliseconds } }

    func receive(_ numbers: Int64..., at time: Int) {
      for number in numbers {
        _ = tracker.received(number, isRepair: false, roundTripTime: nil, at: start + .milliseconds(time))
      }
    }

    func repair(_ number: Int64, at time: Int) -> NACKTracker.Arrival {
      tracker.received(number, isRepair: true, roundTripTime: nil, at: start + .milliseconds(time))
    }

    func requests(at time: Int, roundTrip: Int = 40, limit: Int = 10) -> [UInt16] {
      tracker.requests(
        at: start + .milliseconds(time), roundTripTime: .milliseconds(roundTrip), limit: limit)
    }

    func discard(through number: Int64) { tracker.discard(through: number) }
    func acknowledgeGivingUp() { tracker.acknowledgeGivingUp() }
  }

  private let subject = Subject()

  @Test func gapsAreAskedForOnceARoundTrip() {
    subject.receive(100, 101, 104, at: 0)
    #expect(subject.deadline == 0)
    #expect(subject.requests(at: 0) == [102, 103])
    #expect(subject.requests(at: 20) == [])
    #expect(subject.deadline == 50)
    #expect(subject.requests(at: 50) == [102, 103])
    let arrival = subject.repair(102, at: 50)
    #expect(arrival.wasRequested && arrival.roundTrip == nil)
    #expect(subject.requests(at: 100) == [103])
  }

  @Test func theAnswerTellsTheRoundTrip() {
    subject.receive(1, 3, at: 0)
    #expect(subject.requests(at: 0) == [2])
    #expect(subject.repair(2, at: 33).roundTrip == .milliseconds(33))
    #expect(subject.isEmpty && subject.deadline == nil)
  }

  @Test func afterReorderingItIsPatient() {
    subject.receive(1, 3, at: 0)
    subject.receive(2, at: 8)
    subject.receive(5, at: 20)
    let deadline = subject.deadline ?? 0
    #expect(deadline > 28 && deadline < 32)
  }

  @Test func whereMuchIsLostRequestsComeInPairs() {
    for number in 0..<100 as Range<Int64> where number % 10 != 5 { subject.receive(number, at: 0) }
    _ = subject.requests(at: 0, limit: 100)
    subject.discard(through: 99)
    subject.receive(101, at: 0)
    #expect(subject.requests(at: 0, roundTrip: 100) == [100])
    #expect(subject.deadline == 20)
    #expect(subject.requests(at: 20, roundTrip: 100) == [100])
    #expect(subject.deadline == 125)
  }

  @Test func itGivesUp() {
    subject.receive(1, 3, at: 0)
    var requests = 0
    for step in 0..<400 { requests += subject.requests(at: 10 * step).count }
    #expect(requests == 10)
    #expect(subject.hasGivenUp && subject.isEmpty)
    subject.acknowledgeGivingUp()
    #expect(!subject.hasGivenUp)
  }

  @Test func aHugeGapIsHopeless() {
    subject.receive(1, 500, at: 0)
    #expect(subject.isEmpty && subject.hasGivenUp)
  }

  @Test func whatIsNoLongerNeededIsForgotten() {
    subject.receive(1, 3, 5, 7, at: 0)
    subject.discard(through: 4)
    #expect(subject.requests(at: 0) == [6])
  }

  @Test func itNeverGrowsWithoutLimit() {
    for number in 0..<5000 as Range<Int64> { subject.receive(number * 90, at: 0) }
    #expect(subject.requests(at: 0, limit: 10_000).count <= 500)
    #expect(subject.hasGivenUp)
  }
}
