/// Filling lines of a given width. Declarations are plain text of single-width characters.
enum TextLayout {
  /// Words on lines of at most `width` columns; a longer word stands alone.
  static func wrap(_ text: String, width: Int) -> [String] {
    var lines: [String] = []
    var line = ""
    for word in text.split(separator: " ") {
      if !line.isEmpty, line.count + 1 + word.count > width {
        lines.append(line)
        line = ""
      }
      line += line.isEmpty ? String(word) : " \(word)"
    }
    if !line.isEmpty || lines.isEmpty { lines.append(line) }
    return lines
  }

  /// A term and its explanation in two columns; the explanation begins on a line of its own if the term is
  /// too long for its column.
  static func entry(_ term: String, _ text: String, indent: Int, column: Int, width: Int) -> [String] {
    let margin = String(repeating: " ", count: indent)
    let hanging = String(repeating: " ", count: column)
    let lines = wrap(text, width: max(10, width - column)).map { ($0.isEmpty ? "" : hanging + $0) }
    if text.isEmpty { return [margin + term] }
    if indent + term.count + 2 > column { return [margin + term] + lines }
    let gap = String(repeating: " ", count: column - indent - term.count)
    return [margin + term + gap + lines[0].dropFirst(column)] + lines.dropFirst()
  }
}
