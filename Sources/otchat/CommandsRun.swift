import CommandLineKit
import Scenario

extension Commands {
  static let run = Command(
    "run", summary: "Play a scenario of scripted participants",
    description: [
      """
      Several participants in this process, each with sources, a network of its own, steps and expectations, as a JSON \
      file says (docs/ci.md). Without --server a session server is started for it. Built in: \
      \(BuiltInScenario.allCases.map(\.rawValue).joined(separator: ", ")).
      """
    ],
    operands: [Operand("SCENARIO", "a scenario file, or the name of one that is built in", required: false)],
    flags: runFlags + [pcap] + logging,
    examples: [
      Example("otchat run smoke", "two participants see and hear each other: exit status 0"),
      Example("otchat run --print smoke > mine.json", "a scenario to begin with"),
      Example(
        "otchat run mine.json --server https://example.org --junit report.xml", "against an app server"),
    ])

  private static let runFlags: [Flag] = [
    Flag(
      "server", .text("URL"), default: .described("one that is started for this run"), configurable: false,
      group: Group.credentials,
      "the app server that gives the credentials; ?role=ROLE is added for roles other than publisher"),
    Flag(
      "room", .text("NAME"), configurable: false, group: Group.credentials,
      "take the credentials from URL/room/NAME"),
    Flag("list", configurable: false, group: Group.script, "list the scenarios that are built in"),
    Flag(
      "print", .choice("NAME", BuiltInScenario.allCases.map { Choice($0.rawValue, $0.about) }),
      configurable: false,
      group: Group.script, "print a scenario that is built in"),
    Flag(
      "events", .file("FILE"), configurable: false, group: Group.script,
      "write all participants' events as JSON Lines, each with its participant's name; - is standard output"),
    Flag(
      "junit", .file("FILE"), configurable: false, group: Group.script, "write the results as a JUnit report"),
    Flag(
      "ca", .file("FILE"), configurable: false, group: Group.network,
      "certificates (PEM) to trust besides the system's"),
    Flag("insecure", configurable: false, group: Group.network, "accept any TLS certificate"),
  ]
}
