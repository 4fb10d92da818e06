import Base

extension CallState {
  /// A piece of the status line. The least important go first when the terminal is narrow.
  private struct Segment {
    let text: String
    /// 0 stays longest.
    let rank: Int
    var isAlert = false
    /// Begins the part about the other side.
    var opensPart = false
  }

  func drawStatus(_ screen: inout Screen, row: Int) {
    var segments = statusSegments
    func width() -> Int { segments.reduce(1) { $0 + PrintableText.width(of: $1.text) + 3 } - 3 }
    while segments.count > 1, width() > screen.columns,
      let last = segments.indices.max(by: { segments[$0].rank < segments[$1].rank })
    {
      segments.remove(at: last)
    }
    let style = CellStyle(reversed: true)
    screen.fill(CellRectangle(column: 0, row: row, columns: screen.columns, rows: 1), style: style)
    var column = screen.columns > 2 ? 1 : 0
    for (index, segment) in segments.enumerated() {
      if index > 0 {
        column = screen.draw(segment.opensPart ? " │ " : " · ", column: column, row: row, style: style)
      }
      let alert = CellStyle(foreground: .palette(1), background: .palette(15), bold: true, reversed: true)
      let text = PrintableText.truncated(segment.text, to: max(0, screen.columns - column))
      column = screen.draw(text, column: column, row: row, style: segment.isAlert ? alert : style)
    }
  }

  private var statusSegments: [Segment] {
    var segments: [Segment] = []
    switch connection {
    case .connecting: segments.append(Segment(text: "connecting", rank: 0, isAlert: true))
    case .reconnecting: segments.append(Segment(text: "reconnecting", rank: 0, isAlert: true))
    case .disconnected: segments.append(Segment(text: "disconnected", rank: 0, isAlert: true))
    case .connected: break
    }
    segments.append(Segment(text: PrintableText.truncated(ownName, to: 24), rank: 4))
    if isPublishing {
      segments.append(Segment(text: microphoneOn ? "mic on" : "mic off", rank: 1, isAlert: !microphoneOn))
      segments.append(Segment(text: cameraOn ? "cam on" : "cam off", rank: 3, isAlert: !cameraOn))
    } else {
      segments.append(Segment(text: "watching", rank: 3))
    }
    if cameraOn, pausedOwn > 0 {
      let text = pausedOwn == 1 ? "picture paused" : "picture paused for \(pausedOwn)"
      segments.append(Segment(text: text, rank: 2, isAlert: true))
    }
    if isArchiving { segments.append(Segment(text: "recording", rank: 2, isAlert: true)) }
    if let shown {
      segments += segmentsAbout(shown)
    } else if connection == .connected {
      segments.append(
        Segment(text: others > 0 ? "\(others) here" : "alone", rank: 2, opensPart: true))
    }
    segments.append(Segment(text: "? help", rank: 7, opensPart: true))
    return segments
  }

  private func segmentsAbout(_ subscriber: CallSubscriber) -> [Segment] {
    let more = max(subscribers.count, others) - 1
    let others = more > 0 ? " (+\(more))" : ""
    let name = PrintableText.truncated(subscriber.name.isEmpty ? "unnamed" : subscriber.name, to: 24)
    var segments = [Segment(text: name + others, rank: 0, opensPart: true)]
    if silent.contains(subscriber.streamID) {
      segments.append(Segment(text: "not answering", rank: 0, isAlert: true))
    }
    if subscriber.hasVideo, paused.contains(subscriber.streamID) {
      segments.append(Segment(text: "slow network", rank: 1, isAlert: true))
    }
    if !subscriberAudioOn {
      segments.append(Segment(text: "sound off", rank: 1, isAlert: true))
    } else if !subscriber.hasAudio {
      segments.append(Segment(text: "muted", rank: 2))
    }
    guard let flow = shownFlow else { return segments }
    if subscriber.hasVideo, let width = flow.width, let height = flow.height {
      segments.append(Segment(text: "\(width)x\(height)", rank: 8))
    }
    if subscriber.hasVideo, let rate = flow.framesPerSecond {
      segments.append(Segment(text: "\(Figure.text(rate, places: 0)) fps", rank: 5))
    }
    if let bitrate = flow.bitsPerSecond { segments.append(Segment(text: Figure.bitrate(bitrate), rank: 6)) }
    if let loss = flow.packetLoss {
      segments.append(
        Segment(text: "loss \(Figure.percent(loss))", rank: loss >= 0.02 ? 2 : 9, isAlert: loss >= 0.02))
    }
    if let time = flow.roundTripTime ?? statistics?.sent.roundTripTime {
      segments.append(Segment(text: "rtt \(Figure.milliseconds(time))", rank: 10))
    }
    return segments
  }
}

/// Numbers as people read them. Anything that is no number is a dash.
enum Figure {
  static func text(_ number: Double, places: Int) -> String {
    guard number.isFinite, abs(number) < 1e12 else { return "-" }
    if places == 0 { return "\(Int(number.rounded()))" }
    let tenths = Int((number * 10).rounded())
    return "\(tenths < 0 ? "-" : "")\(abs(tenths) / 10).\(abs(tenths) % 10)"
  }

  static func bitrate(_ bitsPerSecond: Double) -> String {
    bitsPerSecond >= 1e6
      ? "\(text(bitsPerSecond / 1e6, places: 1)) Mb/s" : "\(text(bitsPerSecond / 1e3, places: 0)) kb/s"
  }

  static func percent(_ fraction: Double) -> String { "\(text(fraction * 100, places: 1))%" }

  static func milliseconds(_ duration: Duration) -> String { "\(text(duration.milliseconds, places: 0)) ms" }
}
