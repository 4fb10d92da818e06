package enum JSONError: Error, Equatable, Sendable {
  /// Not JSON; `offset` is the byte at which that was seen.
  case syntax(offset: Int)
  /// More than `JSON.maximumDepth` arrays and objects inside each other.
  case tooDeep
}

extension JSON {
  package static let maximumDepth = 64

  /// Parses one JSON text in UTF-8; a byte-order mark before it is skipped.
  ///
  /// Safe with a stranger's bytes: work and memory are linear in their number, numbers that no double
  /// can hold are errors, and a lone surrogate becomes U+FFFD.
  package init(parsing bytes: UnsafeRawBufferPointer) throws(JSONError) {
    var parser = JSONParser(bytes: bytes)
    self = try parser.document()
  }

  package init(parsing bytes: [UInt8]) throws(JSONError) {
    let result = bytes.withUnsafeBytes { buffer in
      Result { () throws(JSONError) in try JSON(parsing: buffer) }
    }
    self = try result.get()
  }

  package init(parsing text: String) throws(JSONError) {
    try self.init(parsing: Array(text.utf8))
  }
}

private struct JSONParser {
  let bytes: UnsafeRawBufferPointer
  var position = 0
  var depth = 0

  init(bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  private var syntaxError: JSONError { .syntax(offset: position) }

  private var current: UInt8? { position < bytes.count ? bytes[position] : nil }

  mutating func document() throws(JSONError) -> JSON {
    if bytes.count >= 3, bytes[0] == 0xEF, bytes[1] == 0xBB, bytes[2] == 0xBF { position = 3 }
    let value = try value()
    skipBlanks()
    guard position == bytes.count else { throw syntaxError }
    return value
  }

  private mutating func skipBlanks() {
    while let byte = current, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { position += 1 }
  }

  private mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard current == UInt8(ascii: character) else { return false }
    position += 1
    return true
  }

  private mutating func value() throws(JSONError) -> JSON {
    skipBlanks()
    switch current {
    case UInt8(ascii: "{"): return .object(try nested { parser throws(JSONError) in try parser.object() })
    case UInt8(ascii: "["): return .array(try nested { parser throws(JSONError) in try parser.array() })
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t"): return try word("true", .bool(true))
    case UInt8(ascii: "f"): return try word("false", .bool(false))
    case UInt8(ascii: "n"): return try word("null", .null)
    default: return try number()
    }
  }

  private mutating func nested<T>(
    _ body: (inout JSONParser) throws(JSONError) -> T
  ) throws(JSONError) -> T {
    guard depth < JSON.maximumDepth else { throw .tooDeep }
    depth += 1
    position += 1
    let result = try body(&self)
    depth -= 1
    return result
  }

  private mutating func object() throws(JSONError) -> JSON.Object {
    var object = JSON.Object()
    skipBlanks()
    if take("}") { return object }
    while true {
      skipBlanks()
      guard current == UInt8(ascii: "\"") else { throw syntaxError }
      let key = try string()
      skipBlanks()
      guard take(":") else { throw syntaxError }
      object.append(key, try value())
      skipBlanks()
      if take("}") { return object }
      guard take(",") else { throw syntaxError }
    }
  }

  private mutating func array() throws(JSONError) -> [JSON] {
    var elements: [JSON] = []
    skipBlanks()
    if take("]") { return elements }
    while true {
      elements.append(try value())
      skipBlanks()
      if take("]") { return elements }
      guard take(",") else { throw syntaxError }
    }
  }

  private mutating func word(_ word: StaticString, _ value: JSON) throws(JSONError) -> JSON {
    guard bytes.count - position >= word.utf8CodeUnitCount else { throw syntaxError }
    for index in 0..<word.utf8CodeUnitCount where bytes[position + index] != word.utf8Start[index] {
      throw syntaxError
    }
    position += word.utf8CodeUnitCount
    return value
  }

  private mutating func digits() throws(JSONError) {
    guard let first = current, isDigit(first) else { throw syntaxError }
    while let byte = current, isDigit(byte) { position += 1 }
  }

  private func isDigit(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }

  private mutating func number() throws(JSONError) -> JSON {
    let start = position
    var isInteger = true
    _ = take("-")
    if !take("0") { try digits() }
    if take(".") {
      isInteger = false
      try digits()
    }
    if take("e") || take("E") {
      isInteger = false
      if !take("+") { _ = take("-") }
      try digits()
    }
    let text = String(decoding: bytes[start..<position], as: UTF8.self)
    if isInteger, let value = Int64(text) { return .integer(value) }
    guard let value = Double(text), value.isFinite else { throw .syntax(offset: start) }
    return .number(value)
  }

  /// At the opening quote; leaves `position` behind the closing one.
  private mutating func string() throws(JSONError) -> String {
    position += 1
    let start = position
    while let byte = current, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\"), byte >= 0x20 {
      position += 1
    }
    if current == UInt8(ascii: "\"") {
      defer { position += 1 }
      return try text(bytes[start..<position])
    }
    var content = Array(bytes[start..<position])
    while let byte = current {
      position += 1
      switch byte {
      case UInt8(ascii: "\""): return try text(content)
      case UInt8(ascii: "\\"): try escape(into: &content)
      case 0..<0x20: throw .syntax(offset: position - 1)
      default: content.append(byte)
      }
    }
    throw syntaxError
  }

  private func text(_ content: some Sequence<UInt8>) throws(JSONError) -> String {
    guard let text = String(validating: content, as: UTF8.self) else { throw syntaxError }
    return text
  }

  private mutating func escape(into content: inout [UInt8]) throws(JSONError) {
    guard let byte = current else { throw syntaxError }
    position += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): content.append(byte)
    case UInt8(ascii: "b"): content.append(0x08)
    case UInt8(ascii: "f"): content.append(0x0C)
    case UInt8(ascii: "n"): content.append(0x0A)
    case UInt8(ascii: "r"): content.append(0x0D)
    case UInt8(ascii: "t"): content.append(0x09)
    case UInt8(ascii: "u"): content.append(contentsOf: String(try escapedScalar()).utf8)
    default: throw .syntax(offset: position - 1)
    }
  }

  /// Behind `\u`: one or two groups of four hexadecimal digits (RFC 8259, 7).
  private mutating func escapedScalar() throws(JSONError) -> Character {
    let first = try hexadecimal4()
    guard (0xD800..<0xDC00).contains(first) else {
      return Character(Unicode.Scalar(first) ?? "\u{FFFD}")
    }
    let afterFirst = position
    if take("\\"), take("u") {
      let second = try hexadecimal4()
      if (0xDC00..<0xE000).contains(second) {
        let value = 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00)
        return Character(Unicode.Scalar(value) ?? "\u{FFFD}")
      }
    }
    position = afterFirst
    return "\u{FFFD}"
  }

  private mutating func hexadecimal4() throws(JSONError) -> UInt32 {
    var value: UInt32 = 0
    for _ in 0..<4 {
      guard let byte = current, let digit = Hexadecimal.value(of: byte) else { throw syntaxError }
      value = value << 4 | UInt32(digit)
      position += 1
    }
    return value
  }
}
