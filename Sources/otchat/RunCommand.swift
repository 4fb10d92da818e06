import Base
import CommandLineKit
import FoundationEssentials
import Glibc
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
    let credentials = try await ScenarioCredentials(arguments)
    let capture = try CaptureOutput(arguments)
    let player = try ScenarioPlayer(scenario, arguments)
    let trust = ConnectOptions.trust(arguments)
    let archives = credentials.archives()
    let played = await player.play(archives) { member, link, observer in
      var options = try ConnectOptions(member.flags, environment: [:])
      var session = options.session
      session.trust = trust
      session.link = link
      session.capture = capture.capture
      let (given, time) = try await credentials.get(
        member.role, timeout: ConnectOptions.timeout(member.flags))
      options.participant.credentialsTime = time
      archives.enter(given)
      session.start = MonotonicClock.now()
      return Participant(
        credentials: given, configuration: session, publisher: options.publisher,
        options: options.participant, renderers: { _ in nil }, observer: observer)
    }
    await credentials.embedded?.stop()
    capture.close()
    try player.finish(played)
  }

  /// A file, or a name.
  static func read(_ name: String) throws -> Scenario {
    let data: Data
    if let builtIn = BuiltInScenario(rawValue: name) {
      data = Data(builtIn.json)
    } else if let content = FileManager.default.contents(atPath: name) {
      data = content
    } else if FileManager.default.fileExists(atPath: name) {
      throw Failure(
        .inputMissing, "cannot read the scenario file \(name): it is a folder, or may not be read")
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
  static func connectFlags() throws(ScenarioError) -> Arguments {
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
}
