import Glibc

extension StringProtocol {
  /// Filled up with blanks behind, or cut, to so many characters.
  package func padded(to width: Int) -> String {
    String(prefix(width)) + String(repeating: " ", count: Swift.max(0, width - count))
  }

  /// Without white space and ends of lines before and behind.
  package var trimmed: String {
    let isSpace = { (character: Character) in character.isWhitespace }
    guard let first = firstIndex(where: { !isSpace($0) }), let last = lastIndex(where: { !isSpace($0) })
    else { return "" }
    return String(self[first...last])
  }
}

extension Double {
  /// With at most so many digits behind the point: `30`, `29.97`.
  package func rounded(to decimals: Int) -> String {
    var text = fixed(decimals)[...]
    guard text.contains(".") else { return String(text) }
    while text.last == "0" { text = text.dropLast() }
    return String(text.last == "." ? text.dropLast() : text)
  }

  /// With so many digits behind the point, rounded as `printf` does.
  package func fixed(_ decimals: Int) -> String {
    var digits = [CChar](repeating: 0, count: 400)
    let count = withVaList([Int32(clamping: decimals), self]) { vsnprintf(&digits, digits.count, "%.*f", $0) }
    return String(decoding: digits.prefix(max(0, Int(count))).map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
