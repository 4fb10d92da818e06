import Codecs

/// Screens and their pictures as bytes, in the way that the terminal draws best. Confined to one thread.
struct PicturePainter {
  /// What the terminal is able to draw, as far as it is known.
  struct Profile: Equatable {
    var style: PictureStyle
    var colors: ColorDepth
    /// Colours of sixel.
    var colorRegisters: Int?
    var cell: CellSize?
  }

  let profile: Profile
  private let symbols: PictureRenderer
  /// As they were drawn last, by the area that they were drawn for: of several pictures few are new.
  private var drawings: [PictureSource: (area: CellRectangle, drawing: PictureRenderer.Drawing)] = [:]
  private var graphics: GraphicsRenderer?
  private var encoder: ScreenEncoder
  private var filter: PictureFilter?

  init(profile: Profile, capabilities: TerminalCapabilities) {
    self.profile = profile
    var capabilities = capabilities
    capabilities.colors = profile.colors
    symbols = PictureRenderer(style: profile.style, colors: profile.colors)
    encoder = ScreenEncoder(capabilities: capabilities, hidesPictures: profile.style == .kitty)
    if profile.style.isGraphics {
      graphics = GraphicsRenderer(style: profile.style, registers: profile.colorRegisters)
    }
  }

  /// The next screen is drawn whole: the terminal's content is not known any more.
  mutating func invalidate() { encoder.invalidate() }

  /// What is to be sent when this painter draws no more. The last picture may have been cut off in its middle.
  var farewell: [UInt8] { profile.style == .kitty ? Array("\u{1B}\\\(KittyGraphics.deleteAll)".utf8) : [] }

  /// Empty if nothing changed.
  mutating func paint(
    _ screen: Screen, _ pictures: [PictureSource: (frame: VideoFrame, isNew: Bool)], filter: PictureFilter
  ) -> [UInt8] {
    let isFiltered = filter == self.filter
    self.filter = filter
    guard graphics != nil else {
      return encoder.update(to: withSymbols(screen, pictures, filter, isFiltered: isFiltered))
    }
    let requests = screen.pictures.compactMap { placement in
      pictures[placement.source].map {
        GraphicsRenderer.Request(
          source: placement.source, frame: $0.frame, area: placement.area, isNew: $0.isNew || !isFiltered)
      }
    }
    let images = graphics?.update(
      requests, cell: profile.cell ?? .usual, filter: filter, screen: screen, encoder: &encoder)
    return encoder.update(to: screen, images: images ?? [])
  }

  private mutating func withSymbols(
    _ screen: Screen, _ pictures: [PictureSource: (frame: VideoFrame, isNew: Bool)], _ filter: PictureFilter,
    isFiltered: Bool
  ) -> Screen {
    var screen = screen
    var drawn = drawings
    drawings = [:]
    for placement in screen.pictures {
      guard let picture = pictures[placement.source] else { continue }
      let old = drawn.removeValue(forKey: placement.source)
      let drawing: PictureRenderer.Drawing
      if let old, old.area == placement.area, isFiltered, !picture.isNew {
        drawing = old.drawing
      } else {
        drawing = symbols.draw(
          picture.frame, in: placement.area, cellAspect: profile.cell?.aspect ?? 2, filter: filter)
      }
      drawing.put(on: &screen)
      drawings[placement.source] = (placement.area, drawing)
    }
    return screen
  }
}
