import Base

extension CallState {
  /// The whole screen: pictures, and over them notices, chat, overlays; the status line is the last row.
  ///
  /// - Parameter cellAspect: a cell's height over its width.
  package func view(columns: Int, rows: Int, cellAspect: Double = 2) -> Screen {
    var screen = Screen(columns: columns, rows: rows)
    let status = screen.rows - 1
    let area = CellRectangle(column: 0, row: 0, columns: screen.columns, rows: status)
    if area.rows > 0 {
      drawPictures(&screen, area, cellAspect: cellAspect)
      drawNotices(&screen, area)
      drawChat(&screen, area)
      switch overlay {
      case .help: drawHelp(&screen, area)
      case .statistics:
        drawStatistics(&screen, area)
        // What a key has done is told over the figures, too; it goes away by itself.
        draw(notices.map(\.text), &screen, area)
      case .participants:
        drawRoster(&screen, area)
        draw(notices.map(\.text), &screen, area)
      case nil: break
      }
    }
    drawStatus(&screen, row: status)
    return screen
  }

  private func drawPictures(_ screen: inout Screen, _ area: CellRectangle, cellAspect: Double) {
    guard let shown else {
      if isPublishing && cameraOn {
        screen.pictures = [PicturePlacement(source: .own, area: area)]
      } else {
        drawCentred(&screen, area, isPublishing ? "camera off" : "")
      }
      return
    }
    if showsGrid { return drawGrid(&screen, area, cellAspect: cellAspect) }
    if shown.hasVideo, paused.contains(shown.streamID) {
      drawCentred(&screen, area, "\(shown.name): sound only, the network is too slow for the picture")
    } else if shown.hasVideo {
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

  /// Everybody beside each other, the own picture last. With more people than room, those around the
  /// selected one.
  private func drawGrid(_ screen: inout Screen, _ area: CellRectangle, cellAspect: Double) {
    let own = showsSelfView && isPublishing
    let grid = CallGrid(count: subscribers.count + (own ? 1 : 0), in: area, cellAspect: cellAspect)
    let room = own && grid.count > subscribers.count ? grid.count - 1 : grid.count
    let selected = subscribers.firstIndex { $0.streamID == self.selected } ?? 0
    let page = selected / room * room
    let pageEnd = min(page + room, subscribers.count)
    let hasOwn = own && pageEnd - page < grid.count
    let used = pageEnd - page + (hasOwn ? 1 : 0)
    for (index, subscriber) in subscribers[page..<pageEnd].enumerated() {
      let tile = grid.tile(index, of: used)
      let isPaused = subscriber.hasVideo && paused.contains(subscriber.streamID)
      drawTile(
        &screen, tile.picture, subscriber.hasVideo && !isPaused ? .stream(subscriber.streamID) : nil,
        without: isPaused ? "slow network" : "camera off")
      drawName(of: subscriber, &screen, tile.name)
    }
    if hasOwn {
      let tile = grid.tile(used - 1, of: used)
      drawTile(&screen, tile.picture, cameraOn ? .own : nil)
      draw(name: "\(ownName) (you)", marks: microphoneOn ? [] : ["muted"], &screen, tile.name, style: .plain)
    }
  }

  private func drawTile(
    _ screen: inout Screen, _ area: CellRectangle, _ source: PictureSource?, without: String = "camera off"
  ) {
    if let source {
      screen.pictures.append(PicturePlacement(source: source, area: area))
    } else {
      drawCentred(&screen, area, without)
    }
  }

  /// Told apart without colours: who speaks by a bright bar and a sign, who is selected by another sign.
  private func drawName(of subscriber: CallSubscriber, _ screen: inout Screen, _ area: CellRectangle) {
    let speaks = speaker.streamID == subscriber.streamID
    var marks: [String] = []
    if silent.contains(subscriber.streamID) { marks.append("not answering") }
    if !subscriber.hasAudio { marks.append("muted") }
    let sign = (subscriber.streamID == selected ? "▸ " : "") + (speaks ? "● " : "")
    draw(
      name: sign + (subscriber.name.isEmpty ? "unnamed" : subscriber.name), marks: marks, &screen, area,
      style: CellStyle(bold: speaks, reversed: speaks))
  }

  /// A long name gives way to the marks behind it.
  private func draw(
    name: String, marks: [String], _ screen: inout Screen, _ area: CellRectangle, style: CellStyle
  ) {
    screen.fill(area, style: style)
    let marks = marks.map { " · \($0)" }.joined()
    let room = area.columns - 2 - PrintableText.width(of: marks)
    let text = PrintableText.truncated(
      PrintableText.truncated(name, to: max(4, room)) + marks, to: area.columns - 2)
    screen.draw(text, column: area.column + 1, row: area.row, style: style, limit: area.columns - 2)
  }

  private func drawCentred(_ screen: inout Screen, _ area: CellRectangle, _ text: String) {
    let text = PrintableText.truncated(text, to: area.columns)
    let column = area.column + (area.columns - PrintableText.width(of: text)) / 2
    screen.draw(text, column: column, row: area.row + area.rows / 2)
  }

  private func drawNotices(_ screen: inout Screen, _ area: CellRectangle) {
    var lines = notices.map(\.text)
    switch connection {
    case .connecting(let what): lines.append("\(what)…")
    case .reconnecting(let why): lines.append("\(why), reconnecting…")
    case .disconnected(let reason): lines.append("disconnected: \(reason)")
    case .connected:
      if subscribers.isEmpty {
        lines.append(company)
        if let shareURL { lines.append("others join at \(shareURL)") }
        if isHosting { lines.append("the call ends for all when you leave") }
      }
    }
    draw(lines, &screen, area)
  }

  private func draw(_ lines: [String], _ screen: inout Screen, _ area: CellRectangle) {
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

  static let panel = CellStyle(foreground: .palette(15), background: .palette(0))
}
