import CommandLineKit
import OpenTokProtocol
import Participant
import Peer
import Terminal
import Testing

@testable import Scenario

@Suite struct ScenarioParserTests {
  /// A `connect` with some flags of each kind.
  private static let program = Program(
    name: "otchat", version: "1", summary: "",
    commands: [
      Command(
        "connect", summary: "",
        flags: [
          Flag("name", .text("TEXT"), group: "", ""),
          Flag(
            "video-source", .choice("SPEC", [Choice("test", ""), Choice("noise", "")]), repeatable: true,
            group: "", ""),
          Flag("frame-rate", .integer("N", 1...60), group: "", ""), Flag("no-publish", group: "", ""),
          Flag("server", .text("URL"), group: "", ""),
          Flag("say", .text("TEXT"), configurable: false, group: "", ""),
          Flag("stereo", group: "", availability: .notYet, ""),
        ])
    ])

  private static func flags() throws -> Arguments {
    guard case .run(let flags) = try program.parse(["connect"]) else { throw ScenarioError("", "no flags") }
    return flags
  }

  private func parse(_ text: String) throws -> Scenario {
    try Scenario(try JSON(parsing: Array(text.utf8)), flags: try Self.flags())
  }

  @Test func everythingIsRead() throws {
    let scenario = try parse(
      """
      {"name": "n", "duration": 12.5, "seed": 9, "about": "x", "participants": [
        {"name": "A", "role": "moderator", "frame-rate": 10, "video-source": ["test", "noise"],
         "network": {"loss": 5, "delay": 40, "jitter": 10, "rate": 800},
         "steps": [{"at": 2, "do": "mute-mic"}, {"on": "signal:go", "of": "B 2", "after": 1, "do": "say hi there"},
                   {"network": {"up": {"loss": 100}}}, {"expect": "subscribers.count == 1 within 5s"},
                   {"do": "camera off"}, {"do": "disconnect B 1"}, {"do": "leave"}, {"after": 2, "do": "rejoin"}],
         "expect": ["event signal within 5s"]},
        {"name": "B", "count": 2, "no-publish": true, "steps": [{"at": 3, "do": "join"}]}]}
      """)
    #expect(scenario.name == "n" && scenario.seed == 9 && scenario.duration == .seconds(12.5))
    #expect(scenario.members.map(\.name) == ["A", "B 1", "B 2"])
    let (first, last) = (scenario.members[0], scenario.members[2])
    #expect(first.role == .moderator && last.role == .publisher)
    #expect(
      first.flags.integer("frame-rate") == 10 && first.flags.texts("video-source") == ["test", "noise"])
    #expect(last.flags.boolean("no-publish") && last.flags.text("name") == "B 2")
    #expect(first.joinsAtOnce && !last.joinsAtOnce)
    #expect(first.network.up == first.network.down && first.network.up.loss == 0.05)
    #expect(first.network.up.rate == 800_000 && first.network.up.delay == .milliseconds(40))
    #expect(first.expectations.map(\.text) == ["event signal within 5s"])
    let steps = first.steps
    #expect(
      steps[0] == .init(.at(.seconds(2)), .command(.microphone(.off)), text: "mute-mic"))
    #expect(steps[1].trigger == .on(event: "signal", signalType: "go", member: 2, after: .seconds(1)))
    #expect(steps[1].action == .command(.say("hi there")))
    var up = Impairment()
    up.loss = 1
    #expect(steps[2].action == .network(.init(up: up)) && steps[2].trigger == .after(.zero))
    #expect(steps[2].text == "network up loss 100 %; down clear")
    #expect(steps[3].action == .expect(try Expectation(parsing: "subscribers.count == 1 within 5s")))
    #expect(
      steps[4].action == .command(.camera(.off)) && steps[5].action == .command(.disconnect(who: "B 1")))
    #expect(steps[6].action == .leave && steps[7].action == .join && steps[7].trigger == .after(.seconds(2)))
  }

  @Test(
    arguments: [
      ("[]", "", "a scenario is a JSON object: { … }", nil),
      ("{}", "participants", "somebody has to take part", nil),
      (#"{"participant": []}"#, "participant", "unknown key", "did you mean 'participants'?"),
      (#"{"participants": [{}]}"#, "participants[0].name", "every participant needs a name", nil),
      (
        #"{"participants": [{"name": "A"}, {"name": "A"}]}"#, "participants[1].name", "'A' is there twice",
        nil
      ),
      (
        #"{"duration": "x", "participants": []}"#, "duration",
        "should be a number of seconds from 0 to 86400", nil
      ),
    ] as [(String, String, String, String?)])
  func faultsOfTheWhole(_ text: String, _ path: String, _ message: String, _ hint: String?) throws {
    #expect(throws: ScenarioError(path, message, hint: hint)) { try parse(text) }
  }

  @Test(
    arguments: [
      (#""frame-rte": 3"#, "frame-rte", "unknown key", "did you mean 'frame-rate'?"),
      (#""frame-rate": 61"#, "frame-rate", "'61' is not a whole number from 1 to 60", nil),
      (#""frame-rate": true"#, "frame-rate", "should be a number", nil),
      (
        #""video-source": "tset""#, "video-source", "'tset' is not one of test, noise", "did you mean 'test'?"
      ),
      (#""server": "x""#, "server", "belongs to no participant, but to the run", nil),
      (#""say": "x""#, "say", "unknown key", nil),
      (#""stereo": true"#, "stereo", "is not in this version yet", nil),
      (#""role": "boss""#, "role", "is none of subscriber, publisher, publisheronly, moderator", nil),
      (#""network": {"los": 3}"#, "network.los", "unknown key", "did you mean 'loss'?"),
      (
        #""network": {"down": {"loss": 101}}"#, "network.down.loss",
        "should be a number of percent from 0 to 100", nil
      ),
      (
        #""expect": ["x"]"#, "expect[0]",
        "'x' is no figure, such as subscriber.video.framesPerSecond (character 1)",
        "for example \"subscriber.video.framesPerSecond >= 15 within 10s\""
      ),
    ] as [(String, String, String, String?)])
  func faultsOfAParticipant(_ member: String, _ path: String, _ message: String, _ hint: String?) throws {
    #expect(throws: ScenarioError("participants[1].\(path)", message, hint: hint)) {
      try parse(#"{"participants": [{"name": "A"}, {"name": "B", \#(member)}]}"#)
    }
  }

  @Test(
    arguments: [
      (#"{"at": -1, "do": "leave"}"#, "[1].at", "should be a number of seconds from 0 to 86400", nil),
      (#"{"at": 1, "do": "leave"}"#, "[1].at", "is before the step that comes first (2 s)", nil),
      (#"{"at": 3, "on": "signal", "do": "leave"}"#, "[1].on", "a step has 'at' or 'on', not both", nil),
      (#"{"at": 3, "after": 1, "do": "leave"}"#, "[1].after", "a step has 'at' or 'after', not both", nil),
      (#"{"on": "sginal", "do": "leave"}"#, "[1].on", "'sginal' is no event", "did you mean 'signal'?"),
      (#"{"of": "A", "do": "leave"}"#, "[1].of", "goes with 'on'", nil),
      (
        #"{"on": "signal", "of": "Alic", "do": "leave"}"#, "[1].of", "nobody is called 'Alic'",
        "did you mean 'Alice'?"
      ),
      (#"{"when": 3, "do": "leave"}"#, "[1].when", "unknown key", nil),
      (#"{"at": 3}"#, "[1]", "needs exactly one of 'do', 'network', 'expect'", nil),
      (
        #"{"do": "mute-mik"}"#, "[1].do", "'mute-mik' is nothing that a participant can do",
        "did you mean 'mute-mic'?"
      ),
      (#"{"do": "leave now"}"#, "[1].do", "nothing may follow leave", nil),
      (#"{"do": "mute-mic now"}"#, "[1].do", "nothing may follow mute-mic", nil),
      (#"{"do": "say"}"#, "[1].do", "say needs a text", nil),
      (#"{"do": "camera"}"#, "[1].do", "camera needs on or off", nil),
      (#"{"do": "disconnect Bob"}"#, "[1].do", "nobody is called 'Bob'", nil),
      (
        #"{"expect": "subscribers.count == 1"}"#, "[1].expect", "a step has to end: add 'within SECONDS'", nil
      ),
    ] as [(String, String, String, String?)])
  func faultsOfAStep(_ step: String, _ path: String, _ message: String, _ hint: String?) throws {
    #expect(throws: ScenarioError("participants[0].steps\(path)", message, hint: hint)) {
      try parse(#"{"participants": [{"name": "Alice", "steps": [{"at": 2, "do": "mute-mic"}, \#(step)]}]}"#)
    }
  }
}
