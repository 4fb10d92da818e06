/// What is put into one cell of the screen, with the columns that it takes.
package struct Glyph: Hashable, Sendable {
  package let text: String
  /// 1 or 2.
  package let width: Int

  package static let space = Glyph(text: " ", width: 1)
}

/// Text from anywhere (peers' names, chat, files) turned into glyphs that are safe to send to a terminal.
///
/// Control characters (ESC among them, C1 too), directional overrides, line separators, private-use and
/// unassigned code points never come out: nobody but us writes escape sequences, and nobody's name moves
/// the cursor or turns the line around. A cluster keeps its base and at most two marks, so no pile of marks
/// grows over other lines; what terminals disagree about (joined emoji, variation selectors) is reduced to
/// the base.
package enum PrintableText {
  static let maximumMarks = 2

  package static func glyphs(of text: String) -> [Glyph] {
    var glyphs: [Glyph] = []
    for character in text { append(character, to: &glyphs) }
    return glyphs
  }

  /// Columns of the text.
  package static func width(of text: String) -> Int {
    text.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F }
      ? text.utf8.count : glyphs(of: text).reduce(0) { $0 + $1.width }
  }

  /// The text in at most `columns` columns, with an ellipsis if it was longer.
  package static func truncated(_ text: String, to columns: Int) -> String {
    let glyphs = glyphs(of: text)
    guard glyphs.reduce(0, { $0 + $1.width }) > columns else { return glyphs.map(\.text).joined() }
    var result = ""
    var used = 0
    for glyph in glyphs where used + glyph.width <= columns - 1 {
      result += glyph.text
      used += glyph.width
      if used == columns - 1 { break }
    }
    return columns > 0 ? result + "…" : ""
  }

  /// Lines of at most `columns` columns, broken at spaces where there are some.
  package static func wrapped(_ text: String, to columns: Int, limit: Int) -> [String] {
    let columns = max(2, columns)
    var lines: [String] = []
    var line: [Glyph] = []
    var used = 0
    for glyph in glyphs(of: text) {
      if used + glyph.width > columns {
        let space = line.lastIndex(of: .space)
        let rest = space.map { Array(line[($0 + 1)...]) } ?? []
        lines.append(line[..<(space ?? line.count)].map(\.text).joined())
        if lines.count == limit { return lines }
        line = rest
        used = rest.reduce(0) { $0 + $1.width }
      }
      line.append(glyph)
      used += glyph.width
    }
    lines.append(line.map(\.text).joined())
    return lines
  }

  private static func append(_ character: Character, to glyphs: inout [Glyph]) {
    var text = ""
    var width = 0
    var marks = 0
    for scalar in character.unicodeScalars {
      switch kind(of: scalar) {
      case .dropped: continue
      case .space:
        if text.isEmpty { glyphs.append(.space) }
        return
      case .mark:
        // A mark without a base stands on a space of its own.
        if text.isEmpty { (text, width) = (" ", 1) }
        marks += 1
        if marks <= maximumMarks { text.unicodeScalars.append(scalar) }
      case .base(let columns):
        if text.isEmpty {
          text.unicodeScalars.append(scalar)
          width = columns
        } else if isRegionalIndicator(scalar), width == 1 {
          text.unicodeScalars.append(scalar)
          width = 2
        }
      // Other bases of a cluster (joined emoji, Hangul vowels) are left out.
      }
    }
    if !text.isEmpty { glyphs.append(Glyph(text: text, width: width)) }
  }

  private enum Kind {
    case dropped, space, mark
    case base(Int)
  }

  private static func kind(of scalar: Unicode.Scalar) -> Kind {
    if scalar.value >= 0x20 && scalar.value < 0x7F { return scalar.value == 0x20 ? .space : .base(1) }
    switch scalar.properties.generalCategory {
    case .control: return scalar.value == 0x09 || scalar.value == 0x0A ? .space : .dropped
    case .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator: return .dropped
    case .spaceSeparator: return .space
    case .nonspacingMark, .enclosingMark:
      return isVariationSelector(scalar) ? .dropped : .mark
    default: return .base(isWide(scalar) ? 2 : 1)
    }
  }

  private static func isVariationSelector(_ scalar: Unicode.Scalar) -> Bool {
    (0xFE00...0xFE0F).contains(scalar.value) || (0xE0100...0xE01EF).contains(scalar.value)
  }

  private static func isRegionalIndicator(_ scalar: Unicode.Scalar) -> Bool {
    (0x1F1E6...0x1F1FF).contains(scalar.value)
  }

  static func isWide(_ scalar: Unicode.Scalar) -> Bool {
    var low = 0
    var high = wideRanges.count - 1
    while low <= high {
      let middle = (low + high) / 2
      if scalar.value < wideRanges[middle].lowerBound {
        high = middle - 1
      } else if scalar.value > wideRanges[middle].upperBound {
        low = middle + 1
      } else {
        return true
      }
    }
    return false
  }
}
