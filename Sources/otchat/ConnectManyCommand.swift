import Base
import CommandLineKit
import FoundationEssentials
import Glibc
import OTKit
import Participant
import Scenario

/// `otchat connect --count N`: the same participant N times in this process.
struct ConnectManyCommand {
  private let arguments: Arguments
  private let count: Int
  private let capture: CaptureOutput

  /// - Parameter capture: of all participants together.
  init(_ arguments: Arguments, count: Int, capture: CaptureOutput) {
    self.arguments = arguments
    self.count = count
    self.capture = capture
  }

  func run() async throws {
    let environment = ProcessInfo.processInfo.environment
    let expectations = try ConnectOptions(arguments, environment: environment).participant.expectations
    let name = arguments.text("name") ?? ConnectOptions.defaultName(environment)
    let members = (1...count).map {
      Scenario.Member(
        name: "\(name) \($0)", role: .publisher, flags: arguments, expectations: expectations)
    }
    // Each leaves by its own --duration or --until.
    let player = try ScenarioPlayer(
      Scenario(name: "connect", duration: .seconds(31_536_000), members: members), arguments)
    let source = try await CredentialSource.resolve(arguments)
    let archives = ArchiveControl(source.archives)
    archives.enter(source.credentials)
    let played = await player.play(archives) { [arguments, capture] member, _, observer in
      var options = try ConnectOptions(arguments, environment: environment, name: member.name)
      options.participant.expectations = []
      options.participant.credentialsTime = source.time
      options.session.start = ProcessClock.start
      options.session.capture = capture.capture
      return Participant(
        credentials: source.credentials, configuration: options.session, publisher: options.publisher,
        options: options.participant, renew: source.renew, renderers: { _ in nil }, observer: observer)
    }
    for file in await source.end() where !arguments.boolean("quiet") { Output.note("archive: \(file)") }
    capture.close()
    try player.finish(played)
  }
}
