import Base
import CommandLineKit
import OTKit
import OpenTokProtocol
import Participant
import Testing

@testable import Scenario

@Suite struct ScenarioRunTests {
  private static let program = Program(
    name: "otchat", version: "1", summary: "", commands: [Command("connect", summary: "", flags: [])])

  private static func members(_ names: String...) throws -> [Scenario.Member] {
    guard case .run(let flags) = try program.parse(["connect"]) else { return [] }
    return names.map { .init(name: $0, role: .publisher, flags: flags) }
  }

  /// What a scenario reports, in words.
  private static func play(
    _ members: [Scenario.Member], failingWith failure: any Error
  ) async -> (told: [String], faults: [ScenarioResult.Fault]) {
    let told = Lock<[String]>([])
    let run = ScenarioRun(
      Scenario(name: "s", duration: .seconds(60), members: members),
      stage: .init(
        participant: { _, _, _ in throw failure }, obey: { _, _ in },
        report: { member, _, event in
          let words: String
          switch event {
          case .event(let event): words = event.json(at: 0).text
          case .started: words = "started"
          default: words = "something else"
          }
          told.withLock { $0.append("\(member ?? "-"): \(words)") }
        }))
    let result = await run.run()
    return (told.withLock { $0 }, result.faults)
  }

  @Test func whoGetsNoCredentialsIsToldAsAnEvent() async throws {
    let failure = ConnectFailure(
      OpenTokError.connectionRefused(host: "h", port: 1), [.init(.credentials, .milliseconds(20))])
    let (told, faults) = await Self.play(try Self.members("A"), failingWith: failure)
    #expect(
      told == [
        #"A: {"event":"error","time":0.0,"code":1006,"name":"OT_CONNECT_FAILED","message":"nothing answers at h port 1: connection refused","#
          + #""stage":"credentials","stages":{"credentials":0.02}}"#
      ])
    #expect(faults.map(\.member) == ["A"] && faults.map(\.message) == ["it could not join"])
  }

  /// A wrong flag, say: the command says it, and there is no event of OpenTok's for it.
  @Test func whatElseStopsAParticipantIsTheCommandsError() async throws {
    let (told, faults) = await Self.play(try Self.members("A"), failingWith: ScenarioError("", "no"))
    #expect(told == [] && faults.count == 1)
  }
}
