import Base
import CommandLineKit
import Glibc
import OTKit
import Participant
import Scenario

/// `otchat load`: publishers and subscribers that join, stay and are looked at.
struct LoadCommand {
  private let arguments: Arguments

  init(_ arguments: Arguments) { self.arguments = arguments }

  func run() async throws {
    _ = try LogOutput(arguments)
    let interval = try decodingInterval()
    let (publishers, subscribers) = (
      arguments.integer("publishers") ?? 1, arguments.integer("subscribers") ?? 10
    )
    guard publishers + subscribers > 0 else { throw Failure(.usage, "nobody takes part") }
    let scenario = try scenario(publishers, subscribers)
    let names = Set(scenario.members.dropFirst(publishers).map(\.name))
    let meter = LoadMeter(scenario, subscribers: names)
    let json = try arguments.text("json").map { try EventOutput.open($0) }
    let capture = try CaptureOutput(arguments)
    let credentials = try await ScenarioCredentials(arguments)
    let isTold = !arguments.boolean("quiet")
    let player = try ScenarioPlayer(scenario, arguments) { meter.take($0, $1, $2) }
    let telling = Task {
      while isTold, (try? await Task.sleep(for: .seconds(1))) != nil { Output.line(meter.line) }
    }
    // Which subscribers decode, by their place.
    let decoding = Set(
      scenario.members.dropFirst(publishers).enumerated().filter { index, _ in
        interval.map { index % $0 == 0 } ?? false
      }.map(\.element.name))
    let trust = ConnectOptions.trust(arguments)
    let played = await player.play(credentials.archives()) { member, link, observer in
      var options = try ConnectOptions(member.flags, environment: [:])
      options.session.trust = trust
      options.session.start = MonotonicClock.now()
      options.session.capture = capture.capture
      options.participant.decodes = decoding.contains(member.name)
      let (given, time) = try await credentials.get(
        member.role, timeout: ConnectOptions.timeout(member.flags))
      options.participant.credentialsTime = time
      return Participant(
        credentials: given, configuration: options.session, publisher: options.publisher,
        options: options.participant, renderers: { _ in nil }, observer: observer)
    }
    telling.cancel()
    await credentials.embedded?.stop()
    capture.close()
    let report = meter.report
    if arguments.text("pcap") == "-" {
      Output.line(report.table)
    } else if arguments.text("json") != "-" {
      Output.write(report.table)
    }
    if let json {
      try EventOutput.write(report.json.text + "\n", to: json, named: "--json")
    }
    if let signal = played.signal { exit(128 + signal) }
    try ScenarioPlayer.check(played.result)
  }

  /// Every how manieth subscriber decodes; nil: none.
  private func decodingInterval() throws -> Int? {
    switch arguments.text("decode") ?? "all" {
    case "all": return 1
    case "none": return nil
    case let text:
      guard let count = text.split(separator: ":").last.flatMap({ Int($0) }), count > 0 else {
        throw Failure(.usage, "--decode: '\(text)' is not one-in:K")
      }
      return count
    }
  }

  private func scenario(_ publishers: Int, _ subscribers: Int) throws -> Scenario {
    var flags = try RunCommand.connectFlags()
    try flags.merge(file: "", entries: [("stats", .number(1))])
    var publishing = flags
    let size = arguments.size("resolution") ?? PixelSize(width: 640, height: 480)
    try publishing.merge(
      file: "",
      entries: [
        ("subscribe", .text("none")), ("resolution", .text("\(size.width)x\(size.height)")),
        ("frame-rate", .number(Double(arguments.integer("frame-rate") ?? 30))),
      ])
    var receiving = flags
    try receiving.merge(file: "", entries: [("no-publish", .boolean(true)), ("subscribe", .text("all"))])
    let rampUp = arguments.number("ramp-up") ?? 2
    var members: [Scenario.Member] = []
    for number in 0..<publishers {
      let name = "publisher \(number + 1)"
      try publishing.merge(file: "", entries: [("name", .text(name))])
      members.append(.init(name: name, role: .publisher, flags: publishing))
    }
    for number in 0..<subscribers {
      let time = Duration.seconds(rampUp * Double(number) / Double(subscribers))
      members.append(
        .init(
          name: "subscriber \(number + 1)", role: .publisher, flags: receiving,
          steps: [.init(.at(time), .join, text: "join")]))
    }
    var scenario = Scenario(
      name: "load", duration: .seconds(rampUp + 1 + (arguments.number("hold") ?? 10)), members: members)
    scenario.endsWhenDecided = false
    return scenario
  }
}
