import CommandLineKit
import Testing

struct ParserTests {
  @Test func valuesAreTypedAndMayBeAttached() throws {
    let arguments = try #require(
      try parse("go", "--rate", "25", "--size=1280X720", "--wait=2.5", "-oout", "--set", "a=b", "--set=c=d=e")
    )
    #expect(arguments.integer("rate") == 25)
    #expect(arguments.number("rate") == 25)
    #expect(arguments.size("size") == PixelSize(width: 1280, height: 720))
    #expect(arguments.number("wait") == 2.5)
    #expect(arguments.text("output") == "out")
    #expect(arguments.texts("set") == ["a=b", "c=d=e"])
  }

  @Test func defaultsAreThereAndNotGiven() throws {
    let arguments = try #require(try parse("go"))
    #expect(arguments.boolean("mic"))
    #expect(!arguments.isGiven("mic"))
    #expect(arguments.integer("rate") == 30)
    #expect(arguments.size("size") == PixelSize(width: 640, height: 480))
    #expect(arguments.text("output") == nil)
    #expect(arguments.count("verbose") == 0)
    #expect(!arguments.boolean("no-publish"))
  }

  @Test func switchesNegateAndCount() throws {
    let arguments = try #require(try parse("go", "--no-mic", "-vqv", "-v"))
    #expect(!arguments.boolean("mic"))
    #expect(arguments.isGiven("mic"))
    #expect(arguments.count("verbose") == 3)
    #expect(arguments.boolean("quiet"))
    #expect(try parse("go", "--no-mic", "--mic")?.boolean("mic") == true)
  }

  @Test func lastOfSeveralWinsUnlessRepeatable() throws {
    #expect(try parse("go", "--rate", "1", "--rate=2")?.integer("rate") == 2)
    #expect(
      try parse("go", "--source", "test", "--source=tone:880")?.texts("source") == ["test", "tone:880"])
  }

  @Test func shortFlagTakesItsValueFromTheClusterOrTheNextWord() throws {
    #expect(try parse("go", "-vofile")?.text("output") == "file")
    #expect(try parse("go", "-vo", "file")?.text("output") == "file")
    #expect(try parse("go", "-o=file")?.text("output") == "file")
    #expect(try parse("go", "-o", "-")?.text("output") == "-")
  }

  @Test func doubleDashEndsFlags() throws {
    let arguments = try #require(try parse("go", "-v", "--", "--rate"))
    #expect(arguments.operands == ["--rate"])
    #expect(try parse("go", "-")?.operands == ["-"])
  }

  @Test func helpAndVersionAreAskedForInAnyPlace() throws {
    func help(_ words: String...) throws -> [String]? {
      if case .help(let path) = try sample.parse(words) { path } else { nil }
    }
    #expect(try help("--help") == [])
    #expect(try help("help") == [])
    #expect(try help("help", "go") == ["go"])
    #expect(try help("help", "key", "make") == ["key", "make"])
    #expect(try help("go", "--rate", "900", "--help") == ["go"])
    #expect(try help("key", "-h") == ["key"])
    #expect(try help("later", "--help") == ["later"])
    #expect(try help("go", "--", "--help") == nil)
    if case .version = try sample.parse(["--version"]) {} else { Issue.record("no version") }
  }

  @Test func subcommandsAreFoundByTheirWholePath() throws {
    #expect(try parse("key", "show", "old")?.command.path == ["key", "show"])
    #expect(failure("key") == .missingCommand(after: ["key"], candidates: ["key make", "key show"]))
    #expect(failure("key", "mkae") == .unknownCommand("key mkae", suggestion: "make"))
    #expect(failure() == .missingCommand(after: [], candidates: ["go", "key make", "key show", "later"]))
    #expect(failure("got") == .unknownCommand("got", suggestion: "go"))
    #expect(failure("version") == .unknownCommand("version", suggestion: "--version"))
    #expect(failure("version")?.hint == "did you mean '--version'?")
    #expect(failure("go", "in", "help")?.hint == "did you mean '--help'?")
    #expect(failure("zzzz") == .unknownCommand("zzzz", suggestion: nil))
  }

  @Test func unknownFlagsNameTheLikelyOne() {
    func suggestion(_ flag: String) -> String? {
      if case .unknownFlag(_, _, let suggestion, _, _) = failure("go", flag) { suggestion } else { nil }
    }
    #expect(suggestion("--publish") == "--no-publish")
    #expect(suggestion("--no-pubish") == "--no-publish")
    #expect(suggestion("--no-rate") == "--rate")
    #expect(suggestion("--nomic") == "--mic")
    #expect(suggestion("--raet=3") == "--rate")
    #expect(suggestion("--quite") == "--quiet")
    #expect(suggestion("--zzzzzz") == nil)
    let error = failure("go", "-v", "--long")
    #expect(
      error
        == .unknownFlag(
          "--long", command: "go", suggestion: nil, otherCommand: "key show", place: .argument(3)))
    #expect(error?.message == "unknown flag '--long' for 'go'")
    #expect(error?.hint == "it is a flag of 'key show'")
    #expect(failure("go", "--publish")?.hint == "did you mean --no-publish?")
    #expect(
      failure("go", "-vx")
        == .unknownFlag("-x", command: "go", suggestion: nil, otherCommand: nil, place: .argument(2)))
  }

  @Test func missingAndNeedlessValues() {
    #expect(
      failure("go", "--rate")
        == .missingValue(flag: "--rate", placeholder: "N", next: nil, place: .argument(2)))
    let error = failure("go", "--output", "--rate", "3")
    #expect(
      error == .missingValue(flag: "--output", placeholder: "FILE", next: "--rate", place: .argument(2)))
    #expect(error?.message == "--output needs a value: --output FILE")
    #expect(error?.hint == "a value that begins with a dash is written --output=--rate")
    #expect(failure("go", "--no-mic=1") == .unexpectedValue(flag: "--no-mic", place: .argument(2)))
    #expect(
      failure("go", "-o") == .missingValue(flag: "-o", placeholder: "FILE", next: nil, place: .argument(2)))
  }

  @Test(
    arguments: [
      ("--rate=0", "a whole number from 1 to 60"), ("--rate=2.5", "a whole number from 1 to 60"),
      ("--rate=", "a whole number from 1 to 60"),
      ("--rate=99999999999999999999", "a whole number from 1 to 60"),
      ("--wait=-1", "a number from 0 to 10"), ("--wait=nan", "a number from 0 to 10"),
      ("--wait=inf", "a number from 0 to 10"), ("--wait=x", "a number from 0 to 10"),
      ("--size=640", "WIDTHxHEIGHT, each from 16 to 4096"),
      ("--size=640x", "WIDTHxHEIGHT, each from 16 to 4096"),
      ("--size=640x480x2", "WIDTHxHEIGHT, each from 16 to 4096"),
      ("--size=8x480", "WIDTHxHEIGHT, each from 16 to 4096"),
      ("--set=a", "KEY=VALUE"), ("--set==b", "KEY=VALUE"),
      ("--source=file", "file:PATH"), ("--source=file:", "file:PATH"), ("--source=test:1", "test"),
      ("--source=tone:", "tone[:HZ]"), ("--output=", "a text of at least one character"),
    ])
  func wrongValues(word: String, expected: String) {
    let flag = String(word.prefix { $0 != "=" })
    let value = String(word.dropFirst(flag.count + 1))
    #expect(
      failure("go", word)
        == .invalidValue(
          flag: flag, value: value, expected: expected, suggestion: nil, place: .argument(2)))
  }

  @Test func wrongWordsNameTheLikelyOne() {
    let error = failure("go", "--source=tst")
    #expect(error?.hint == "did you mean 'test'?")
    #expect(error?.message == "--source: 'tst' is not one of test, tone[:HZ], file:PATH, camera[:N|/dev/N]")
    for (path, suggestion) in [
      ("/dev/video0", "camera:/dev/video0"), ("clips/a.webm", "file:clips/a.webm"), ("a.webm", "file:a.webm"),
    ] {
      #expect(failure("go", "in", "--source", path)?.hint == "did you mean '\(suggestion)'?")
    }
    #expect(failure("key", "show", "odl")?.message == "KEY: 'odl' is not one of old, new")
  }

  @Test func whatIsNotYetThereIsAnErrorOfItsOwn() {
    #expect(failure("go", "--record", "x") == .notYet("--record", place: .argument(2)))
    #expect(failure("go", "--source", "camera:1") == .notYet("--source camera", place: .argument(2)))
    #expect(failure("later") == .notYet("'tool later'", place: .argument(1)))
  }

  @Test func operandsAreCounted() {
    let missing = failure("key", "show")
    #expect(missing == .missingOperand("KEY", command: "key show", choices: ["old", "new"]))
    #expect(missing?.hint == "one of: old, new")
    #expect(failure("go", "a", "b") == .unexpectedOperand("b", command: "go", place: .argument(3)))
  }

  @Test func errorsNeitherRepeatSecretsNorControlCharacters() {
    #expect(
      failure("go", "--token=hunter2")?.message == "--token: the value is not a whole number from 1 to 9")
    #expect(failure("go", "--\u{1B}[31m")?.message == "unknown flag '--?[31m' for 'go'")
    let long = failure("go", "--set=" + String(repeating: "x", count: 5000))
    #expect((long?.message.count ?? 0) < 200)
  }
}
