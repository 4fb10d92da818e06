import Base
import OTKit
import OpenTokProtocol
import Participant
import Peer
import Terminal

/// Plays a scenario: makes participants join, has them do their steps, watches what is expected of them.
package actor ScenarioRun {
  /// What only the command knows how to do.
  package struct Stage: Sendable {
    /// Makes a member's participant, not joined yet: each time it joins a new one.
    package var participant:
      @Sendable (Scenario.Member, ImpairedLink, @escaping @Sendable (ParticipantEvent) -> Void) async throws
        ->
        Participant
    /// Has a participant do what a line on standard input asks for.
    package var obey: @Sendable (Participant, CallCommand) async -> Void
    /// Told in order; must not block. The seconds count from the scenario's start, and are negative before it.
    package var report: @Sendable (_ member: String?, _ seconds: Double, ScenarioEvent) -> Void

    package init(
      participant:
        @escaping @Sendable (
          Scenario.Member, ImpairedLink, @escaping @Sendable (ParticipantEvent) -> Void
        ) async throws -> Participant,
      obey: @escaping @Sendable (Participant, CallCommand) async -> Void,
      report: @escaping @Sendable (String?, Double, ScenarioEvent) -> Void
    ) {
      self.participant = participant
      self.obey = obey
      self.report = report
    }
  }

  private enum Input: Sendable {
    case made(Int, Participant)
    case entered(Int)
    case event(Int, ParticipantEvent, Instant)
    case sampled(Int, JSON, Instant)
    case ended(Int, Result<Void, any Error>)
    case finishedStep(Int)
    case wake
    case stop
  }

  private struct Member {
    let definition: Scenario.Member
    let link: ImpairedLink
    var monitor: ExpectationMonitor
    var participant: Participant?
    var isJoining = false
    var hasEntered = false
    /// The step in hand is over when it has entered, or has left, or when this expectation is decided.
    var awaits: Awaited?
    var isThere: Bool { isJoining || participant != nil }
  }

  private enum Awaited: Equatable {
    case entry, end
    case expectation(Int)
  }

  private let scenario: Scenario
  private let stage: Stage
  private let inputs: AsyncStream<Input>
  private let inbox: AsyncStream<Input>.Continuation
  private var members: [Member]
  private var timeline: ScenarioTimeline
  private let began = MonotonicClock.now()
  private var start: Instant?
  private var isStopping = false
  private var timer: Task<Void, Never>?
  private var result = ScenarioResult()

  package init(_ scenario: Scenario, stage: Stage) {
    self.scenario = scenario
    self.stage = stage
    // Bounded by what participants emit, which their sessions bound.
    (inputs, inbox) = AsyncStream.makeStream(bufferingPolicy: .unbounded)
    members = scenario.members.enumerated().map { index, definition in
      Member(
        definition: definition, link: ImpairedLink(seed: scenario.seed &+ UInt64(index) &* 0x9E37_79B9),
        monitor: ExpectationMonitor(definition.expectations))
    }
    timeline = ScenarioTimeline(scenario.members.map(\.steps), at: began)
  }

  /// Ends it early, as at its end. Any time.
  package nonisolated func stop() { inbox.yield(.stop) }

  /// Plays it. Returns when all have left.
  package func run() async -> ScenarioResult {
    for member in members {
      let (link, network) = (member.link, member.definition.network)
      NetworkActor.perform { link.set(outbound: network.up, inbound: network.down) }
    }
    for index in members.indices where members[index].definition.joinsAtOnce { join(index) }
    startIfAllAreThere()
    let sampling = Task {
      while (try? await Task.sleep(for: .seconds(1))) != nil { await sample() }
    }
    for await input in inputs {
      handle(input, at: MonotonicClock.now())
      if isOver { break }
    }
    sampling.cancel()
    timer?.cancel()
    await sample()
    await leaveAll()
    conclude()
    return result
  }

  // MARK: What comes in

  private func handle(_ input: Input, at now: Instant) {
    switch input {
    case .made(let index, let participant):
      members[index].participant = participant
      if isStopping { Task { await participant.leave() } }
    case .entered(let index):
      guard members[index].participant != nil else { break }
      members[index].isJoining = false
      members[index].hasEntered = true
      tell(index, .joined)
      if members[index].awaits == .entry { finish(index, at: now) }
      startIfAllAreThere()
    case .event(let index, let event, let time): received(event, of: index, at: time)
    case .sampled(let index, let statistics, let time):
      members[index].monitor.sampled(statistics, at: time)
      lookAtResults(index, at: now)
    case .ended(let index, let outcome): ended(index, outcome, at: now)
    case .finishedStep(let index): timeline.finished(index, at: now)
    case .wake: timer = nil
    case .stop: isStopping = true
    }
    while !isStopping, let due = timeline.next(at: now) { carryOut(due, at: now) }
    schedule()
  }

  private func received(_ event: ParticipantEvent, of index: Int, at time: Instant) {
    stage.report(members[index].definition.name, seconds(time), .event(event))
    var type: String?
    if case .session(.signal(let signal)) = event {
      // One's own signals come back, and are no sign of anybody else.
      if signal.isFromSelf { return members[index].monitor.received(event, at: time) }
      type = signal.type ?? ""
    }
    members[index].monitor.received(event, at: time)
    timeline.received(event.name, signalType: type, of: index, at: time)
    lookAtResults(index, at: time)
  }

  private func ended(_ index: Int, _ outcome: Result<Void, any Error>, at now: Instant) {
    let hadEntered = members[index].hasEntered
    members[index].participant = nil
    members[index].isJoining = false
    members[index].hasEntered = false
    if hadEntered { tell(index, .left) }
    if case .failure(let error) = outcome, !isStopping {
      let definition = members[index].definition
      if !hadEntered || !definition.mayBeDisconnected {
        let what = hadEntered ? "its stay ended" : "it could not join"
        result.faults.append(.init(member: definition.name, message: what, error: error))
        isStopping = true
      }
    }
    if members[index].awaits == .end || members[index].awaits == .entry { finish(index, at: now) }
    startIfAllAreThere()
  }

  private func lookAtResults(_ index: Int, at now: Instant) {
    for decided in members[index].monitor.takeResults() { tell(index, .decided(decided)) }
    if case .expectation(let number) = members[index].awaits, members[index].monitor.result(number) != nil {
      finish(index, at: now)
    }
  }

  // MARK: Steps

  private func carryOut(_ due: ScenarioTimeline.Due, at now: Instant) {
    let index = due.member
    let step = members[index].definition.steps[due.step]
    tell(index, .step(step.text))
    switch step.action {
    case .join:
      guard !members[index].isThere else { return finish(index, at: now) }
      members[index].awaits = .entry
      join(index)
    case .leave:
      guard let participant = members[index].participant else { return finish(index, at: now) }
      members[index].awaits = .end
      Task { await participant.leave() }
    case .network(let network):
      let link = members[index].link
      NetworkActor.perform { link.set(outbound: network.up, inbound: network.down) }
      finish(index, at: now)
    case .expect(let expectation):
      members[index].awaits = .expectation(members[index].monitor.add(expectation, at: now))
    case .command(let command): act(index) { [stage] in await stage.obey($0, command) }
    case .loseSocket: act(index) { await $0.loseSocket() }
    }
  }

  /// Who is not there does nothing.
  private func act(_ index: Int, _ body: @escaping @Sendable (Participant) async -> Void) {
    let participant = members[index].participant
    Task { [inbox] in
      if let participant { await body(participant) }
      inbox.yield(.finishedStep(index))
    }
  }

  private func finish(_ index: Int, at now: Instant) {
    members[index].awaits = nil
    timeline.finished(index, at: now)
  }

  private func join(_ index: Int) {
    let (definition, link) = (members[index].definition, members[index].link)
    members[index].isJoining = true
    Task { [stage, inbox] in
      do {
        let participant: Participant
        do {
          participant = try await stage.participant(definition, link) { event in
            inbox.yield(.event(index, event, MonotonicClock.now()))
          }
        } catch let failure as ConnectFailure {
          // From here on a participant tells by itself.
          inbox.yield(.event(index, .connectFailed(failure), MonotonicClock.now()))
          throw failure
        }
        inbox.yield(.made(index, participant))
        Task {
          await participant.untilEntered()
          if await participant.hasEntered { inbox.yield(.entered(index)) }
        }
        do {
          try await participant.run()
        } catch {
          throw await participant.connectFailure ?? error as any Error
        }
        inbox.yield(.ended(index, .success(())))
      } catch {
        inbox.yield(.ended(index, .failure(error)))
      }
    }
  }

  private func startIfAllAreThere() {
    guard start == nil, !isStopping, !members.contains(where: { $0.isJoining }) else { return }
    let now = MonotonicClock.now()
    start = now
    timeline.start(at: now)
    stage.report(nil, 0, .started)
    inbox.yield(.wake)
  }

  // MARK: Time

  private func schedule() {
    guard let start, !isStopping else { return }
    let end = start + scenario.duration
    let deadline = min(timeline.deadline ?? end, end)
    timer?.cancel()
    timer = Task { [inbox] in
      do { try await Task.sleep(for: max(.milliseconds(1), deadline - MonotonicClock.now())) } catch {
        return
      }
      inbox.yield(.wake)
    }
  }

  private var isOver: Bool {
    if isStopping { return true }
    guard let start else { return false }
    if MonotonicClock.now() >= start + scenario.duration { return true }
    guard timeline.isDone else { return false }
    if !members.contains(where: \.isThere) { return true }
    let hasWork = members.contains { !$0.definition.steps.isEmpty || !$0.definition.expectations.isEmpty }
    return scenario.endsWhenDecided && hasWork && members.allSatisfy { $0.monitor.isDecidedOrEmpty }
  }

  private func seconds(_ time: Instant) -> Double { (time - (start ?? began)).seconds }

  private func tell(_ index: Int, _ event: ScenarioEvent) {
    stage.report(members[index].definition.name, seconds(MonotonicClock.now()), event)
  }

  // MARK: Figures and the end

  private func sample() async {
    for index in members.indices where members[index].hasEntered {
      guard let participant = members[index].participant else { continue }
      let statistics = await participant.statistics().json
      inbox.yield(.sampled(index, .object(statistics), MonotonicClock.now()))
    }
  }

  private func leaveAll() async {
    isStopping = true
    for member in members {
      if let participant = member.participant { Task { await participant.leave() } }
    }
    // What has been sampled last comes first.
    inbox.yield(.wake)
    if !members.contains(where: \.isThere) { inbox.finish() }
    for await input in inputs {
      handle(input, at: MonotonicClock.now())
      if !members.contains(where: \.isThere) { inbox.finish() }
    }
    timer?.cancel()
  }

  private func conclude() {
    let now = MonotonicClock.now()
    for due in timeline.pending {
      let member = members[due.member].definition
      // One that waits for an expectation is told by that.
      if case .expectation = members[due.member].awaits { continue }
      result.faults.append(
        .init(
          member: member.name, message: "steps[\(due.step)] (\(member.steps[due.step].text)) was never done",
          error: nil))
    }
    for index in members.indices {
      let results = members[index].monitor.end(at: now)
      for decided in members[index].monitor.takeResults() { tell(index, .decided(decided)) }
      result.checks += results.map { .init(member: members[index].definition.name, result: $0) }
    }
  }
}
