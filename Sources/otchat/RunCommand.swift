import Base
import CommandLineKit
import Foundation
import OTKit
import OpenTokProtocol
import Participant
import Peer
import Scenario
import Terminal

/// `otchat run`: a scenario, told as it goes, and its verdict.
struct RunCommand {
  private let arguments: Arguments

  init(_ arguments: Arguments) { self.arguments = arguments }

  func run() async throws {
    if arguments.boolean("list") {
      for scenario in BuiltInScenario.allCases {
        Output.write("\(scenario.rawValue)\t\(scenario.about)\n")
      }
      return
    }
    if let scenario = arguments.text("print").flatMap(BuiltInScenario.init(rawValue:)) {
      Output.write(String(decoding: scenario.json, as: UTF8.self))
      return
    }
    _ = try LogOutput(arguments)
    guard let name = arguments.operands.first else {
      throw Failure(
        .usage, "'run' needs SCENARIO",
        hint: "a file, or one of \(BuiltInScenario.allCases.map(\.rawValue).joined(separator: ", "))")
    }
    let scenario = try Self.read(name)
    let events = try arguments.text("events").map { path in
      EventWriter(descriptor: try EventOutput.open(path)) { _ in }
    }
    let junit = try arguments.text("junit").map { try EventOutput.open($0) }
    let report = ScenarioReport(
      scenario, isQuiet: arguments.boolean("quiet"), ownsOutput: arguments.text("events") != "-")
    let (result, signal) = try await play(scenario) { member, seconds, event in
      if case .event(let event) = event { events?.write(Self.record(event, of: member)) }
      if case .decided(let result) = event { events?.write(Self.record(.expectation(result), of: member)) }
      report.tell(member, seconds, event)
    }
    events?.close()
    report.conclude(result)
    if let junit {
      let seconds = (MonotonicClock.now() - ProcessClock.start).seconds
      try FileHandle(fileDescriptor: junit, closeOnDealloc: true)
        .write(contentsOf: Data(report.junit(result, seconds: seconds).utf8))
    }
    if let signal { exit(128 + signal) }
    try Self.check(result)
  }

  /// A file, or a name.
  static func read(_ name: String) throws -> Scenario {
    let data: Data
    if let builtIn = BuiltInScenario(rawValue: name) {
      data = Data(builtIn.json)
    } else if let content = FileManager.default.contents(atPath: name) {
      data = content
    } else {
      let near = Suggestion.nearest(to: name, among: BuiltInScenario.allCases.map(\.rawValue))
      throw Failure(
        .inputMissing, "there is no scenario file \(name)",
        hint: near.map { "did you mean '\($0)'?" } ?? "'otchat run --list' lists those that are built in")
    }
    let json: JSON
    do throws(JSONError) {
      json = try JSON(parsing: Array(data))
    } catch {
      throw Failure(.badInput, "\(name) is not JSON: \(ConfigurationFile.place(of: error, in: data))")
    }
    do throws(ScenarioError) {
      return try Scenario(json, flags: try connectFlags())
    } catch {
      throw Failure(.badInput, "\(name): \(error.text)", hint: error.hint)
    }
  }

  /// Those of `connect`, as defaults of a participant without devices.
  private static func connectFlags() throws(ScenarioError) -> Arguments {
    do throws(UsageError) {
      guard case .run(var flags) = try Commands.program.parse(["connect"]) else {
        throw .missingCommand(after: [], candidates: [])
      }
      try flags.merge(
        file: "", entries: [("video-source", .list([.text("test")])), ("audio-source", .text("test"))])
      try flags.merge(file: "", entries: [("audio-sink", .text("null"))])
      return flags
    } catch {
      throw ScenarioError("", error.message)
    }
  }

  /// - Returns: the signal that ended it, if one did.
  private func play(
    _ scenario: Scenario, report: @escaping @Sendable (String?, Double, ScenarioEvent) -> Void
  ) async throws -> (ScenarioResult, signal: Int32?) {
    let credentials = try await ScenarioCredentials(arguments)
    let trust = ConnectOptions.trust(arguments)
    let archives = ArchiveControl(
      ArchiveService(server: credentials.url, room: nil, trust: trust, timeout: .seconds(10)))
    let run = ScenarioRun(
      scenario,
      stage: .init(
        participant: { member, link, observer in
          let options = try ConnectOptions(member.flags, environment: [:])
          var session = options.session
          session.trust = trust
          session.link = link
          let timeout = ConnectOptions.timeout(member.flags)
          let given = try await credentials.get(member.role, timeout: timeout)
          archives.enter(given)
          session.start = MonotonicClock.now()
          return Participant(
            credentials: given, configuration: session, publisher: options.publisher,
            options: options.participant, renderers: { _ in nil },
            observer: {
              archives.note($0)
              observer($0)
            })
        }, obey: { await $0.obey($1, archives) { Output.note($0) } }, report: report))
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
    await credentials.embedded?.stop()
    return (result, ending.withLock { $0 })
  }

  private static func record(_ event: ParticipantEvent, of member: String?) -> JSON {
    var record = event.json(at: WallClock.microseconds())
    record["participant"] = member.map(JSON.string) ?? .null
    return record
  }

  /// What ended a participant's stay comes before what was expected of it.
  private static func check(_ result: ScenarioResult) throws {
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
