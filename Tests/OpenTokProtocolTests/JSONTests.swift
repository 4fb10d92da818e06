import OpenTokProtocol
import Testing

struct JSONTests {
  @Test func keepsOrderAndEscapes() throws {
    let text = #"{"b":1,"a":[true,false,null,-0.5,1e-7,"\u001f\"\\\b\f\n\r\t/é😀"],"":{}}"#
    let json = try JSON(parsing: text)
    #expect(json.objectValue?.keys == ["b", "a", ""])
    #expect(json["a"]?[5]?.stringValue == "\u{1f}\"\\\u{8}\u{c}\n\r\t/é😀")
    #expect(json.text == #"{"b":1,"a":[true,false,null,-0.5,1e-07,"\u001f\"\\\b\f\n\r\t/é😀"],"":{}}"#)
  }

  @Test func skipsBlanksAndAByteOrderMark() throws {
    #expect(try JSON(parsing: "\u{feff} {\r\n\t\"a\" : [ ] , \"b\":{ } } ") == ["a": [], "b": [:]])
  }

  @Test(arguments: [
    ("\"\\u0041\\u00e9\"", "Aé"), ("\"\\ud83d\\ude00\"", "😀"), ("\"\\ud83d\"", "\u{fffd}"),
    ("\"\\ud83d\\u0041\"", "\u{fffd}A"), ("\"\\ude00x\"", "\u{fffd}x"), ("\"\\/\"", "/"),
  ])
  func readsEscapes(text: String, expected: String) throws {
    #expect(try JSON(parsing: text) == .string(expected))
  }

  @Test(arguments: [
    "", " ", "{", "}", "[", "[1", "[1,]", "[,]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}", "{'a':1}",
    "tru",
    "nulll", "+1", "01", "1.", ".5", "-", "1e", "1e+", "0x10", "NaN", "Infinity", "1e999", "-1e999", "\"",
    "\"\\\"", "\"\\x\"", "\"\\u12\"", "\"\\u12g4\"", "\"a\nb\"", "1 2", "{}{}", "\u{feff}", "// c",
  ])
  func refuses(text: String) {
    #expect(throws: JSONError.self) { try JSON(parsing: text) }
  }

  @Test func refusesWhatIsNotUTF8() {
    for bytes: [UInt8] in [
      [0x22, 0xFF, 0x22], [0x22, 0xC3, 0x22], [0x22, 0x5C, 0x6E, 0xED, 0xA0, 0x80, 0x22],
    ] {
      #expect(throws: JSONError.self) { try JSON(parsing: bytes) }
    }
  }

  @Test func refusesDepthAndTakesWhatIsAllowed() throws {
    let depth = JSON.maximumDepth
    let allowed = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    #expect(try JSON(parsing: allowed).text == allowed)
    #expect(throws: JSONError.tooDeep) { try JSON(parsing: "[" + allowed + "]") }
    #expect(throws: JSONError.tooDeep) { try JSON(parsing: String(repeating: "{\"a\":", count: 100_000)) }
  }

  @Test func numbersNeverTrap() throws {
    #expect(try JSON(parsing: "9223372036854775807") == .integer(.max))
    #expect(try JSON(parsing: "9223372036854775808") == .number(9_223_372_036_854_775_808))
    #expect(try JSON(parsing: "9223372036854775808").integerValue == nil)
    #expect(try JSON(parsing: "-9223372036854775808") == .integer(.min))
    #expect(try JSON(parsing: "1e300").integerValue == nil)
    #expect(try JSON(parsing: "3e2").integerValue == 300)
    #expect(JSON.number(.nan).integerValue == nil)
    #expect(JSON.number(.infinity).text == "null")
    #expect(JSON.number(30).text == "30.0")
  }

  @Test func membersChange() {
    var json: JSON = ["a": 1, "b": 2]
    json["a"] = nil
    json["c"] = "x"
    json["b"] = 3
    #expect(json.text == #"{"b":3,"c":"x"}"#)
    #expect(json == ["c": "x", "b": 3])
    #expect(json != ["c": "x", "b": 3, "d": 4])
    #expect(JSON.array([1])[1] == nil)
    #expect(JSON.array([1])[-1] == nil)
  }

  @Test func theLastOfTwoMembersCounts() throws {
    let json = try JSON(parsing: #"{"a":1,"a":2}"#)
    #expect(json["a"] == 2)
    #expect(json == json)
  }
}
