/// What lies over the picture while it is asked for: help and figures.
extension CallState {
  /// A row of a box.
  struct BoxLine {
    let name: String
    let value: String
    /// The value over time, oldest first; drawn where there is room.
    var history: [Double?] = []
    /// What fills the height of a sparkline at least.
    var least = 0.0
  }

  func drawHelp(_ screen: inout Screen, _ area: CellRectangle) {
    let keys = Self.keys.filter { $0.key != Self.talkKey || talk != nil }
    drawBox(
      &screen, area, title: "Keys", lines: keys.map { BoxLine(name: $0.key, value: $0.does) }, centred: true)
  }

  /// Of the selected stream and of what we send.
  func drawStatistics(_ screen: inout Screen, _ area: CellRectangle) {
    let name = shown.map { $0.name.isEmpty ? "unnamed" : PrintableText.truncated($0.name, to: 24) }
    drawBox(
      &screen, area, title: name.map { "Statistics: \($0)" } ?? "Statistics", lines: statisticsLines,
      centred: false)
  }

  private var statisticsLines: [BoxLine] {
    guard let statistics else { return [BoxLine(name: "no figures yet", value: "")] }
    var lines: [BoxLine] = []
    if let selected, let flow = shownFlow { lines += self.lines("received", flow, .stream(selected)) }
    lines += self.lines("sent", statistics.sent, .own)
    return lines + statistics.details.map { BoxLine(name: $0.name, value: $0.value) }
  }

  private func lines(_ direction: String, _ flow: CallFlow, _ source: PictureSource) -> [BoxLine] {
    var lines: [BoxLine] = []
    func add(
      _ name: String, _ value: String?, least: Double = 0, _ figure: ((CallFlow) -> Double?)? = nil
    ) {
      guard let value else { return }
      let past = figure.map { history.values(of: source, $0) } ?? []
      lines.append(BoxLine(name: "\(direction) \(name)", value: value, history: past, least: least))
    }
    if let width = flow.width, let height = flow.height { add("size", "\(width)x\(height)") }
    add("rate", flow.framesPerSecond.map { "\(Figure.text($0, places: 1)) fps" }, least: 30) {
      $0.framesPerSecond
    }
    add("bitrate", flow.bitsPerSecond.map(Figure.bitrate), least: 100_000) { $0.bitsPerSecond }
    add("loss", flow.packetLoss.map(Figure.percent), least: 0.05) { $0.packetLoss }
    add("round trip", flow.roundTripTime.map(Figure.milliseconds), least: 100) {
      $0.roundTripTime?.milliseconds
    }
    add("level", flow.audioLevel.map { "\(Figure.text($0, places: 0)) dBFS" })
    add("end to end", flow.endToEndLatency.map(Figure.milliseconds))
    return lines + flow.details.map { BoxLine(name: $0.name, value: $0.value) }
  }

  func drawBox(
    _ screen: inout Screen, _ area: CellRectangle, title: String, lines: [BoxLine], centred: Bool
  ) {
    let names = lines.map { PrintableText.width(of: $0.name) }.max() ?? 0
    let values = lines.map { PrintableText.width(of: $0.value) }.max() ?? 0
    let figures = lines.filter { !$0.history.isEmpty }.map { PrintableText.width(of: $0.value) }.max()
    // Beside the figures; what is longer than they are has no past. A third of the width leaves a picture.
    let start = names + (figures ?? 0) + 4
    let room = min(CallHistory.limit, area.columns / 3, area.columns - start - 1)
    // A few bars say nothing.
    let sparkline = figures != nil && room >= 8 ? room : 0
    let text = max(names + values + 4, PrintableText.width(of: title) + 4)
    let columns = min(area.columns, sparkline > 0 ? max(text, start + sparkline + 1) : text)
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
      lines = lines.prefix(rows - 2) + [BoxLine(name: "…", value: "\(lines.count - rows + 2) more")]
    }
    for (index, line) in lines.prefix(max(0, rows - 1)).enumerated() {
      let row = box.row + 1 + index
      screen.draw(" \(line.name)", column: box.column, row: row, style: heading, limit: columns)
      let column = box.column + names + 2
      screen.draw(" \(line.value)", column: column, row: row, style: Self.panel, limit: columns - names - 3)
      guard sparkline > 0, !line.history.isEmpty else { continue }
      let bars = Sparkline.text(line.history, columns: sparkline, least: line.least)
      screen.draw(bars, column: box.column + start, row: row, style: Self.panel)
    }
  }

  private static let talkKey = "space"

  /// Every key, and what it does.
  package static let keys: [(key: String, does: String)] = [
    ("m", "mute or unmute the microphone"), ("s", "mute or unmute what is heard"), ("c", "next camera"),
    ("v", "camera off or on"), (talkKey, "with --push-to-talk: speak while it is held"),
    ("Tab", "next stream"), ("Enter", "one stream, or all"), ("t", "type a chat line"),
    ("PgUp", "read the chat back"), ("a", "start or stop an archive"), ("w", "the last archive's address"),
    ("f", "next filter"), ("i", "statistics"),
    ("p", "who is here, and what a moderator does"), ("?", "this help"), ("Ctrl-Z", "to the shell, until fg"),
    ("q", "leave"),
  ]
}
