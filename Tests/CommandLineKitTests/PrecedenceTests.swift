import CommandLineKit
import Testing

struct PrecedenceTests {
  private func entries(_ pairs: (String, ConfigurationValue)...) -> [(key: String, value: ConfigurationValue)]
  {
    pairs.map { (key: $0.0, value: $0.1) }
  }

  private func fileError(_ key: String, _ value: ConfigurationValue) throws -> UsageError? {
    var arguments = try #require(try parse("go"))
    return #expect(throws: UsageError.self) {
      try arguments.merge(file: "c.json", entries: entries((key, value)))
    }
  }

  @Test func flagBeatsEnvironmentBeatsFileBeatsDefault() throws {
    var arguments = try #require(try parse("go"))
    #expect(arguments.integer("rate") == 30)
    try arguments.merge(file: "c.json", entries: entries(("rate", .number(10))))
    #expect(arguments.integer("rate") == 10)
    #expect(arguments.origin("rate") == .file)
    try arguments.merge(environment: ["TOOL_RATE": "20"])
    #expect(arguments.integer("rate") == 20)
    #expect(arguments.origin("rate") == .environment)
    var given = try #require(try parse("go", "--rate=5"))
    try given.merge(environment: ["TOOL_RATE": "20"])
    try given.merge(file: "c.json", entries: entries(("rate", .number(10))))
    #expect(given.integer("rate") == 5)
    #expect(given.origin("rate") == .argument)
  }

  @Test func strongerListReplacesTheWeaker() throws {
    var arguments = try #require(try parse("go", "--set=a=1"))
    try arguments.merge(file: "c.json", entries: entries(("set", .list([.text("b=2"), .text("c=3")]))))
    #expect(arguments.texts("set") == ["a=1"])
    var other = try #require(try parse("go"))
    try other.merge(file: "c.json", entries: entries(("set", .list([.text("b=2"), .text("c=3")]))))
    #expect(other.texts("set") == ["b=2", "c=3"])
  }

  @Test func fileHoldsEveryKind() throws {
    var arguments = try #require(try parse("go"))
    try arguments.merge(
      file: "c.json",
      entries: entries(
        ("mic", .boolean(false)), ("no-publish", .boolean(true)), ("wait", .number(1.5)),
        ("wait", .number(2)),
        ("size", .text("320x240")), ("source", .text("tone:1000")), ("set", .list([]))))
    #expect(!arguments.boolean("mic"))
    #expect(arguments.boolean("no-publish"))
    #expect(arguments.number("wait") == 2)
    #expect(arguments.size("size") == PixelSize(width: 320, height: 240))
    #expect(arguments.texts("source") == ["tone:1000"])
  }

  @Test func faultsOfTheFileNameItAndTheKey() throws {
    let place = Place.file("c.json")
    let unknown = try fileError("rat", .number(1))
    #expect(unknown == .unknownKey("rat", suggestion: "rate", place: place))
    #expect(unknown?.message == "unknown key 'rat' (in c.json)")
    #expect(unknown?.isConfiguration == true)
    #expect(try fileError("verbose", .boolean(true)) == .unknownKey("verbose", suggestion: nil, place: place))
    #expect(
      try fileError("rate", .number(61))
        == .invalidValue(
          flag: "rate", value: "61", expected: "a whole number from 1 to 60", suggestion: nil, place: place))
    #expect(
      try fileError("rate", .number(1e300))
        == .invalidValue(
          flag: "rate", value: "1e+300", expected: "a whole number from 1 to 60", suggestion: nil,
          place: place))
    #expect(
      try fileError("mic", .number(1)) == .wrongKind(key: "mic", expected: "true or false", place: place))
    #expect(
      try fileError("set", .list([.number(1)]))
        == .wrongKind(key: "set", expected: "a text or a list of them", place: place))
    #expect(
      try fileError("rate", .list([.number(1)]))
        == .wrongKind(key: "rate", expected: "a number", place: place))
    #expect(
      try fileError("rate", .unsupported) == .wrongKind(key: "rate", expected: "a number", place: place))
    #expect(try fileError("record", .text("x")) == .notYet("record", place: place))
  }

  @Test func faultsOfTheEnvironmentNameTheVariable() throws {
    var arguments = try #require(try parse("go"))
    let error = #expect(throws: UsageError.self) { try arguments.merge(environment: ["TOOL_RATE": "fast"]) }
    #expect(
      error?.message == "rate: 'fast' is not a whole number from 1 to 60 (environment variable TOOL_RATE)")
    #expect(error?.isConfiguration == true)
    try arguments.merge(environment: ["TOOL_RATE": ""])
    #expect(!arguments.isGiven("rate"))
  }
}
