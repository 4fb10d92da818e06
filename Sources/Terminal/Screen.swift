/// A colour of a cell.
package enum CellColor: Hashable, Sendable {
  /// The terminal's own.
  case standard
  /// Index into the terminal's palette of 16 or 256.
  case palette(UInt8)
  /// 0xRRGGBB.
  case rgb(UInt32)
}

package struct CellStyle: Hashable, Sendable {
  package var foreground: CellColor
  package var background: CellColor
  package var bold: Bool
  package var reversed: Bool

  package init(
    foreground: CellColor = .standard, background: CellColor = .standard, bold: Bool = false,
    reversed: Bool = false
  ) {
    self.foreground = foreground
    self.background = background
    self.bold = bold
    self.reversed = reversed
  }

  package static let plain = CellStyle()
}

/// One column of one row.
package enum Cell: Hashable, Sendable {
  /// Nothing was drawn: a picture shows through.
  case clear
  case glyph(Glyph, CellStyle)
  /// A picture's cell: a code point of one column.
  case symbol(UInt32, CellStyle)
  /// The second column of a glyph of two.
  case continuation
}

/// A rectangle of cells. May reach over the screen's edges; drawing is cut there.
package struct CellRectangle: Hashable, Sendable {
  package var column: Int
  package var row: Int
  package var columns: Int
  package var rows: Int

  package init(column: Int, row: Int, columns: Int, rows: Int) {
    self.column = column
    self.row = row
    self.columns = columns
    self.rows = rows
  }
}

/// Where pictures come from.
package enum PictureSource: Hashable, Sendable {
  case own
  /// A subscribed stream, by id.
  case stream(String)
}

/// Where a picture is to be shown.
package struct PicturePlacement: Hashable, Sendable {
  package let source: PictureSource
  package let area: CellRectangle
}

/// A rectangular grid of cells, and the places of pictures beneath.
package struct Screen: Equatable, Sendable {
  package let columns: Int
  package let rows: Int
  package private(set) var cells: [Cell]
  /// Later ones lie over earlier ones.
  package var pictures: [PicturePlacement] = []
  /// Where the visible cursor is (column, row); nil: hidden.
  package var cursor: (column: Int, row: Int)?

  package init(columns: Int, rows: Int) {
    self.columns = max(1, columns)
    self.rows = max(1, rows)
    cells = Array(repeating: .clear, count: self.columns * self.rows)
  }

  package static func == (left: Screen, right: Screen) -> Bool {
    left.columns == right.columns && left.rows == right.rows && left.cells == right.cells
      && left.pictures == right.pictures && left.cursor?.column == right.cursor?.column
      && left.cursor?.row == right.cursor?.row
  }

  package subscript(column: Int, row: Int) -> Cell { cells[row * columns + column] }

  /// Puts a picture's cell where nothing else was drawn... or where an earlier picture is.
  mutating func setSymbol(_ code: UInt32, _ style: CellStyle, column: Int, row: Int) {
    guard column >= 0, column < columns, row >= 0, row < rows else { return }
    switch cells[row * columns + column] {
    case .clear, .symbol: cells[row * columns + column] = .symbol(code, style)
    case .glyph, .continuation: break
    }
  }

  /// Draws text, cut at the right edge or after `limit` columns.
  ///
  /// - Returns: the column after it.
  @discardableResult
  package mutating func draw(
    _ text: String, column: Int, row: Int, style: CellStyle = .plain, limit: Int = .max
  ) -> Int {
    guard row >= 0, row < rows, column < columns else { return column }
    var position = column
    let end = limit < columns - max(0, column) ? column + limit : columns
    for glyph in PrintableText.glyphs(of: text) {
      if position + glyph.width > end { break }
      if position >= 0 { put(glyph, style, column: position, row: row) }
      position += glyph.width
    }
    return position
  }

  /// Covers a rectangle with spaces.
  package mutating func fill(_ area: CellRectangle, style: CellStyle = .plain) {
    for row in max(0, area.row)..<max(0, min(rows, area.row + area.rows), max(0, area.row)) {
      for column in max(
        0, area.column)..<max(0, min(columns, area.column + area.columns), max(0, area.column))
      {
        put(.space, style, column: column, row: row)
      }
    }
  }

  private mutating func put(_ glyph: Glyph, _ style: CellStyle, column: Int, row: Int) {
    let index = row * columns + column
    // Half of a wide glyph cannot stay.
    if cells[index] == .continuation { cells[index - 1] = .glyph(.space, style) }
    let after = index + glyph.width
    if column + glyph.width < columns, cells[after] == .continuation { cells[after] = .glyph(.space, style) }
    cells[index] = .glyph(glyph, style)
    if glyph.width == 2 { cells[index + 1] = .continuation }
  }

  /// The glyphs alone, a line a row, without spaces at the ends: for tests and logs.
  package var text: String {
    (0..<rows).map { row in
      var line = ""
      for column in 0..<columns {
        switch self[column, row] {
        case .clear: line += " "
        case .glyph(let glyph, _): line += glyph.text
        case .symbol(let code, _): line += Unicode.Scalar(code).map { String(Character($0)) } ?? "?"
        case .continuation: break
        }
      }
      while line.last == " " { line.removeLast() }
      return line
    }.joined(separator: "\n")
  }
}
