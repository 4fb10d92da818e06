import Base
import Testing

@testable import Scenario

@Suite struct ScenarioTimelineTests {
  private func time(_ seconds: Double) -> Instant { Instant(nanoseconds: Int64(seconds * 1e9)) }

  private func step(_ trigger: Scenario.Trigger) -> Scenario.Step {
    Scenario.Step(trigger, .command(.muteAll(except: nil)), text: "")
  }

  private func due(_ member: Int, _ step: Int) -> ScenarioTimeline.Due { .init(member: member, step: step) }

  @Test func stepsComeAtTheirTimeAndInOrder() {
    var timeline = ScenarioTimeline(
      [[step(.at(.seconds(2))), step(.at(.seconds(3))), step(.after(.seconds(1)))]], at: time(10))
    #expect(timeline.deadline == nil)
    #expect(timeline.next(at: time(100)) == nil)
    timeline.start(at: time(20))
    #expect(timeline.deadline == time(22))
    #expect(timeline.next(at: time(21.9)) == nil)
    #expect(timeline.next(at: time(22)) == due(0, 0))
    // Not before the one in hand is finished; then at once, as its time has passed.
    #expect(timeline.next(at: time(24)) == nil)
    timeline.finished(0, at: time(24))
    #expect(timeline.next(at: time(24)) == due(0, 1))
    timeline.finished(0, at: time(24.5))
    #expect(timeline.deadline == time(25.5))
    #expect(!timeline.isDone)
    #expect(timeline.next(at: time(25.5)) == due(0, 2))
    #expect(timeline.pending == [due(0, 2)])
    timeline.finished(0, at: time(26))
    #expect(timeline.isDone && timeline.pending.isEmpty && timeline.deadline == nil)
  }

  @Test func eventsCountFromTheStepBefore() {
    let signal = Scenario.Trigger.on(event: "signal", signalType: "go", member: 1, after: .seconds(1))
    var timeline = ScenarioTimeline([[step(.at(.zero)), step(signal)], []], at: time(0))
    timeline.received("signal", signalType: "go", of: 1, at: time(0.5))
    timeline.start(at: time(1))
    #expect(timeline.next(at: time(1)) == due(0, 0))
    timeline.finished(0, at: time(2))
    #expect(timeline.deadline == nil)
    timeline.received("signal", signalType: "stay", of: 1, at: time(3))
    timeline.received("signal", signalType: "go", of: 0, at: time(3))
    timeline.received("streamCreated", signalType: nil, of: 1, at: time(3))
    #expect(timeline.deadline == nil)
    timeline.received("signal", signalType: "go", of: 1, at: time(4))
    timeline.received("signal", signalType: "go", of: 1, at: time(4.5))
    #expect(timeline.deadline == time(5))
    #expect(timeline.next(at: time(5)) == due(0, 1))
  }

  @Test func whatFollowsFromAStepMayComeBeforeItsEnd() {
    let signal = Scenario.Trigger.on(event: "signal", signalType: nil, member: 0, after: .seconds(2))
    var timeline = ScenarioTimeline([[step(.at(.zero)), step(signal), step(signal)]], at: time(0))
    timeline.start(at: time(1))
    #expect(timeline.next(at: time(1)) == due(0, 0))
    timeline.received("signal", signalType: "x", of: 0, at: time(1.5))
    timeline.finished(0, at: time(2))
    #expect(timeline.deadline == time(3.5))
    #expect(timeline.next(at: time(3.5)) == due(0, 1))
    timeline.finished(0, at: time(4))
    // The same event does not count twice.
    #expect(timeline.deadline == nil && !timeline.isDone)
  }

  @Test func anEventBeforeTheStartIsNotMissed() {
    let event = Scenario.Trigger.on(event: "streamCreated", signalType: nil, member: 0, after: .zero)
    var timeline = ScenarioTimeline([[step(event)]], at: time(0))
    timeline.received("streamCreated", signalType: nil, of: 0, at: time(1))
    #expect(timeline.next(at: time(1)) == nil)
    timeline.start(at: time(2))
    #expect(timeline.deadline == time(2))
    #expect(timeline.next(at: time(2)) == due(0, 0))
  }
}
