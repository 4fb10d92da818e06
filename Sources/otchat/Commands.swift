import CommandLineKit

/// The command line of `otchat`: parser, help, manual page and completions come from these declarations.
enum Commands {
  static let version = "0.1.0"

  static let program = Program(
    name: "otchat", version: version,
    summary: "video chat in a terminal: an OpenTok client with the session server built in",
    commands: [
      connect, serve, devices, tokenCreate, tokenInspect,
    ] + archives + [
      run, load, doctor, completions, manual,
    ],
    sections: [keys, lines, events, exitStatus, environment, files])

  /// Groups of flags, in the order of help.
  enum Group {
    static let credentials = "Session"
    static let publishing = "Publishing"
    static let subscribing = "Subscribing"
    static let screen = "Display"
    static let script = "Scripts and CI"
    static let network = "Network"
    static let server = "Server"
    static let access = "Access"
    static let token = "Token"
    static let archive = "Archive"
    static let logging = "Logging"
  }

  /// Flags that every command with a life of its own has.
  static let logging: [Flag] = [
    Flag(
      "verbose", short: "v", repeatable: true, configurable: false, group: Group.logging,
      "say more about what happens; twice: still more"),
    Flag("quiet", short: "q", configurable: false, group: Group.logging, "say nothing but errors"),
    Flag(
      "log-file", .file("FILE"), default: .described("stderr, unless the picture is there"),
      group: Group.logging, "where diagnostics go"),
  ]

  static let completions = Command(
    "completions", summary: "Print completions for a shell",
    operands: [
      Operand("SHELL", "bash, zsh or fish", choices: Shell.allCases.map(\.rawValue))
    ],
    examples: [Example("eval \"$(otchat completions bash)\"", "complete in this shell")])

  static let manual = Command("man", summary: "Print the manual page, in roff", hidden: true)

  static let devices = Command(
    "devices", summary: "List cameras, microphones, speakers and screens",
    description: [
      """
      Each with the words that select it. With --test, the default ones are tried: on a terminal the camera's \
      picture, how loud the microphone is, and a tone from the loudspeaker until q is pressed; elsewhere for \
      three seconds, and what came of it in lines.
      """
    ],
    flags: [
      Flag("json", configurable: false, group: Group.script, "as JSON"),
      Flag("test", configurable: false, group: Group.script, "try the default ones"),
    ],
    examples: [Example("otchat connect --video-source camera:/dev/video1", "a call with that camera")])
}
