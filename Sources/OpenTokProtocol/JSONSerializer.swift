extension JSON {
  /// Compact UTF-8 text, members in their order, slashes and non-ASCII characters as they are. A number
  /// that JSON has no text for (infinite, not a number) becomes null.
  package func serialized() -> [UInt8] {
    var output: [UInt8] = []
    write(to: &output)
    return output
  }

  /// `serialized()` as a `String`.
  package var text: String { String(decoding: serialized(), as: UTF8.self) }

  private func write(to output: inout [UInt8]) {
    switch self {
    case .null: output.append(contentsOf: "null".utf8)
    case .bool(let value): output.append(contentsOf: (value ? "true" : "false").utf8)
    case .integer(let value): output.append(contentsOf: String(value).utf8)
    case .number(let value): output.append(contentsOf: (value.isFinite ? String(value) : "null").utf8)
    case .string(let value): JSON.write(value, to: &output)
    case .array(let elements):
      output.append(UInt8(ascii: "["))
      for (index, element) in elements.enumerated() {
        if index > 0 { output.append(UInt8(ascii: ",")) }
        element.write(to: &output)
      }
      output.append(UInt8(ascii: "]"))
    case .object(let object):
      output.append(UInt8(ascii: "{"))
      for (index, member) in object.enumerated() {
        if index > 0 { output.append(UInt8(ascii: ",")) }
        JSON.write(member.key, to: &output)
        output.append(UInt8(ascii: ":"))
        member.value.write(to: &output)
      }
      output.append(UInt8(ascii: "}"))
    }
  }

  private static func write(_ text: String, to output: inout [UInt8]) {
    output.append(UInt8(ascii: "\""))
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "\""): output.append(contentsOf: #"\""#.utf8)
      case UInt8(ascii: "\\"): output.append(contentsOf: #"\\"#.utf8)
      case 0x08: output.append(contentsOf: #"\b"#.utf8)
      case 0x09: output.append(contentsOf: #"\t"#.utf8)
      case 0x0A: output.append(contentsOf: #"\n"#.utf8)
      case 0x0C: output.append(contentsOf: #"\f"#.utf8)
      case 0x0D: output.append(contentsOf: #"\r"#.utf8)
      case 0..<0x20: output.append(contentsOf: (#"\u00"# + Hexadecimal.text([byte])).utf8)
      default: output.append(byte)
      }
    }
    output.append(UInt8(ascii: "\""))
  }
}
