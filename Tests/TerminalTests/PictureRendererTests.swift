import Base
import Codecs
import Testing

@testable import Terminal

struct PictureRendererTests {
  /// Left half of one colour, right half of another; each (Y, U, V).
  private func halves(
    _ left: (UInt8, UInt8, UInt8), _ right: (UInt8, UInt8, UInt8), width: Int = 64, height: Int = 48
  ) -> VideoFrame {
    VideoFrame(width: width, height: height, time: .zero) { y, u, v, strideY, strideUV in
      for row in 0..<height {
        for column in 0..<width { y[row * strideY + column] = column < width / 2 ? left.0 : right.0 }
      }
      for row in 0..<(height + 1) / 2 {
        for column in 0..<(width + 1) / 2 {
          u[row * strideUV + column] = column < width / 4 ? left.1 : right.1
          v[row * strideUV + column] = column < width / 4 ? left.2 : right.2
        }
      }
    }
  }

  private let red: (UInt8, UInt8, UInt8) = (81, 90, 240)
  private let blue: (UInt8, UInt8, UInt8) = (41, 240, 110)

  private func draw(
    _ frame: VideoFrame, style: PictureStyle = .symbols, colors: ColorDepth = .trueColor,
    filter: PictureFilter = .none, columns: Int = 16, rows: Int = 6
  ) -> Screen {
    var screen = Screen(columns: columns, rows: rows)
    let area = CellRectangle(column: 0, row: 0, columns: columns, rows: rows)
    PictureRenderer(style: style, colors: colors)
      .draw(frame, in: area, cellAspect: 2, filter: filter).put(on: &screen)
    return screen
  }

  /// The colour that a cell mostly shows.
  private func colours(_ cell: Cell) -> Set<CellColor> {
    guard case .symbol(let code, let style) = cell else { return [] }
    switch code {
    case 0x20: return [style.background]
    case 0x2588: return [style.foreground]
    default: return [style.foreground, style.background]
    }
  }

  @Test func scalerGivesStandardColours() {
    var scaler = PictureScaler()
    scaler.scale(halves(red, blue), width: 4, height: 2, filter: .none)
    let bytes = scaler.picture.bytes
    #expect(bytes.count == 4 * 2 * 3)
    #expect(
      zip(bytes.prefix(3), [255, 0, 0] as [UInt8]).allSatisfy { abs(Int($0) - Int($1)) <= 2 }, "\(bytes)")
    #expect(
      zip(bytes.suffix(3), [0, 0, 255] as [UInt8]).allSatisfy { abs(Int($0) - Int($1)) <= 2 }, "\(bytes)")
    scaler.scale(halves((235, 128, 128), (16, 128, 128)), width: 4, height: 2, filter: .none)
    #expect(scaler.picture.bytes.prefix(12) == [255, 255, 255, 255, 255, 255, 0, 0, 0, 0, 0, 0])
    // Levels that no camera sends are clamped.
    scaler.scale(halves((255, 255, 255), (0, 0, 0)), width: 2, height: 1, filter: .none)
    #expect(scaler.picture.bytes.count == 6)
  }

  @Test func monoHasNoColour() {
    var scaler = PictureScaler()
    scaler.scale(halves(red, blue), width: 2, height: 1, filter: .mono)
    let bytes = scaler.picture.bytes
    #expect(bytes[0] == bytes[1] && bytes[1] == bytes[2] && bytes[3] == bytes[5])
    #expect(bytes[0] > bytes[3])
  }

  @Test(arguments: [1, 2, 3, 17, 63, 333]) func anySizeIsScaled(side: Int) {
    var scaler = PictureScaler()
    for (width, height) in [(1, 1), (7, 3), (640, 480), (4000, 1)] {
      scaler.scale(halves(red, blue, width: side, height: side), width: width, height: height, filter: .none)
      #expect(scaler.picture.width == min(width, side) && scaler.picture.height == min(height, side))
      #expect(scaler.picture.bytes.count == scaler.picture.width * scaler.picture.height * 3)
    }
  }

  @Test func picturesKeepTheirShape() {
    let area = CellRectangle(column: 10, row: 5, columns: 80, rows: 24)
    func fit(_ width: Int, _ height: Int, _ aspect: Double = 2) -> CellRectangle {
      PictureRenderer.fit(width: width, height: height, in: area, cellAspect: aspect)
    }
    #expect(fit(640, 480) == CellRectangle(column: 18, row: 5, columns: 64, rows: 24))
    #expect(fit(1280, 720) == CellRectangle(column: 10, row: 5, columns: 80, rows: 23))
    #expect(fit(480, 640) == CellRectangle(column: 32, row: 5, columns: 36, rows: 24))
    #expect(fit(640, 480, 1) == CellRectangle(column: 34, row: 5, columns: 32, rows: 24))
    #expect(fit(16384, 1) == CellRectangle(column: 10, row: 16, columns: 80, rows: 1))
    #expect(fit(1, 16384) == CellRectangle(column: 49, row: 5, columns: 1, rows: 24))
  }

  @Test func trueColourCellsHaveThePicturesColours() {
    let screen = draw(halves(red, blue))
    func near(_ cell: Cell, _ wanted: UInt32) -> Bool {
      colours(cell).contains {
        guard case .rgb(let value) = $0 else { return false }
        return [16, 8, 0].allSatisfy { abs(Int(value >> $0 & 0xFF) - Int(wanted >> $0 & 0xFF)) <= 4 }
      }
    }
    for row in 0..<6 {
      #expect(near(screen[1, row], 0xFF0000), "\(screen[1, row])")
      #expect(near(screen[14, row], 0x0000FF), "\(screen[14, row])")
    }
  }

  @Test func palettesAreKeptTo() {
    for (colors, limit) in [(ColorDepth.palette16, 16), (.palette256, 256)] {
      for cell in draw(halves(red, blue), colors: colors).cells {
        guard case .symbol(_, let style) = cell else {
          Issue.record("\(cell)")
          continue
        }
        for color in [style.foreground, style.background] {
          if case .palette(let index) = color {
            #expect(Int(index) < limit)
          } else {
            #expect(color == .standard)
          }
        }
      }
    }
  }

  @Test func withoutColourLightAndDarkDiffer() {
    for style in [PictureStyle.symbols, .ascii] {
      let screen = draw(halves((235, 128, 128), (16, 128, 128)), style: style, colors: .none)
      let lines = screen.text.split(separator: "\n", omittingEmptySubsequences: false)
      #expect(lines.count == 6)
      for line in lines {
        #expect(line.prefix(8).count == 8 && !line.prefix(8).contains(" "), "\(line)")
        #expect(line.dropFirst(8).allSatisfy { $0 == " " }, "\(line)")
      }
      for case .symbol(_, let style) in screen.cells { #expect(style == .plain) }
    }
  }

  @Test func asciiIsAscii() {
    for case .symbol(let code, _) in draw(halves(red, blue), style: .ascii, colors: .palette16).cells {
      #expect((0x20..<0x7F).contains(code))
    }
  }

  @Test func changingSizesAreDrawn() {
    let renderer = PictureRenderer(style: .symbols, colors: .trueColor)
    for (columns, rows) in [(1, 1), (80, 24), (3, 40), (40, 3), (7, 7), (0, 5), (80, 2)] {
      var screen = Screen(columns: 80, rows: 24)
      let area = CellRectangle(column: 0, row: 0, columns: columns, rows: rows)
      renderer.draw(halves(red, blue), in: area, cellAspect: 2, filter: .none).put(on: &screen)
      #expect(screen.cells.contains { $0 != .clear } == (columns > 0))
    }
  }
}

struct TerminalFlowTests {
  @Test func terminalThatAnswersIsWaitedFor() {
    var flow = TerminalFlow()
    let start = Instant(nanoseconds: 0)
    for _ in 0..<9 { flow.wrote(at: start) }
    #expect(flow.mayWrite(at: start), "nothing is known yet")
    #expect(!flow.awaitsAnswer)
    for _ in 0..<9 { flow.answered() }
    #expect(flow.mayWrite(at: start))
    flow.wrote(at: start)
    #expect(flow.mayWrite(at: start))
    flow.wrote(at: start)
    #expect(!flow.mayWrite(at: start))
    #expect(flow.awaitsAnswer)
    flow.answered()
    #expect(flow.mayWrite(at: start))
    flow.wrote(at: start)
    #expect(!flow.mayWrite(at: start + .milliseconds(1999)))
    #expect(flow.mayWrite(at: start + .seconds(2)), "an answer got lost")
  }
}
