package enum Hexadecimal {
  /// Lower-case text, two digits a byte.
  package static func text(_ bytes: some Sequence<UInt8>) -> String {
    let digits = Array("0123456789abcdef".utf8)
    var output: [UInt8] = []
    for byte in bytes {
      output.append(digits[Int(byte >> 4)])
      output.append(digits[Int(byte & 15)])
    }
    return String(decoding: output, as: UTF8.self)
  }

  /// Nil if there is an odd number of digits or something that is none.
  package static func bytes(_ text: some StringProtocol) -> [UInt8]? {
    var output: [UInt8] = []
    var high: UInt8?
    for character in text.utf8 {
      guard let digit = value(of: character) else { return nil }
      if let first = high {
        output.append(first << 4 | digit)
        high = nil
      } else {
        high = digit
      }
    }
    return high == nil ? output : nil
  }

  static func value(of digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
