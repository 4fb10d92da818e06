/// Turns the difference between two screens into bytes for the terminal.
///
/// An update is bracketed as synchronized output (DEC private mode 2026), so that terminals which know it
/// show no half-drawn picture; others ignore it. After a glyph whose width terminals may see differently the
/// cursor is placed anew, so one wrong guess never shifts the rest of a line.
struct ScreenEncoder {
  private let capabilities: TerminalCapabilities
  /// What black ground is drawn with.
  private let black: CellColor
  private var shown: Screen?
  private var bytes: [UInt8] = []
  private var style = CellStyle.plain
  /// Where the terminal's cursor is for certain.
  private var position: (column: Int, row: Int)?

  /// - Parameter hidesPictures: whether pictures lie beneath the cells; then black ground is all but black, or
  ///   a terminal that is black takes it for none.
  init(capabilities: TerminalCapabilities, hidesPictures: Bool = false) {
    self.capabilities = capabilities
    black = hidesPictures ? .rgb(0x0A0A0A) : .palette(0)
  }

  /// The next update draws everything: the terminal's content is not known any more.
  mutating func invalidate() { shown = nil }

  /// Whether the next update draws everything, whatever was there.
  var drawsAll: Bool { shown == nil }

  /// Whether an update to `screen` wipes out something in that area.
  func clears(_ area: CellRectangle, in screen: Screen) -> Bool {
    guard let shown, shown.columns == screen.columns, shown.rows == screen.rows else { return true }
    for row in max(0, area.row)..<max(0, area.row, min(screen.rows, area.row + area.rows)) {
      for column in max(0, area.column)..<max(0, area.column, min(screen.columns, area.column + area.columns))
      where screen[column, row] == .clear && shown[column, row] != .clear {
        return true
      }
    }
    return false
  }

  /// Empty if nothing changed.
  ///
  /// - Parameter images: drawn over what is wiped out and under text.
  mutating func update(to screen: Screen, images: [TerminalImage] = []) -> [UInt8] {
    bytes.removeAll(keepingCapacity: true)
    position = nil
    style = .plain
    let before = shown.flatMap { $0.columns == screen.columns && $0.rows == screen.rows ? $0 : nil }
    if before == nil { append("\u{1B}[0m\u{1B}[2J") }
    if images.isEmpty {
      draw(screen, before)
    } else {
      draw(screen, before) { $0 == .clear }
      setStyle(.plain)
      for image in images {
        move(image.place.column, image.place.row)
        bytes.append(contentsOf: image.bytes)
      }
      position = nil
      draw(screen, before) { $0 != .clear }
      drawText(of: screen, over: images.filter(\.coversText).map(\.place))
    }
    placeCursor(screen.cursor, before: before)
    shown = screen
    guard !bytes.isEmpty else { return [] }
    setStyle(.plain)
    return Array("\u{1B}[?2026h".utf8) + bytes + Array("\u{1B}[?2026l".utf8)
  }

  /// Draws the cells that have changed and are wanted.
  private mutating func draw(
    _ screen: Screen, _ before: Screen?, where isWanted: (Cell) -> Bool = { _ in true }
  ) {
    let columns = screen.columns
    screen.cells.withUnsafeBufferPointer { cells in
      let old = before?.cells
      for index in cells.indices {
        let cell = cells[index]
        if cell == (old?[index] ?? .clear) || cell == .continuation { continue }
        guard isWanted(cell) else { continue }
        let (row, column) = index.quotientAndRemainder(dividingBy: columns)
        put(cell, column, row)
      }
    }
  }

  /// Draws what stands over pictures that were painted over it.
  private mutating func drawText(of screen: Screen, over places: [CellRectangle]) {
    for place in places {
      for row in max(0, place.row)..<max(0, place.row, min(screen.rows, place.row + place.rows)) {
        for column in max(
          0, place.column)..<max(0, place.column, min(screen.columns, place.column + place.columns))
        {
          let cell = screen[column, row]
          if cell != .clear, cell != .continuation { put(cell, column, row) }
        }
      }
    }
  }

  private mutating func placeCursor(_ cursor: (column: Int, row: Int)?, before: Screen?) {
    if let cursor {
      let same = before?.cursor.map { $0 == cursor } ?? false
      if same && bytes.isEmpty { return }
      move(cursor.column, cursor.row)
      append("\u{1B}[?25h")
    } else if before == nil || before?.cursor != nil {
      append("\u{1B}[?25l")
    }
  }

  private mutating func put(_ cell: Cell, _ column: Int, _ row: Int) {
    if position?.column != column || position?.row != row { move(column, row) }
    switch cell {
    case .clear:
      setStyle(.plain)
      bytes.append(0x20)
      position = (column + 1, row)
    case .symbol(let code, let style):
      setStyle(style)
      append(code: code)
      // Block symbols are one column everywhere.
      position = (column + 1, row)
    case .glyph(let glyph, let style):
      setStyle(style)
      put(glyph)
      let isCertain = !capabilities.unicode || glyph.text.utf8.count == 1
      position = isCertain ? (column + glyph.width, row) : nil
    case .continuation: break
    }
  }

  private mutating func put(_ glyph: Glyph) {
    if capabilities.unicode || glyph.text.utf8.allSatisfy({ $0 < 0x80 }) {
      append(glyph.text)
    } else {
      append(glyph.text.first.flatMap { Self.plainForms[$0] } ?? String(repeating: "?", count: glyph.width))
    }
  }

  private mutating func append(code: UInt32) {
    let isKnown = code >= 0x20 && code != 0x7F && (capabilities.unicode || code < 0x7F)
    if isKnown, let scalar = Unicode.Scalar(code) {
      bytes.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
    } else {
      bytes.append(0x23)
    }
  }

  private mutating func append(_ text: String) { bytes.append(contentsOf: text.utf8) }

  private mutating func append(number: Int) {
    if number >= 10 { append(number: number / 10) }
    bytes.append(UInt8(truncatingIfNeeded: 0x30 + number % 10))
  }

  private mutating func move(_ column: Int, _ row: Int) {
    append("\u{1B}[")
    append(number: row + 1)
    bytes.append(0x3B)
    append(number: column + 1)
    bytes.append(0x48)
    position = (column, row)
  }

  private mutating func setStyle(_ wanted: CellStyle) {
    var wanted = wanted
    if capabilities.colors == .none { (wanted.foreground, wanted.background) = (.standard, .standard) }
    if wanted.background == .palette(0) { wanted.background = black }
    if wanted == style { return }
    append("\u{1B}[")
    if wanted.bold != style.bold || wanted.reversed != style.reversed {
      bytes.append(0x30)
      if wanted.bold { append(";1") }
      if wanted.reversed { append(";7") }
      style = CellStyle(bold: wanted.bold, reversed: wanted.reversed)
      if wanted != style { bytes.append(0x3B) }
    }
    if wanted.foreground != style.foreground {
      append(wanted.foreground, base: 30)
      if wanted.background != style.background { bytes.append(0x3B) }
    }
    if wanted.background != style.background { append(wanted.background, base: 40) }
    bytes.append(0x6D)
    style = wanted
  }

  /// - Parameter base: 30 for the foreground, 40 for the background.
  private mutating func append(_ color: CellColor, base: Int) {
    switch color {
    case .standard: append(number: base + 9)
    case .palette(let index) where index < 8: append(number: base + Int(index))
    case .palette(let index) where index < 16: append(number: base + 52 + Int(index))
    case .palette(let index):
      append(number: base + 8)
      append(";5;")
      append(number: Int(index))
    case .rgb(let value):
      append(number: base + 8)
      append(";2;")
      append(number: Int(value >> 16 & 0xFF))
      bytes.append(0x3B)
      append(number: Int(value >> 8 & 0xFF))
      bytes.append(0x3B)
      append(number: Int(value & 0xFF))
    }
  }

  /// Our own signs where there is only ASCII.
  private static let plainForms: [Character: String] = [
    "│": "|", "·": "-", "…": "~", "●": "*", "▸": ">", "↓": "v", "▁": "_", "▂": ".", "▃": ":", "▄": "-",
    "▅": "=", "▆": "+", "▇": "*", "█": "#",
  ]
}
