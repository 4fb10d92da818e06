/// One line of text being typed. Positions are grapheme clusters: an accent or a flag goes with its letter.
package struct LineEditor: Equatable, Sendable {
  package enum Outcome: Equatable, Sendable {
    case editing
    /// Enter: the text without spaces around it; empty if there was none.
    case submitted(String)
    case cancelled
  }

  /// Longest text, in UTF-8 bytes: a signal's limit with room for its envelope.
  package static let maximumBytes = 4096

  package private(set) var characters: [Character] = []
  /// The character before which the next one goes.
  package private(set) var position = 0

  package init() {}

  package var text: String { String(characters) }

  package mutating func handle(_ key: Key) -> Outcome {
    switch key {
    case .character(let character): insert(String(character))
    case .paste(let text): insert(text)
    case .enter: return .submitted(trimmed)
    case .escape, .control("g"): return .cancelled
    case .backspace: removeBefore()
    case .delete, .control("d"): if position < characters.count { characters.remove(at: position) }
    case .left, .control("b"): position = max(0, position - 1)
    case .right, .control("f"): position = min(characters.count, position + 1)
    case .home, .control("a"): position = 0
    case .end, .control("e"): position = characters.count
    case .control("u"):
      characters.removeSubrange(..<position)
      position = 0
    case .control("k"): characters.removeSubrange(position...)
    case .control("w"):
      while position > 0, characters[position - 1] == " " { removeBefore() }
      while position > 0, characters[position - 1] != " " { removeBefore() }
    default: break
    }
    return .editing
  }

  private var trimmed: String {
    let rest = characters.drop { $0 == " " }
    return String(rest.prefix((rest.lastIndex { $0 != " " } ?? rest.startIndex - 1) - rest.startIndex + 1))
  }

  private mutating func removeBefore() {
    guard position > 0 else { return }
    position -= 1
    characters.remove(at: position)
  }

  /// Newlines of a paste become spaces, other control characters nothing. Joining may change the number of
  /// characters (a mark joins the letter before it), so the position is counted from the end.
  private mutating func insert(_ text: String) {
    let clean = text.unicodeScalars.compactMap { scalar -> Unicode.Scalar? in
      if scalar == "\n" || scalar == "\t" { return " " }
      return scalar.properties.generalCategory == .control ? nil : scalar
    }
    var before = String(characters[..<position])
    let after = String(characters[position...])
    let room = Self.maximumBytes - before.utf8.count - after.utf8.count
    var used = 0
    for scalar in clean {
      used += UTF8.width(scalar)
      if used > room { break }
      before.unicodeScalars.append(scalar)
    }
    characters = Array(before + after)
    position = min(before.count, characters.count)
  }
}
