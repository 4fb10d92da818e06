/// What `screen:…` says: `DISPLAY`, `DISPLAY/PART` or `PART`; a part is a monitor's name, a window's id (`0x…`) or a
/// part of its title.
struct ScreenSelection: Equatable {
  /// As in `DISPLAY`; nil: that one.
  var display: String?
  /// Nil: the whole screen.
  var part: String?

  init(_ text: String?) {
    guard let text, !text.isEmpty else { return }
    if Self.isDisplay(text) {
      display = text
    } else if let slash = text.firstIndex(of: "/"), Self.isDisplay(text[..<slash]) {
      display = String(text[..<slash])
      let rest = text[text.index(after: slash)...]
      part = rest.isEmpty ? nil : String(rest)
    } else {
      part = text
    }
  }

  /// `[HOST]:NUMBER[.SCREEN]`.
  private static func isDisplay(_ text: some StringProtocol) -> Bool {
    guard let colon = text.lastIndex(of: ":"), !text[..<colon].contains(where: { $0 == "/" || $0 == " " })
    else { return false }
    let numbers = text[text.index(after: colon)...].split(separator: ".", omittingEmptySubsequences: false)
    return (1...2).contains(numbers.count) && numbers.allSatisfy { UInt16($0) != nil }
  }

  /// The part as a window's id.
  var window: UInt32? {
    guard let part, part.hasPrefix("0x") else { return nil }
    return UInt32(part.dropFirst(2), radix: 16)
  }
}
