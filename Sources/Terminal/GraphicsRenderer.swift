import Base
import Codecs

/// A picture that the terminal draws: bytes to be sent with the cursor at the corner of its place.
struct TerminalImage {
  let place: CellRectangle
  let bytes: [UInt8]
  /// Text in its place has to be drawn again after it.
  let coversText: Bool
}

/// Pictures in pixels, by the kitty graphics protocol, as sixels or as inline images. Confined to one thread.
///
/// Kitty's lie in a layer of their own and are replaced one by one: each new one is drawn over the old one,
/// which is deleted then, so the terminal keeps one picture a place. The others are paint: whatever is drawn into
/// their place destroys them, so they are drawn again with what lies over them.
struct GraphicsRenderer {
  /// At most so many pixels are sent for a picture that is not compressed: 600 kB.
  private static let maximumPixels = 150_000

  private struct Drawn {
    var place: CellRectangle
    var bytes: [UInt8]
    var id: Int
  }

  private let style: PictureStyle
  private var sixel: SixelEncoder
  private var scaler = PictureScaler()
  private var drawn: [PictureSource: Drawn] = [:]
  private var nextID = KittyGraphics.questionID + 1

  /// - Parameter registers: colours of sixel that the terminal keeps.
  init(style: PictureStyle, registers: Int?) {
    self.style = style
    sixel = SixelEncoder(registers: registers ?? 256)
  }

  /// One picture of a screen.
  struct Request {
    let source: PictureSource
    let frame: VideoFrame
    let area: CellRectangle
    /// Whether `frame` has not been drawn before.
    let isNew: Bool
  }

  /// What has to be sent to show these pictures with the cells of `screen`.
  ///
  /// - Parameter encoder: of the cells; it is told to draw everything when a picture has gone or moved.
  mutating func update(
    _ requests: [Request], cell: CellSize, filter: PictureFilter, screen: Screen,
    encoder: inout ScreenEncoder
  ) -> [TerminalImage] {
    let placed = requests.map { request in
      PictureRenderer.fit(
        width: request.frame.width, height: request.frame.height, in: request.area, cellAspect: cell.aspect)
    }
    let places = Dictionary(zip(requests.map(\.source), placed)) { _, last in last }
    var images: [TerminalImage] = []
    if style.isPaint {
      if drawn.contains(where: { places[$0.key] != $0.value.place }) { encoder.invalidate() }
      drawn = drawn.filter { places[$0.key] != nil }
    } else {
      // With everything else the terminal is cleared of its pictures, too.
      if encoder.drawsAll {
        drawn = [:]
        images.append(
          TerminalImage(place: .corner, bytes: Array(KittyGraphics.deleteAll.utf8), coversText: false))
      }
      for (source, old) in drawn where places[source] == nil {
        images.append(
          TerminalImage(
            place: .corner, bytes: Array(KittyGraphics.delete(id: old.id).utf8), coversText: false))
        drawn[source] = nil
      }
    }
    for (layer, (request, place)) in zip(requests, placed).enumerated() {
      let old = drawn[request.source]
      if request.isNew || old?.place != place {
        images.append(draw(request, place, layer: layer, cell: cell, filter: filter, old: old))
      } else if style.isPaint, let old,
        encoder.clears(place, in: screen) || images.contains(where: { $0.place.overlaps(place) })
      {
        images.append(TerminalImage(place: place, bytes: old.bytes, coversText: true))
      }
    }
    return images
  }

  private mutating func draw(
    _ request: Request, _ place: CellRectangle, layer: Int, cell: CellSize, filter: PictureFilter, old: Drawn?
  ) -> TerminalImage {
    let (width, height) = (place.columns * cell.width, place.rows * cell.height)
    if style == .sixel {
      scaler.scale(request.frame, width: width, height: height, filter: filter, enlarges: true)
      let bytes = sixel.encode(scaler.picture)
      drawn[request.source] = Drawn(place: place, bytes: bytes, id: 0)
      return TerminalImage(place: place, bytes: bytes, coversText: true)
    }
    // The terminal enlarges by itself.
    let pixels = Double(min(width, request.frame.width) * min(height, request.frame.height))
    let share = min(1, (Double(Self.maximumPixels) / max(1, pixels)).squareRoot())
    scaler.scale(
      request.frame, width: Int(Double(min(width, request.frame.width)) * share),
      height: Int(Double(min(height, request.frame.height)) * share), filter: filter)
    if style == .iterm2 {
      let bytes = InlineImage.draw(scaler.picture, columns: place.columns, rows: place.rows)
      drawn[request.source] = Drawn(place: place, bytes: bytes, id: 0)
      return TerminalImage(place: place, bytes: bytes, coversText: true)
    }
    let id = nextID
    nextID += 1
    var bytes = KittyGraphics.draw(
      scaler.picture, id: id, layer: layer, columns: place.columns, rows: place.rows)
    if let old { bytes += Array(KittyGraphics.delete(id: old.id).utf8) }
    drawn[request.source] = Drawn(place: place, bytes: [], id: id)
    return TerminalImage(place: place, bytes: bytes, coversText: false)
  }
}

extension CellRectangle {
  /// Where it does not matter.
  fileprivate static let corner = CellRectangle(column: 0, row: 0, columns: 0, rows: 0)

  func overlaps(_ other: CellRectangle) -> Bool {
    column < other.column + other.columns && other.column < column + columns
      && row < other.row + other.rows && other.row < row + rows
  }
}
