import CommandLineKit
import OpenTokProtocol
import Participant
import Terminal

/// Reads the steps of one participant: `{"at": 2, "do": "mute-mic"}`.
struct StepReader {
  private static let keys = ["at", "on", "of", "after", "do", "network", "expect"]
  private static let lines = [
    "mute-mic", "unmute-mic", "toggle-mic", "mute-subscriber", "unmute-subscriber", "toggle-subscriber",
    "mute-camera", "unmute-camera", "toggle-camera", "camera", "swap-camera", "say", "signal", "archive",
    "join", "rejoin", "leave", "quit", "lose-socket", "mute-all", "mute", "lift-mute", "unpublish",
    "disconnect", "participants",
  ]

  /// Which participant it is.
  let index: Int
  let names: [String]
  private var latest = Duration.zero

  init(index: Int, names: [String]) {
    self.index = index
    self.names = names
  }

  mutating func read(_ reader: JSONReader) throws(ScenarioError) -> Scenario.Step {
    try reader.expectKeys(Self.keys)
    let trigger = try trigger(reader)
    let (action, text) = try action(reader)
    return Scenario.Step(trigger, action, text: text)
  }

  // MARK: When

  private mutating func trigger(_ reader: JSONReader) throws(ScenarioError) -> Scenario.Trigger {
    let after = try reader["after"]?.seconds()
    if let of = reader["of"], reader["on"] == nil { throw of.fail("goes with 'on'") }
    switch (reader["at"], reader["on"]) {
    case (_?, let on?): throw on.fail("a step has 'at' or 'on', not both")
    case (let at?, nil):
      if let after = reader["after"] { throw after.fail("a step has 'at' or 'after', not both") }
      let time = try at.seconds()
      guard time >= latest else {
        throw at.fail("is before the step that comes first (\(latest.components.seconds) s)")
      }
      latest = time
      return .at(time)
    case (nil, let on?):
      let (event, type) = try event(on)
      return .on(event: event, signalType: type, member: try member(reader["of"]), after: after ?? .zero)
    case (nil, nil): return .after(after ?? .zero)
    }
  }

  /// `streamCreated`, or `signal:TYPE`.
  private func event(_ reader: JSONReader) throws(ScenarioError) -> (String, type: String?) {
    let text = try reader.text()
    let parts = text.split(separator: ":", maxSplits: 1).map(String.init)
    if parts.count == 2, parts[0] == "signal" { return ("signal", parts[1]) }
    guard ParticipantEvent.names.contains(text) else {
      throw reader.fail(
        "'\(text)' is no event",
        hint: Suggestion.nearest(to: text, among: ParticipantEvent.names).map { "did you mean '\($0)'?" })
    }
    return (text, nil)
  }

  private func member(_ reader: JSONReader?) throws(ScenarioError) -> Int {
    guard let reader else { return index }
    let name = try reader.text()
    guard let index = names.firstIndex(of: name) else {
      throw reader.fail(
        "nobody is called '\(name)'",
        hint: Suggestion.nearest(to: name, among: names).map { "did you mean '\($0)'?" })
    }
    return index
  }

  // MARK: What

  private func action(_ reader: JSONReader) throws(ScenarioError) -> (Scenario.Action, text: String) {
    let given = ["do", "network", "expect"].filter { reader[$0] != nil }
    guard given.count == 1 else {
      throw reader.fail("needs exactly one of 'do', 'network', 'expect'")
    }
    if let network = reader["network"] {
      let network = try Scenario.Network(network)
      return (.network(network), network.text)
    }
    if let expect = reader["expect"] {
      let expectation = try Scenario.expectation(expect)
      guard expectation.isLimited else {
        throw expect.fail("a step has to end: add 'within SECONDS'")
      }
      return (.expect(expectation), "expect \(expectation.text)")
    }
    guard let line = reader["do"] else { throw reader.fail("has nothing to do") }
    return (try command(line), try line.text())
  }

  /// A line as standard input takes it, or one of those that only scenarios have.
  private func command(_ reader: JSONReader) throws(ScenarioError) -> Scenario.Action {
    let line = try reader.text()
    let words = line.split(separator: " ", maxSplits: 1).map(String.init)
    let rest = words.count > 1 ? words[1] : ""
    func name() throws(ScenarioError) -> String {
      guard !rest.isEmpty else { throw reader.fail("\(words[0]) needs a participant's name") }
      guard names.contains(rest) else { throw reader.fail("nobody is called '\(rest)'") }
      return rest
    }
    let action: Scenario.Action
    switch words.first {
    case "join", "rejoin": action = .join
    case "leave", "quit": action = .leave
    case "lose-socket": action = .loseSocket
    case "mute": return .command(.mute(who: try name()))
    case "unpublish": return .command(.unpublish(who: try name()))
    case "disconnect": return .command(.disconnect(who: try name()))
    case "camera":
      guard rest == "on" || rest == "off" else { throw reader.fail("camera needs on or off") }
      return .command(.camera(rest == "on" ? .on : .off))
    default: return .command(try callCommand(line, reader))
    }
    guard rest.isEmpty else { throw reader.fail("nothing may follow \(words[0])") }
    return action
  }

  private func callCommand(_ line: String, _ reader: JSONReader) throws(ScenarioError) -> CallCommand {
    do throws(CommandLineError) {
      guard let command = try CallCommand.parse(line: line), command != .help else {
        throw .unknown(line)
      }
      return command
    } catch {
      guard case .unknown(let word) = error else { throw reader.fail(error.message) }
      throw reader.fail(
        "'\(word)' is nothing that a participant can do",
        hint: Suggestion.nearest(to: word, among: Self.lines).map { "did you mean '\($0)'?" }
          ?? "one of: \(Self.lines.joined(separator: ", "))")
    }
  }
}
