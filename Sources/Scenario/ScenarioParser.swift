import CommandLineKit
import OpenTokProtocol
import Participant
import Peer
import Base

extension Scenario {
  private static let keys = ["name", "about", "duration", "seed", "participants"]
  /// Of a participant, beside `connect`'s flags.
  private static let memberKeys = [
    "name", "role", "count", "steps", "expect", "network", "may-be-disconnected",
  ]
  /// What the run decides, or what needs a terminal.
  private static let foreignFlags: Set = [
    "api-key", "session-id", "token", "server", "room", "api-url", "render", "filter", "self-view", "events",
    "duration", "ca", "insecure",
  ]
  private static let maximumMembers = 200

  /// - Parameters:
  ///   - json: the scenario file's content.
  ///   - flags: those of `connect`, none given.
  package init(_ json: JSON, flags: Arguments) throws(ScenarioError) {
    let reader = JSONReader(json: json, path: "")
    guard json.objectValue != nil else { throw reader.fail("a scenario is a JSON object: { … }") }
    try reader.expectKeys(Self.keys)
    let name = try reader["name"]?.text() ?? "scenario"
    _ = try reader["about"]?.text()
    let duration = try reader["duration"]?.seconds() ?? .seconds(60)
    let seed = UInt64(try reader["seed"]?.number(0...1e9, "losses' seed") ?? 1)
    guard let list = try reader["participants"]?.list(), !list.isEmpty else {
      throw ScenarioError("participants", "somebody has to take part")
    }
    var readers: [(JSONReader, name: String)] = []
    for one in list {
      let count = Int(try one["count"]?.number(1...Double(Self.maximumMembers), "participants") ?? 1)
      guard let name = try one["name"]?.text() else {
        throw ScenarioError(one.at("name"), "every participant needs a name")
      }
      for number in 1...count { readers.append((one, count == 1 ? name : "\(name) \(number)")) }
      guard readers.count <= Self.maximumMembers else {
        throw one.fail("more than \(Self.maximumMembers) participants")
      }
    }
    let names = readers.map(\.name)
    if let twice = readers.indices.first(where: { names[..<$0].contains(names[$0]) }) {
      throw ScenarioError(readers[twice].0.at("name"), "'\(names[twice])' is there twice")
    }
    self.init(name: name, duration: duration, seed: seed, members: [])
    for (index, (one, name)) in readers.enumerated() {
      members.append(try Self.member(one, name: name, index: index, names: names, flags: flags))
    }
  }

  private static func member(
    _ reader: JSONReader, name: String, index: Int, names: [String], flags: Arguments
  ) throws(ScenarioError) -> Member {
    var flags = flags
    for (key, value) in try reader.object() where key == "name" || !memberKeys.contains(key) {
      let place = reader.at(key)
      guard let flag = flags.command.flag(named: key), flag.isConfigurable, !foreignFlags.contains(key) else {
        if foreignFlags.contains(key) {
          throw ScenarioError(place, "belongs to no participant, but to the run")
        }
        let known = memberKeys + flags.command.flags.filter(\.isConfigurable).map(\.name)
        throw ScenarioError(
          place, "unknown key",
          hint: Suggestion.nearest(to: key, among: known).map { "did you mean '\($0)'?" })
      }
      try merge(key, key == "name" ? .text(name) : ConfigurationValue(value), into: &flags, at: place)
    }
    var member = Member(
      name: name, role: .publisher, flags: flags,
      mayBeDisconnected: try reader["may-be-disconnected"]?.boolean() ?? false)
    if let role = reader["role"] {
      guard let known = Role(rawValue: try role.text()) else {
        throw role.fail("is none of \(Role.allCases.map(\.rawValue).joined(separator: ", "))")
      }
      member.role = known
    }
    if let network = reader["network"] { member.network = try Network(network) }
    for text in try reader["expect"]?.list() ?? [] {
      member.expectations.append(try expectation(text))
    }
    var steps = StepReader(index: index, names: names)
    for step in try reader["steps"]?.list() ?? [] { member.steps.append(try steps.read(step)) }
    return member
  }

  private static func merge(
    _ key: String, _ value: ConfigurationValue, into flags: inout Arguments, at place: String
  ) throws(ScenarioError) {
    do throws(UsageError) {
      try flags.merge(file: "", entries: [(key, value)])
    } catch {
      switch error {
      case .wrongKind(_, let expected, _): throw ScenarioError(place, "should be \(expected)")
      case .invalidValue(_, let text, let expected, _, _):
        throw ScenarioError(
          place, "\(text.map { "'\($0)' is not" } ?? "it is not") \(expected)", hint: error.hint)
      case .notYet: throw ScenarioError(place, "is not in this version yet")
      default: throw ScenarioError(place, error.message, hint: error.hint)
      }
    }
  }

  static func expectation(_ reader: JSONReader) throws(ScenarioError) -> Expectation {
    let text = try reader.text()
    do throws(ExpectationError) {
      return try Expectation(parsing: text)
    } catch {
      throw reader.fail(
        "\(error.message) (character \(error.position))",
        hint: "for example \"subscriber.video.framesPerSecond >= 15 within 10s\"")
    }
  }
}

extension Scenario.Network {
  private static let keys = ["loss", "delay", "jitter", "rate", "queue"]

  /// `{"loss": 5, "delay": 40}` for both directions, or `{"up": {…}, "down": {…}}`.
  init(_ reader: JSONReader) throws(ScenarioError) {
    self.init()
    let isSplit = reader["up"] != nil || reader["down"] != nil
    try reader.expectKeys(isSplit ? ["up", "down"] : Self.keys + ["up", "down"])
    guard isSplit else {
      up = try Self.impairment(reader)
      down = up
      return
    }
    if let direction = reader["up"] { up = try Self.impairment(direction) }
    if let direction = reader["down"] { down = try Self.impairment(direction) }
  }

  private static func impairment(_ reader: JSONReader) throws(ScenarioError) -> Impairment {
    try reader.expectKeys(keys)
    var impairment = Impairment()
    impairment.loss = try reader["loss"]?.number(0...100, "percent") ?? 0
    impairment.loss /= 100
    impairment.delay = try reader["delay"]?.milliseconds() ?? .zero
    impairment.jitter = try reader["jitter"]?.milliseconds() ?? .zero
    impairment.rate = (try reader["rate"]?.number(8...1e6, "kbit/s")).map { Int($0 * 1000) }
    impairment.queue = try reader["queue"]?.milliseconds() ?? impairment.queue
    return impairment
  }

  /// For the report.
  var text: String {
    func one(_ impairment: Impairment) -> String {
      if impairment.isTransparent { return "clear" }
      var parts: [String] = []
      if impairment.loss > 0 { parts.append("loss \(ExpectationMonitor.shown(impairment.loss * 100)) %") }
      if impairment.delay > .zero {
        parts.append("delay \(ExpectationMonitor.shown(impairment.delay.milliseconds)) ms")
      }
      if impairment.jitter > .zero {
        parts.append("jitter \(ExpectationMonitor.shown(impairment.jitter.milliseconds)) ms")
      }
      if let rate = impairment.rate { parts.append("rate \(rate / 1000) kbit/s") }
      return parts.joined(separator: ", ")
    }
    return up == down ? "network \(one(up))" : "network up \(one(up)); down \(one(down))"
  }
}
