extension CallState {
  /// The newest lines at the bottom, below them the one that is being typed.
  func drawChat(_ screen: inout Screen, _ area: CellRectangle) {
    var row = area.rows
    if let input {
      row -= 1
      drawInput(input, &screen, area, row)
    }
    let isRead = input != nil || chatOffset != nil
    let limit = max(1, isRead ? area.rows / 2 : area.rows / 3)
    var lines: [(text: String, isOwn: Bool)] = []
    for line in visibleChat.suffix(limit) {
      let clock = line.clock.isEmpty ? "" : line.clock + " "
      let parts = PrintableText.wrapped("\(clock)\(line.from): \(line.text)", to: area.columns - 2, limit: 4)
      lines += parts.map { ($0, line.isOwn) }
    }
    if let chatOffset, chatOffset > 0 { lines.append(("↓ \(chatOffset) newer", true)) }
    lines = lines.suffix(min(limit, row))
    row -= lines.count
    for (text, isOwn) in lines {
      var style = Self.panel
      style.bold = !isOwn
      screen.draw(" \(text) ", column: 0, row: row, style: style)
      row += 1
    }
  }

  /// The end that is being typed stays in sight.
  private func drawInput(_ input: LineEditor, _ screen: inout Screen, _ area: CellRectangle, _ row: Int) {
    screen.fill(CellRectangle(column: 0, row: row, columns: area.columns, rows: 1), style: Self.panel)
    let start = screen.draw("> ", column: 0, row: row, style: Self.panel, limit: area.columns - 1)
    let room = max(1, area.columns - start - 1)
    let before = PrintableText.glyphs(of: String(input.characters[..<input.position]))
    var width = before.reduce(0) { $0 + $1.width }
    var first = 0
    while width > room, first < before.count {
      width -= before[first].width
      first += 1
    }
    let after = String(input.characters[input.position...])
    screen.draw(before[first...].map(\.text).joined() + after, column: start, row: row, style: Self.panel)
    screen.cursor = (min(start + width, area.columns - 1), row)
  }
}
