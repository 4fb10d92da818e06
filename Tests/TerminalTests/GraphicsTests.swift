import Base
import Codecs
import Foundation
import Testing

@testable import Terminal

/// Frames whose pixels are known.
enum TestFrame {
  static func make(
    _ width: Int, _ height: Int, _ pixel: (Int, Int) -> (y: UInt8, u: UInt8, v: UInt8)
  ) -> VideoFrame {
    VideoFrame(width: width, height: height, time: .zero) { y, u, v, strideY, strideUV in
      for row in 0..<height {
        for column in 0..<width {
          let value = pixel(column, row)
          y[row * strideY + column] = value.y
          u[row / 2 * strideUV + column / 2] = value.u
          v[row / 2 * strideUV + column / 2] = value.v
        }
      }
    }
  }

  /// Grey from black at the left to white at the right, over it a red bar.
  static let card = make(64, 48) { column, row in
    row >= 12 && row < 24 ? (81, 90, 240) : (UInt8(16 + column * 219 / 63), 128, 128)
  }
}

struct BlockArtTests {
  /// Two pixels by four, each 0xRRGGBB.
  private func block(_ pixels: [UInt32]) -> BlockArt.Block {
    let bytes = pixels.flatMap { [UInt8($0 >> 16 & 0xFF), UInt8($0 >> 8 & 0xFF), UInt8($0 & 0xFF)] }
    return bytes.withUnsafeBufferPointer { BlockArt.block($0.baseAddress.unsafelyUnwrapped, stride: 6) }
  }

  private func cut(_ pattern: String) -> BlockArt.Block {
    block(pattern.filter { $0 != " " }.map { $0 == "#" ? 0xF08010 : 0x102030 })
  }

  @Test(
    arguments: [
      ("## ## .. ..", 0x2580), ("#. #. #. #.", 0x258C), ("#. #. .# .#", 0x259A), ("#. #. .. ..", 0x2598),
      (".# .# .. ..", 0x259D), (".. .. #. #.", 0x2596), (".. .. .# .#", 0x2597), (".. .. .. ##", 0x2582),
      (".. ## ## ##", 0x2586),
    ] as [(String, UInt32)])
  func everySymbolIsFound(pattern: String, code: UInt32) {
    #expect(cut(pattern) == BlockArt.Block(code: code, foreground: 0xF08010, background: 0x102030))
  }

  @Test func invertedCutsAreTheSame() {
    #expect(cut(".. .. ## ##") == BlockArt.Block(code: 0x2580, foreground: 0x102030, background: 0xF08010))
    #expect(cut(".# .# ## ##") == BlockArt.Block(code: 0x2598, foreground: 0x102030, background: 0xF08010))
  }

  @Test func evenCellsAreSpaces() {
    #expect(
      block(Array(repeating: 0xFFFFFF, count: 8))
        == .init(code: 0x20, foreground: 0xFFFFFF, background: 0xFFFFFF))
    #expect(
      block([0x808080, 0x818181, 0x808080, 0x818181, 0x808080, 0x808080, 0x808080, 0x808080]).code == 0x20)
    #expect(block([0, 0, 0, 0, 0xFFFFFF, 0xFFFFFF, 0xFFFFFF, 0xFFFFFF]).foreground == 0)
  }

  @Test func whatFitsNoSymbolIsTheBestCut() {
    // One stray pixel joins the half it is in.
    let block = cut("## ## .. #.")
    #expect(block.code == 0x2580 && block.foreground == 0xF08010)
    #expect(block.background == 0x483828)
  }
}

struct PictureFilterTests {
  private func filtered(_ filter: PictureFilter, _ bytes: [UInt8], width: Int) -> [UInt8] {
    var picture = RGBPicture(width: width, height: bytes.count / 3 / width, bytes: bytes)
    filter.apply(to: &picture)
    #expect(picture.bytes.count == bytes.count)
    return picture.bytes
  }

  @Test func eachDoesWhatItSays() {
    let colours: [UInt8] = [255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 255]
    #expect(filtered(.none, colours, width: 4) == colours)
    #expect(filtered(.mono, colours, width: 4) == [77, 77, 77, 149, 149, 149, 29, 29, 29, 255, 255, 255])
    #expect(filtered(.negative, colours, width: 4) == [0, 255, 255, 255, 0, 255, 255, 255, 0, 0, 0, 0])
    #expect(
      filtered(.palette, [250, 250, 250, 3, 3, 3, 220, 90, 10, 10, 110, 180], width: 2)
        == [255, 255, 255, 0, 0, 0, 213, 94, 0, 0, 114, 178])
  }

  @Test func edgesAreWhereThePictureChanges() {
    // Four columns, the right half white, three rows.
    let row: [UInt8] = [0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 255, 255]
    let edges = filtered(.edges, row + row + row, width: 4)
    #expect(edges == (0..<3).flatMap { _ in [0, 0, 0, 255, 255, 255, 255, 255, 255, 0, 0, 0] as [UInt8] })
    #expect(filtered(.edges, Array(repeating: 90, count: 27), width: 3) == Array(repeating: 0, count: 27))
  }

  @Test(arguments: PictureFilter.allCases) func onePixelIsAPicture(filter: PictureFilter) {
    #expect(filtered(filter, [12, 200, 99], width: 1).count == 3)
  }
}

struct SixelEncoderTests {
  /// A terminal's view of sixels: one RGB triple (percent) a pixel.
  private func decode(_ bytes: [UInt8]) throws -> (width: Int, height: Int, pixels: [[Int]?]) {
    let text = String(decoding: bytes, as: UTF8.self)
    #expect(text.hasPrefix("\u{1B}P0;1;0q") && text.hasSuffix("\u{1B}\\"))
    let head = try #require(text.firstMatch(of: /"1;1;(\d+);(\d+)/))
    let (width, height) = (try #require(Int(head.1)), try #require(Int(head.2)))
    var colors: [Int: [Int]] = [:]
    var pixels: [[Int]?] = Array(repeating: nil, count: width * height)
    var (column, band, color) = (0, 0, 0)
    for token in text[head.range.upperBound...].dropLast(2).matches(
      of: /#(\d+);2;(\d+);(\d+);(\d+)|#(\d+)|!(\d+)([?-~])|[$\-?-~]/)
    {
      if let register = token.1.flatMap({ Int($0) }) {
        colors[register] = [token.2, token.3, token.4].compactMap { $0.flatMap { Int($0) } }
      } else if let register = token.5.flatMap({ Int($0) }) {
        color = register
      } else if token.0 == "$" {
        column = 0
      } else if token.0 == "-" {
        (column, band) = (0, band + 1)
      } else {
        let count = token.6.flatMap { Int($0) } ?? 1
        let mask = Int((token.7 ?? token.0).utf8.first ?? 0) - 0x3F
        for _ in 0..<count {
          for bit in 0..<6 where mask >> bit & 1 == 1 {
            let row = band * 6 + bit
            #expect(row < height && column < width)
            pixels[row * width + column] = colors[color]
          }
          column += 1
        }
      }
    }
    return (width, height, pixels)
  }

  @Test(arguments: [(1, 1), (7, 5), (8, 6), (40, 13), (3, 24)])
  func everyPixelIsPainted(width: Int, height: Int) throws {
    var encoder = SixelEncoder()
    let bytes = (0..<width * height * 3).map { UInt8(truncatingIfNeeded: $0 * 37) }
    let picture = RGBPicture(width: width, height: height, bytes: bytes)
    let first = encoder.encode(picture)
    let decoded = try decode(first)
    #expect(decoded.width == width && decoded.height == height)
    for (index, pixel) in decoded.pixels.enumerated() {
      let pixel = try #require(pixel, "pixel \(index)")
      for channel in 0..<3 {
        // Six levels: a step is 20 %, and dithering takes the one above or below.
        #expect(abs(pixel[channel] - Int(bytes[index * 3 + channel]) * 100 / 255) <= 21)
      }
    }
    #expect(encoder.encode(picture) == first, "nothing is left of the last picture")
  }

  @Test func coloursAreRightOnAverage() throws {
    for registers in [16, 64, 256] {
      var encoder = SixelEncoder(registers: registers)
      let grey = RGBPicture(width: 16, height: 12, bytes: Array(repeating: 100, count: 16 * 12 * 3))
      let pixels = try decode(encoder.encode(grey)).pixels.compactMap { $0 }
      #expect(Set(pixels).count <= registers)
      for channel in 0..<3 {
        let mean = pixels.reduce(0) { $0 + $1[channel] } / pixels.count
        #expect(abs(mean - 39) <= 4, "\(registers): \(mean)")
      }
    }
  }

  @Test func extremesAreNotDithered() throws {
    var encoder = SixelEncoder()
    for value in [0, 255] as [UInt8] {
      let flat = RGBPicture(width: 8, height: 6, bytes: Array(repeating: value, count: 8 * 6 * 3))
      #expect(
        Set(try decode(encoder.encode(flat)).pixels) == [Array(repeating: value == 0 ? 0 : 100, count: 3)])
    }
  }
}

struct KittyGraphicsTests {
  @Test func base64() {
    for length in 0..<20 {
      let bytes = (0..<length).map { UInt8(truncatingIfNeeded: $0 * 97 + 5) }
      #expect(KittyGraphics.base64(bytes) == Array(Data(bytes).base64EncodedString().utf8))
    }
  }

  @Test func picturesComeInPieces() throws {
    let bytes = (0..<60 * 50 * 3).map { UInt8(truncatingIfNeeded: $0) }
    let sent = KittyGraphics.draw(
      RGBPicture(width: 60, height: 50, bytes: bytes), id: 7, layer: 1, columns: 12, rows: 5)
    var terminal = EmulatedTerminal(columns: 1, rows: 1)
    terminal.take(String(decoding: sent, as: UTF8.self))
    var payload = ""
    for (index, command) in terminal.strings.enumerated() {
      let parts = command.text.split(separator: ";", maxSplits: 1, omittingEmptySubsequences: false)
      #expect(parts[0].contains(index < terminal.strings.count - 1 ? "m=1" : "m=0"))
      #expect(parts[1].utf8.count <= 4096)
      payload += parts[1]
    }
    #expect(terminal.strings[0].text.hasPrefix("Ga=T,f=24,s=60,v=50,i=7,c=12,r=5,z=-1073741923,C=1,q=2,m=1;"))
    #expect(Data(base64Encoded: payload) == Data(bytes))
  }
}

struct GraphicsRendererTests {
  private let cell = CellSize(width: 4, height: 8)
  private let area = CellRectangle(column: 0, row: 0, columns: 16, rows: 6)

  /// What a terminal gets for a row of screens.
  private struct Painter {
    var painter: PicturePainter
    var terminal = EmulatedTerminal(columns: 20, rows: 8)

    init(_ style: PictureStyle) {
      painter = PicturePainter(
        profile: .init(style: style, colors: .trueColor, cell: CellSize(width: 4, height: 8)),
        capabilities: TerminalCapabilities(colors: .trueColor, unicode: true))
    }

    /// The picture commands of one update: what they are, and where.
    mutating func paint(
      _ screen: Screen, _ frames: [PictureSource: VideoFrame], new: Set<PictureSource>
    ) -> [String] {
      let before = terminal.strings.count
      let pictures = frames.reduce(into: [PictureSource: (frame: VideoFrame, isNew: Bool)]()) {
        $0[$1.key] = ($1.value, new.contains($1.key))
      }
      let bytes = painter.paint(screen, pictures, filter: .none)
      terminal.take(String(decoding: bytes, as: UTF8.self))
      return terminal.strings[before...].map { command in
        let place = "@\(command.column),\(command.row)"
        if command.text.contains("q\"1;1") { return "sixel\(place)" }
        if command.text.hasPrefix("1337;") { return "inline\(place)" }
        let id = command.text.firstMatch(of: /i=(\d+)/).map { String($0.1) } ?? "all"
        if command.text.hasPrefix("Ga=d") { return "delete \(id)" }
        return command.text.hasPrefix("Ga=T") ? "draw \(id)\(place)" : "more"
      }.filter { $0 != "more" }
    }
  }

  private func screen(_ pictures: [PicturePlacement], text: String? = nil) -> Screen {
    var screen = Screen(columns: 20, rows: 8)
    screen.pictures = pictures
    if let text { screen.draw(text, column: 1, row: 1) }
    return screen
  }

  @Test func kittyKeepsOnePictureAPlace() {
    var painter = Painter(.kitty)
    let frames: [PictureSource: VideoFrame] = [.own: TestFrame.card, .stream("a"): TestFrame.card]
    let both = screen([
      PicturePlacement(source: .stream("a"), area: area),
      PicturePlacement(source: .own, area: CellRectangle(column: 12, row: 0, columns: 8, rows: 3)),
    ])
    #expect(
      painter.paint(both, frames, new: [.own, .stream("a")]) == ["delete all", "draw 32@0,0", "draw 33@12,0"])
    #expect(painter.paint(both, frames, new: []) == [])
    #expect(painter.paint(both, frames, new: [.own]) == ["draw 34@12,0", "delete 33"])
    // Text over a picture costs nothing but the text.
    let one = screen([PicturePlacement(source: .stream("a"), area: area)], text: "hello")
    #expect(painter.paint(one, frames, new: []) == ["delete 34"])
    #expect(painter.terminal.text == "\n hello")
    painter.painter.invalidate()
    #expect(painter.paint(one, frames, new: []) == ["delete all", "draw 35@0,0"])
    #expect(painter.paint(screen([]), frames, new: []) == ["delete 35"])
    #expect(String(decoding: painter.painter.farewell, as: UTF8.self) == "\u{1B}\\\(KittyGraphics.deleteAll)")
  }

  @Test(arguments: [("sixel", PictureStyle.sixel), ("inline", .iterm2)])
  func paintIsPutOnAgainWhereItWasWipedOut(name: String, style: PictureStyle) {
    var painter = Painter(style)
    let frames: [PictureSource: VideoFrame] = [.own: TestFrame.card, .stream("a"): TestFrame.card]
    let pictures = [
      PicturePlacement(source: .stream("a"), area: area),
      PicturePlacement(source: .own, area: CellRectangle(column: 8, row: 3, columns: 8, rows: 3)),
    ]
    #expect(
      painter.paint(screen(pictures, text: "hi"), frames, new: [.own, .stream("a")])
        == ["\(name)@0,0", "\(name)@8,3"])
    #expect(painter.paint(screen(pictures, text: "hi"), frames, new: []) == [])
    #expect(painter.paint(screen(pictures, text: "hi"), frames, new: [.own]) == ["\(name)@8,3"])
    // What lies over a picture that is painted is painted, too.
    #expect(
      painter.paint(screen(pictures, text: "hi"), frames, new: [.stream("a")]) == [
        "\(name)@0,0", "\(name)@8,3",
      ])
    #expect(painter.terminal.text == "\n hi")
    #expect(
      painter.paint(screen(pictures), frames, new: []) == ["\(name)@0,0", "\(name)@8,3"], "the text has gone")
    #expect(painter.terminal.text == "")
    #expect(painter.paint(screen([pictures[0]]), frames, new: []) == ["\(name)@0,0"], "a picture has gone")
  }

  @Test func textIsDrawnAfterThePictureBeneath() throws {
    var encoder = ScreenEncoder(capabilities: TerminalCapabilities(colors: .trueColor, unicode: true))
    let screen = screen([], text: "hi")
    _ = encoder.update(to: screen)
    let image = TerminalImage(place: area, bytes: Array("\u{1B}Pq\u{1B}\\".utf8), coversText: true)
    let text = String(decoding: encoder.update(to: screen, images: [image]), as: UTF8.self)
    let picture = try #require(text.range(of: "\u{1B}Pq"))
    #expect(text[picture.upperBound...].contains("hi"))
  }

  @Test func panelsHidePicturesBeneathThem() {
    var screen = Screen(columns: 4, rows: 1)
    screen.draw("a", column: 0, row: 0, style: CallState.panel)
    var encoder = ScreenEncoder(
      capabilities: TerminalCapabilities(colors: .trueColor, unicode: true), hidesPictures: true)
    // A ground of the terminal's own colour would be none.
    #expect(String(decoding: encoder.update(to: screen), as: UTF8.self).contains("48;2;10;10;10ma"))
  }

  @Test func kittysPicturesAreBounded() {
    var graphics = GraphicsRenderer(style: .kitty, registers: nil)
    var encoder = ScreenEncoder(capabilities: TerminalCapabilities(colors: .trueColor, unicode: true))
    let large = TestFrame.make(1920, 1080) { _, _ in (120, 128, 128) }
    let images = graphics.update(
      [
        .init(
          source: .own, frame: large, area: CellRectangle(column: 0, row: 0, columns: 200, rows: 60),
          isNew: true)
      ],
      cell: CellSize(width: 10, height: 20), filter: .none, screen: Screen(columns: 200, rows: 60),
      encoder: &encoder)
    #expect((500_000..<700_000).contains(images.map(\.bytes.count).max() ?? 0))
  }
}
