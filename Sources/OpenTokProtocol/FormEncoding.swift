/// `application/x-www-form-urlencoded` fields, in order.
package enum FormEncoding {
  package static func text(_ fields: [(key: String, value: String)]) -> String {
    fields.map { escape($0.key) + "=" + escape($0.value) }.joined(separator: "&")
  }

  /// Never fails: an escape that is none stays as it is, a field without `=` has an empty value.
  package static func fields(_ text: some StringProtocol) -> [(key: String, value: String)] {
    text.utf8.split(separator: UInt8(ascii: "&")).map { field in
      let parts = field.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
      return (unescape(parts[0]), parts.count > 1 ? unescape(parts[1]) : "")
    }
  }

  private static func escape(_ text: String) -> String {
    var output: [UInt8] = []
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"):
        output.append(byte)
      case UInt8(ascii: " "):
        output.append(UInt8(ascii: "+"))
      default:
        output.append(UInt8(ascii: "%"))
        output.append(contentsOf: Hexadecimal.text([byte]).uppercased().utf8)
      }
    }
    return String(decoding: output, as: UTF8.self)
  }

  private static func unescape(_ text: some Collection<UInt8>) -> String {
    var output: [UInt8] = []
    var rest = Array(text)[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "+") {
        output.append(UInt8(ascii: " "))
      } else if byte == UInt8(ascii: "%"), rest.count >= 2,
        let high = Hexadecimal.value(of: rest[rest.startIndex]),
        let low = Hexadecimal.value(of: rest[rest.startIndex + 1])
      {
        output.append(high << 4 | low)
        rest = rest.dropFirst(2)
      } else {
        output.append(byte)
      }
    }
    return String(decoding: output, as: UTF8.self)
  }
}
