/// Base 64 with its two alphabets (RFC 4648, 4 and 5).
package enum Base64 {
  package static func text(_ bytes: some Sequence<UInt8>) -> String {
    encode(bytes, alphabet: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", padded: true)
  }

  /// The URL alphabet, without padding.
  package static func urlText(_ bytes: some Sequence<UInt8>) -> String {
    encode(bytes, alphabet: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", padded: false)
  }

  /// Both alphabets, with or without padding; nil if there is anything else in it.
  package static func bytes(_ text: some StringProtocol) -> [UInt8]? {
    var digits = Array(text.utf8)
    let length = digits.count
    while digits.last == UInt8(ascii: "=") { digits.removeLast() }
    guard length - digits.count <= 2, digits.count % 4 != 1 else { return nil }
    var output: [UInt8] = []
    output.reserveCapacity(digits.count / 4 * 3 + 2)
    var bits: UInt32 = 0
    var bitCount = 0
    for digit in digits {
      guard let value = value(of: digit) else { return nil }
      bits = bits << 6 | value
      bitCount += 6
      if bitCount >= 8 {
        bitCount -= 8
        output.append(UInt8(truncatingIfNeeded: bits >> UInt32(bitCount)))
      }
    }
    return output
  }

  private static func value(of digit: UInt8) -> UInt32? {
    switch digit {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(digit - UInt8(ascii: "A"))
    case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(digit - UInt8(ascii: "a") + 26)
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(digit - UInt8(ascii: "0") + 52)
    case UInt8(ascii: "+"), UInt8(ascii: "-"): 62
    case UInt8(ascii: "/"), UInt8(ascii: "_"): 63
    default: nil
    }
  }

  private static func encode(_ bytes: some Sequence<UInt8>, alphabet: StaticString, padded: Bool) -> String {
    var output: [UInt8] = []
    var bits: UInt32 = 0
    var bitCount = 0
    for byte in bytes {
      bits = bits << 8 | UInt32(byte)
      bitCount += 8
      while bitCount >= 6 {
        bitCount -= 6
        output.append(alphabet.utf8Start[Int(bits >> UInt32(bitCount) & 63)])
      }
    }
    if bitCount > 0 { output.append(alphabet.utf8Start[Int(bits << UInt32(6 - bitCount) & 63)]) }
    while padded, output.count % 4 != 0 { output.append(UInt8(ascii: "=")) }
    return String(decoding: output, as: UTF8.self)
  }
}
