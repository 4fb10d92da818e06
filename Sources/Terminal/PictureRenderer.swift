import CChafa
import Codecs

/// How pictures are drawn.
package enum PictureStyle: Equatable, Sendable {
  /// Unicode block symbols.
  case symbols
  /// Printable ASCII.
  case ascii
  /// Pixels, by the kitty graphics protocol.
  case kitty
  /// Pixels, as sixels.
  case sixel
  /// Pixels, as iTerm2's inline images.
  case iterm2

  /// Whether the terminal draws pictures, and not we with its characters.
  var isGraphics: Bool { self == .kitty || isPaint }
  /// Whether pictures take the place of cells, and cells that of pictures.
  var isPaint: Bool { self == .sixel || self == .iterm2 }
}

/// Pictures as cells: symbols in 24-bit colour by `BlockArt`, all others by libchafa. Confined to one thread.
final class PictureRenderer {
  /// Pixels that chafa looks at for a cell, each way.
  private static let cellPixels = 8

  /// How hard chafa tries to find the best symbol, 0–1: 4.5 ms of CPU for 64x24 cells; 0.5 costs 5.6 ms and
  /// 0.9 8.3 ms for a picture that looks the same in motion.
  private static let workFactor: Float = 0.2

  private struct Geometry: Hashable {
    var columns: Int
    var rows: Int
  }

  private let style: PictureStyle
  private let colors: ColorDepth
  private let symbols: OpaquePointer
  private var canvases: [Geometry: OpaquePointer] = [:]
  private var scaler = PictureScaler()

  init(style: PictureStyle, colors: ColorDepth) {
    self.style = style
    self.colors = colors
    // Its threads would cost more in waking than they save on so small a picture.
    chafa_set_n_threads(1)
    symbols = chafa_symbol_map_new()
    chafa_symbol_map_add_by_tags(symbols, Self.tags(style, colors))
  }

  deinit {
    for canvas in canvases.values { chafa_canvas_unref(canvas) }
    chafa_symbol_map_unref(symbols)
  }

  /// The largest rectangle in the middle of `area` with the shape of a picture.
  ///
  /// - Parameter cellAspect: a cell's height over its width.
  static func fit(width: Int, height: Int, in area: CellRectangle, cellAspect: Double) -> CellRectangle {
    let shape = Double(max(1, width)) / Double(max(1, height)) * cellAspect
    var columns = area.columns
    var rows = Int((Double(columns) / shape).rounded())
    if rows > area.rows {
      rows = area.rows
      columns = Int((Double(rows) * shape).rounded())
    }
    columns = min(max(1, columns), max(1, area.columns))
    rows = min(max(1, rows), max(1, area.rows))
    return CellRectangle(
      column: area.column + (area.columns - columns) / 2, row: area.row + (area.rows - rows) / 2,
      columns: columns, rows: rows)
  }

  /// A picture made of cells, row by row.
  struct Drawing {
    let place: CellRectangle
    var cells: [Cell] = []

    /// Goes wherever nothing lies over it.
    func put(on screen: inout Screen) {
      for (index, cell) in cells.enumerated() {
        guard case .symbol(let code, let style) = cell else { continue }
        let (row, column) = index.quotientAndRemainder(dividingBy: place.columns)
        screen.setSymbol(code, style, column: place.column + column, row: place.row + row)
      }
    }
  }

  /// Draws a frame as large as the area allows; nothing if there is no area.
  func draw(
    _ frame: VideoFrame, in area: CellRectangle, cellAspect: Double, filter: PictureFilter
  ) -> Drawing {
    guard area.columns > 0, area.rows > 0 else { return Drawing(place: area) }
    let place = Self.fit(width: frame.width, height: frame.height, in: area, cellAspect: cellAspect)
    if style == .symbols, colors == .trueColor { return drawBlocks(frame, in: place, filter: filter) }
    let canvas = canvas(for: Geometry(columns: place.columns, rows: place.rows))
    scaler.scale(
      frame, width: place.columns * Self.cellPixels, height: place.rows * Self.cellPixels, filter: filter)
    let picture = scaler.picture
    picture.bytes.withUnsafeBufferPointer {
      chafa_canvas_draw_all_pixels(
        canvas, CHAFA_PIXEL_RGB8, $0.baseAddress, Int32(picture.width), Int32(picture.height),
        Int32(picture.width * 3))
    }
    var drawing = Drawing(place: place)
    drawing.cells.reserveCapacity(place.rows * place.columns)
    for row in 0..<Int32(place.rows) {
      for column in 0..<Int32(place.columns) {
        let code = chafa_canvas_get_char_at(canvas, column, row)
        var (foreground, background): (Int32, Int32) = (-1, -1)
        chafa_canvas_get_raw_colors_at(canvas, column, row, &foreground, &background)
        let style = CellStyle(foreground: color(foreground), background: color(background))
        drawing.cells.append(.symbol(code, style))
      }
    }
    return drawing
  }

  private func drawBlocks(
    _ frame: VideoFrame, in place: CellRectangle, filter: PictureFilter
  ) -> Drawing {
    scaler.scale(
      frame, width: place.columns * BlockArt.columns, height: place.rows * BlockArt.rows, filter: filter,
      enlarges: true)
    let picture = scaler.picture
    let stride = picture.width * 3
    var drawing = Drawing(place: place)
    drawing.cells.reserveCapacity(place.rows * place.columns)
    picture.bytes.withUnsafeBufferPointer { bytes in
      guard let start = bytes.baseAddress else { return }
      for row in 0..<place.rows {
        for column in 0..<place.columns {
          let corner = start + row * BlockArt.rows * stride + column * BlockArt.columns * 3
          let block = BlockArt.block(corner, stride: stride)
          let style = CellStyle(foreground: .rgb(block.foreground), background: .rgb(block.background))
          drawing.cells.append(.symbol(block.code, style))
        }
      }
    }
    return drawing
  }

  private func color(_ raw: Int32) -> CellColor {
    switch colors {
    case .none: .standard
    case _ where raw < 0: .standard
    case .trueColor: .rgb(UInt32(raw) & 0xFFFFFF)
    case .palette16, .palette256: .palette(UInt8(truncatingIfNeeded: raw))
    }
  }

  private func canvas(for geometry: Geometry) -> OpaquePointer {
    if let canvas = canvases[geometry] { return canvas }
    // A resize makes new ones; those of a few shapes (self-view, both orientations) are worth keeping.
    if canvases.count >= 4 {
      for canvas in canvases.values { chafa_canvas_unref(canvas) }
      canvases = [:]
    }
    let config = chafa_canvas_config_new()
    defer { chafa_canvas_config_unref(config) }
    chafa_canvas_config_set_geometry(config, Int32(geometry.columns), Int32(geometry.rows))
    chafa_canvas_config_set_symbol_map(config, symbols)
    chafa_canvas_config_set_pixel_mode(config, CHAFA_PIXEL_MODE_SYMBOLS)
    chafa_canvas_config_set_color_space(config, CHAFA_COLOR_SPACE_RGB)
    chafa_canvas_config_set_work_factor(config, Self.workFactor)
    switch colors {
    case .trueColor: chafa_canvas_config_set_canvas_mode(config, CHAFA_CANVAS_MODE_TRUECOLOR)
    case .palette256: chafa_canvas_config_set_canvas_mode(config, CHAFA_CANVAS_MODE_INDEXED_240)
    case .palette16: chafa_canvas_config_set_canvas_mode(config, CHAFA_CANVAS_MODE_INDEXED_16)
    case .none: chafa_canvas_config_set_canvas_mode(config, CHAFA_CANVAS_MODE_FGBG)
    }
    if colors != .trueColor { chafa_canvas_config_set_dither_mode(config, CHAFA_DITHER_MODE_ORDERED) }
    // Its stretching of contrast burns faces out.
    chafa_canvas_config_set_preprocessing_enabled(config, 0)
    let canvas: OpaquePointer = chafa_canvas_new(config)
    canvases[geometry] = canvas
    return canvas
  }

  private static func tags(_ style: PictureStyle, _ colors: ColorDepth) -> ChafaSymbolTags {
    // Blocks and quadrants. Line-drawing characters cost half as much again for little more detail.
    let blocks = CHAFA_SYMBOL_TAG_SPACE.rawValue | CHAFA_SYMBOL_TAG_BLOCK.rawValue
    switch style {
    case .ascii: return CHAFA_SYMBOL_TAG_ASCII
    case .symbols where colors == .none: return ChafaSymbolTags(blocks | CHAFA_SYMBOL_TAG_STIPPLE.rawValue)
    case .symbols, .kitty, .sixel, .iterm2: return ChafaSymbolTags(blocks)
    }
  }
}
