import CommandLineKit

/// A small command line that has each kind of flag.
let sample = Program(
  name: "tool", version: "1.2.3", summary: "a tool for tests",
  commands: [
    Command(
      "go", summary: "Go somewhere", operands: [Operand("WHERE", "a place", required: false)],
      flags: [
        Flag("verbose", short: "v", repeatable: true, configurable: false, group: "Talk", "say more"),
        Flag("quiet", short: "q", group: "Talk", "say less"),
        Flag("mic", negatable: true, default: .value("true"), group: "Sound", "the microphone"),
        Flag("no-publish", group: "Sound", "only listen"),
        Flag("output", short: "o", .file("FILE"), group: "Sound", "where to"),
        Flag(
          "rate", .integer("N", 1...60), default: .value("30"), environment: "TOOL_RATE", group: "Sound",
          "rate"),
        Flag("wait", .number("S", 0...10), group: "Sound", "it's a [wait]: long"),
        Flag("size", .size("WxH", 16...4096), default: .value("640x480"), group: "Sound", "size"),
        Flag("set", .pair("KEY=VALUE"), repeatable: true, environment: "TOOL_SET", group: "Sound", "set it"),
        Flag(
          "token", .integer("N", 1...9), environment: "TOOL_TOKEN", secret: true, group: "Sound", "a secret"),
        Flag(
          "source",
          .choice(
            "SPEC",
            [
              Choice("test", "a test"), Choice("tone", "a tone", parameter: .optional("HZ")),
              Choice("file", "a file", parameter: .required("PATH")),
              Choice("camera", "a camera", parameter: .optional("N|/dev/N"), availability: .notYet),
            ]), repeatable: true, group: "Sound", "what"),
        Flag("record", .directory("DIR"), group: "Sound", availability: .notYet, "record it"),
      ], examples: [Example("tool go \"far away\"", "go")]),
    Command("key", "make", summary: "Make a key"),
    Command(
      "key", "show", summary: "Show a key", operands: [Operand("KEY", "the key", choices: ["old", "new"])],
      flags: [Flag("long", group: "Form", "all of it")]),
    Command("later", summary: "Some day", availability: .notYet),
    Command("secret", summary: "Not listed", hidden: true),
  ], sections: [Program.Section("Exit status", [("0", "well"), (".1", "not well")])])

/// What a command line gives, or nil if it asks for something else than to run.
func parse(_ words: String...) throws -> Arguments? {
  if case .run(let arguments) = try sample.parse(words) { arguments } else { nil }
}

/// The error of a command line.
func failure(_ words: String...) -> UsageError? {
  do throws(UsageError) {
    _ = try sample.parse(words)
    return nil
  } catch {
    return error
  }
}
