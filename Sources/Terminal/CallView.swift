import Base

extension CallState {
  /// The whole screen: pictures, and over them notices, chat, overlays; the status line is the last row.
  package func view(columns: Int, rows: Int) -> Screen {
    var screen = Screen(columns: columns, rows: rows)
    let status = screen.rows - 1
    let area = CellRectangle(column: 0, row: 0, columns: screen.columns, rows: status)
    if area.rows > 0 {
      drawPictures(&screen, area)
      drawNotices(&screen, area)
      drawChat(&screen, area)
      switch overlay {
      case .help: drawBox(&screen, area, title: "Keys", lines: Self.helpLines, centred: true)
      case .statistics: drawBox(&screen, area, title: statisticsTitle, lines: statisticsLines, centred: false)
      case nil: break
      }
    }
    drawStatus(&screen, row: status)
    return screen
  }

  private func drawPictures(_ screen: inout Screen, _ area: CellRectangle) {
    guard let shown else {
      if isPublishing && cameraOn {
        screen.pictures = [PicturePlacement(source: .own, area: area)]
      } else {
        drawCentred(&screen, area, isPublishing ? "camera off" : "")
      }
      return
    }
    if shown.hasVideo {
      screen.pictures = [PicturePlacement(source: .stream(shown.streamID), area: area)]
    } else {
      drawCentred(&screen, area, "\(shown.name): camera off")
    }
    let (columns, rows) = (area.columns / 4, area.rows / 3)
    if showsSelfView, isPublishing, cameraOn, columns >= 8, rows >= 3 {
      let corner = CellRectangle(column: area.columns - columns, row: 0, columns: columns, rows: rows)
      screen.pictures.append(PicturePlacement(source: .own, area: corner))
    }
  }

  private func drawCentred(_ screen: inout Screen, _ area: CellRectangle, _ text: String) {
    let text = PrintableText.truncated(text, to: area.columns)
    let column = (area.columns - PrintableText.width(of: text)) / 2
    screen.draw(text, column: column, row: area.rows / 2)
  }

  private func drawNotices(_ screen: inout Screen, _ area: CellRectangle) {
    var lines = notices.map(\.text)
    switch connection {
    case .connecting(let what): lines.append("\(what)…")
    case .reconnecting: lines.append("connection lost, reconnecting…")
    case .disconnected(let reason): lines.append("disconnected: \(reason)")
    case .connected:
      if subscribers.isEmpty {
        lines.append(company)
        if let shareURL { lines.append("others join at \(shareURL)") }
        if isHosting { lines.append("the call ends for all when you leave") }
      }
    }
    var row = 0
    for line in lines {
      // An address is of use only as a whole.
      for part in PrintableText.wrapped(line, to: area.columns - 2, limit: 4) where row < area.rows {
        screen.draw(" \(part) ", column: 0, row: row, style: Self.panel)
        row += 1
      }
    }
  }

  private var company: String {
    switch others {
    case 0: hadCompany ? "nobody else is here" : "nobody else is here yet"
    case 1: "somebody is here, and not received"
    default: "\(others) others are here, and not received"
    }
  }

  private var statisticsTitle: String {
    guard let name = shown?.name, !name.isEmpty else { return "Statistics" }
    return "Statistics: \(PrintableText.truncated(name, to: 24))"
  }

  private func drawChat(_ screen: inout Screen, _ area: CellRectangle) {
    var row = area.rows
    if let input {
      row -= 1
      drawInput(input, &screen, area, row)
    }
    let limit = max(1, area.rows / 3)
    var lines: [(text: String, isOwn: Bool)] = []
    for line in visibleChat.suffix(limit) {
      let parts = PrintableText.wrapped("\(line.from): \(line.text)", to: area.columns - 2, limit: 4)
      lines += parts.map { ($0, line.isOwn) }
    }
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

  private func drawBox(
    _ screen: inout Screen, _ area: CellRectangle, title: String, lines: [(String, String)], centred: Bool
  ) {
    let names = lines.map { PrintableText.width(of: $0.0) }.max() ?? 0
    let values = lines.map { PrintableText.width(of: $0.1) }.max() ?? 0
    let columns = min(area.columns, max(names + values + 4, PrintableText.width(of: title) + 4))
    let rows = min(area.rows, lines.count + 2)
    let box = CellRectangle(
      column: centred ? (area.columns - columns) / 2 : 0, row: centred ? (area.rows - rows) / 2 : 0,
      columns: columns, rows: rows)
    screen.fill(box, style: Self.panel)
    var heading = Self.panel
    heading.bold = true
    screen.draw(" \(title)", column: box.column, row: box.row, style: heading, limit: columns)
    var lines = lines
    if rows >= 3, lines.count > rows - 1 {
      // What is cut off is not passed over in silence.
      lines = lines.prefix(rows - 2) + [("…", "\(lines.count - rows + 2) more")]
    }
    for (index, line) in lines.prefix(max(0, rows - 1)).enumerated() {
      let row = box.row + 1 + index
      screen.draw(" \(line.0)", column: box.column, row: row, style: heading, limit: columns)
      let column = box.column + names + 2
      screen.draw(" \(line.1)", column: column, row: row, style: Self.panel, limit: columns - names - 3)
    }
  }

  static let panel = CellStyle(foreground: .palette(15), background: .palette(0))

  static let helpLines = [
    ("m", "mute or unmute the microphone"), ("s", "mute or unmute what is heard"), ("c", "next camera"),
    ("v", "camera off or on"), ("Tab", "next stream"), ("t", "type a chat line"),
    ("f", "next filter"), ("i", "statistics"), ("?", "this help"), ("q", "leave"),
  ]
}
