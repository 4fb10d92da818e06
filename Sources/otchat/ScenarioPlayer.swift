import Base
import CommandLineKit
import Glibc
import OTKit
import OpenTokProtocol
import Participant
import Peer
import Scenario
import Terminal

/// Plays a scenario for a command: events to a file, the report to people and CI systems, signals to its end.
struct ScenarioPlayer {
  typealias Observer = @Sendable (ParticipantEvent) -> Void
  typealias Telling = @Sendable (_ member: String?, _ seconds: Double, ScenarioEvent) -> Void

  /// What came of it.
  struct Outcome {
    let result: ScenarioResult
    /// That ended it, if one did.
    let signal: Int32?
  }

  private let scenario: Scenario
  private let events: EventWriter?
  private let junit: Int32?
  private let report: ScenarioReport
  private let tell: Telling

  /// - Parameters:
  ///   - arguments: of a command with `--events`, `--quiet`, and perhaps `--junit`.
  ///   - tell: told instead of the report of what happens.
  init(_ scenario: Scenario, _ arguments: Arguments, tell: Telling? = nil) throws {
    self.scenario = scenario
    events = try arguments.text("events").map { path in
      EventWriter(descriptor: try EventOutput.open(path)) { _ in }
    }
    let hasJUnit = arguments.command.flag(named: "junit") != nil
    junit = try hasJUnit ? arguments.text("junit").map { try EventOutput.open($0) } : nil
    let hasCapture = arguments.command.flag(named: "pcap") != nil
    let isOutputTaken = arguments.text("events") == "-" || (hasCapture && arguments.text("pcap") == "-")
    let report = ScenarioReport(scenario, isQuiet: arguments.boolean("quiet"), ownsOutput: !isOutputTaken)
    self.report = report
    self.tell = tell ?? { report.tell($0, $1, $2) }
  }

  /// - Parameters:
  ///   - archives: told of what happens to all participants.
  ///   - participant: makes one that has not joined yet.
  func play(
    _ archives: ArchiveControl,
    _ participant:
      @escaping @Sendable (Scenario.Member, ImpairedLink, @escaping Observer) async throws ->
      Participant
  ) async -> Outcome {
    let run = ScenarioRun(
      scenario,
      stage: .init(
        participant: { member, link, observer in
          try await participant(member, link) {
            archives.note($0)
            observer($0)
          }
        }, obey: { await $0.obey($1, archives) { Output.note($0) } },
        report: { [events, tell] member, seconds, event in
          switch event {
          case .event(let event): events?.write(Self.record(event, of: member))
          case .decided(let result): events?.write(Self.record(.expectation(result), of: member))
          default: break
          }
          tell(member, seconds, event)
        }))
    let ending = Lock<Int32?>(nil)
    let signals = Task {
      for await signal in SignalWatch.stream(of: [SIGINT, SIGTERM, SIGHUP]) where signal != 0 {
        // Asked twice: whoever asks has waited long enough.
        if ending.withLock({ $0 }) != nil { exit(128 + signal) }
        ending.withLock { $0 = signal }
        run.stop()
      }
    }
    let result = await run.run()
    signals.cancel()
    events?.close()
    return Outcome(result: result, signal: ending.withLock { $0 })
  }

  /// The verdict: told, written, and thrown if it is bad.
  func finish(_ outcome: Outcome) throws {
    report.conclude(outcome.result)
    if let junit {
      let seconds = (MonotonicClock.now() - ProcessClock.start).seconds
      try EventOutput.write(report.junit(outcome.result, seconds: seconds), to: junit, named: "--junit")
    }
    if let signal = outcome.signal { exit(128 + signal) }
    try Self.check(outcome.result)
    // A reader that has read enough is no fault.
    if let number = events?.loss, number != EPIPE { throw Failure(lost: number, of: "events") }
  }

  private static func record(_ event: ParticipantEvent, of member: String?) -> JSON {
    var record = event.json(at: WallClock.microseconds())
    record["participant"] = member.map(JSON.string) ?? .null
    return record
  }

  /// What ended a participant's stay comes before what was expected of it.
  static func check(_ result: ScenarioResult) throws {
    for fault in result.faults {
      guard let error = fault.error else { continue }
      let failure = Failure(error)
      throw Failure(
        failure.code, "\(fault.member): \(fault.message): \(failure.message)", hint: failure.hint)
    }
    var parts: [String] = []
    if !result.failed.isEmpty {
      parts.append("\(result.failed.count) of \(result.checks.count) expectations failed")
    }
    let undone = result.faults.count
    if undone > 0 { parts.append("\(undone) \(undone == 1 ? "step was" : "steps were") never done") }
    if !parts.isEmpty { throw Failure(.expectationFailed, parts.joined(separator: ", ")) }
  }
}
