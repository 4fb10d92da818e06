import Base
import Codecs
import Glibc

/// Draws the test pattern: colour bars, a clock, a ball that moves, a field that flashes for the first
/// 100 ms of each second of the wall clock, and the machine-readable strip.
///
/// What does not move is drawn once; a picture costs a copy of it and a few thousand pixels.
package final class TestPattern {
  package let size: VideoSize
  /// Goes into the strip.
  package let stream: UInt16

  private let conversion: ColourConversion
  private let palette: Palette
  private let background: VideoFrame
  private let pool = VideoFramePool()
  private var second: Int64 = -1
  private var clock: [UInt8] = Array("00:00:00.000".utf8)

  /// For how long the field is white, in microseconds.
  static let flashDuration: Int64 = 100_000

  package convenience init(size: VideoSize, stream: UInt16) {
    self.init(size: size, stream: stream, .standard)
  }

  /// - Parameter conversion: of the colours, where another than ours draws it.
  init(size: VideoSize, stream: UInt16, _ conversion: ColourConversion) {
    self.size = size
    self.stream = stream
    self.conversion = conversion
    palette = Palette(conversion)
    background = Self.drawBackground(size, palette)
  }

  /// Whether it is what another one with these would be.
  func draws(_ size: VideoSize, _ stream: UInt16, _ conversion: ColourConversion) -> Bool {
    self.size == size && self.stream == stream && self.conversion == conversion
  }

  /// - Parameters:
  ///   - number: of the picture.
  ///   - wallTime: microseconds since the Unix epoch; goes into clock and strip.
  ///   - time: becomes the picture's `time`.
  package func draw(number: UInt32, wallTime: Int64, time: Instant) -> VideoFrame {
    setClock(wallTime)
    let layout = Layout(size)
    return VideoFrame(width: size.width, height: size.height, time: time, pool: pool) {
      y, u, v, strideY, strideUV in
      // Same size, hence the same layout: the three planes lie behind each other.
      memcpy(y, background.y, strideY * size.height + 2 * strideUV * background.chromaHeight)
      let canvas = Canvas(y: y, u: u, v: v, strideY: strideY, strideUV: strideUV, size: size)
      let fraction = Double(wallTime % 1_000_000) / 1e6

      let angle = 2 * Double.pi * (Double(wallTime / 1_000_000 % 4) + fraction) / 4
      let x = Double(size.width) * (0.5 - 0.42 * cos(angle))
      let bounce = abs(sin(2 * angle)) * Double(layout.ballRadius) * 0.9
      let ballY = layout.ballBase - Int(bounce)
      canvas.disc(x: Int(x), y: ballY, radius: layout.ballRadius, palette.glow)
      canvas.disc(x: Int(x), y: ballY, radius: layout.ballRadius * 3 / 4, palette.ball)

      clock.withUnsafeBufferPointer { digits in
        let seconds = UnsafeBufferPointer(rebasing: digits[..<8])
        let fractions = UnsafeBufferPointer(rebasing: digits[8...])
        canvas.text(seconds, x: layout.clockX, y: layout.clockY, scale: layout.clockScale, palette.white)
        canvas.text(
          fractions, x: layout.fractionX, y: layout.fractionY, scale: layout.fractionScale, palette.bar)
      }
      canvas.fill(
        x: layout.clockX, y: layout.progressY, width: Int(Double(layout.progressWidth) * fraction),
        height: layout.progressHeight, palette.bar)
      if wallTime % 1_000_000 < Self.flashDuration {
        canvas.fill(
          x: layout.flashX, y: layout.flashY, width: layout.flashWidth, height: layout.flashHeight,
          palette.white)
      }
      TestPatternStrip(frameNumber: number, sendTime: wallTime, stream: stream)
        .draw(y, stride: strideY, size: size, black: palette.black.y, white: palette.white.y)
    }
  }

  /// Whether the flash field of a pattern's picture is white.
  static func isFlashing(_ frame: some I420Picture) -> Bool {
    let layout = Layout(frame.size)
    let (luma, rowBytes, size) = (frame.y, frame.strideY, frame.size)
    var sum = 0
    var count = 0
    for row in stride(from: layout.flashHeight / 4, to: layout.flashHeight * 3 / 4, by: 2) {
      for column in stride(from: layout.flashWidth / 4, to: layout.flashWidth * 3 / 4, by: 2) {
        let (x, y) = (layout.flashX + column, layout.flashY + row)
        guard x < size.width, y < size.height else { continue }
        sum += Int(luma[y * rowBytes + x])
        count += 1
      }
    }
    return count > 0 && sum / count > 150
  }

  /// Where hours, minutes and seconds stand.
  static func clock(_ size: VideoSize) -> (columns: Range<Int>, rows: Range<Int>) {
    let layout = Layout(size)
    return (
      layout.clockX..<layout.clockX + layout.clockWidth,
      layout.clockY..<layout.clockY + PatternFont.height * layout.clockScale
    )
  }

  /// Means of the luma of white and green among the bars of a pattern's picture, by which conversions differ.
  static func barLuma(_ picture: some I420Picture) -> (white: Double, green: Double) {
    let (luma, rowBytes, size) = (picture.y, picture.strideY, picture.size)
    let height = Layout(size).barsHeight
    func mean(_ bar: Int) -> Double {
      let (left, width) = (bar * size.width / Palette.bars.count, size.width / Palette.bars.count)
      var (sum, count) = (0, 0)
      for row in height / 4..<max(height / 4 + 1, height * 3 / 4) {
        for column in left + width / 4..<max(left + width / 4 + 1, left + width * 3 / 4) {
          sum += Int(luma[row * rowBytes + column])
          count += 1
        }
      }
      return Double(sum) / Double(count)
    }
    return (mean(0), mean(3))
  }

  private func setClock(_ wallTime: Int64) {
    let now = wallTime / 1_000_000
    if now != second {
      second = now
      var seconds = time_t(now)
      var local = tm()
      localtime_r(&seconds, &local)
      for (index, value) in [local.tm_hour, local.tm_min, local.tm_sec].enumerated() {
        clock[index * 3] = UInt8(ascii: "0") + UInt8(max(0, value) / 10 % 10)
        clock[index * 3 + 1] = UInt8(ascii: "0") + UInt8(max(0, value) % 10)
      }
    }
    let milliseconds = max(0, wallTime % 1_000_000 / 1000)
    clock[9] = UInt8(ascii: "0") + UInt8(milliseconds / 100)
    clock[10] = UInt8(ascii: "0") + UInt8(milliseconds / 10 % 10)
    clock[11] = UInt8(ascii: "0") + UInt8(milliseconds % 10)
  }

  private static func drawBackground(_ size: VideoSize, _ palette: Palette) -> VideoFrame {
    let layout = Layout(size)
    return VideoFrame(width: size.width, height: size.height, time: .zero) { y, u, v, strideY, strideUV in
      let canvas = Canvas(y: y, u: u, v: v, strideY: strideY, strideUV: strideUV, size: size)
      for row in stride(from: 0, to: size.height, by: 2) {
        let depth = Double(row) / Double(size.height)
        let colour = palette.colour(0.07 + 0.16 * depth, 0.1 + 0.05 * depth, 0.3 + 0.16 * depth)
        canvas.fill(x: 0, y: row, width: size.width, height: 2, colour)
      }
      for index in Palette.bars.indices {
        let left = index * size.width / Palette.bars.count
        canvas.fill(
          x: left, y: 0, width: (index + 1) * size.width / Palette.bars.count - left,
          height: layout.barsHeight, palette.bar(index))
      }
      let nameY = layout.flashY + (layout.flashHeight - PatternFont.height * layout.nameScale) / 2
      Array("OTCHAT".utf8).withUnsafeBufferPointer { name in
        canvas.text(
          name, x: layout.clockX, y: nameY, scale: layout.nameScale, palette.name)
      }
      let margin = layout.fractionScale * 2
      canvas.fill(
        x: layout.clockX - margin, y: layout.clockY - margin, width: layout.clockWidth + 2 * margin,
        height: layout.fractionY + PatternFont.height * layout.fractionScale - layout.clockY + 2 * margin,
        palette.panel)
      canvas.fill(
        x: layout.clockX, y: layout.progressY, width: layout.progressWidth, height: layout.progressHeight,
        palette.groove)
      let border = max(1, layout.fractionScale / 3)
      canvas.outline(
        x: layout.flashX - 2 * border, y: layout.flashY - 2 * border, width: layout.flashWidth + 4 * border,
        height: layout.flashHeight + 4 * border, thickness: border, palette.border)
      canvas.fill(
        x: layout.flashX, y: layout.flashY, width: layout.flashWidth, height: layout.flashHeight,
        palette.panel)
      let stripTop = size.height - size.height / TestPatternStrip.heightDivisor
      canvas.fill(
        x: 0, y: stripTop & ~1, width: size.width, height: size.height - stripTop + 1, palette.black)
    }
  }

  /// Where things are, for any size. The first line of the clock is as large as fits, to be read in a
  /// terminal.
  private struct Layout {
    let clockScale: Int
    let fractionScale: Int
    let nameScale: Int
    let clockX: Int
    let clockY: Int
    let clockWidth: Int
    let fractionX: Int
    let fractionY: Int
    let progressY: Int
    let progressWidth: Int
    let progressHeight: Int
    let barsHeight: Int
    let flashX: Int
    let flashY: Int
    let flashWidth: Int
    let flashHeight: Int
    let ballRadius: Int
    let ballBase: Int

    init(_ size: VideoSize) {
      let (width, height) = (size.width, size.height)
      // HH:MM:SS without the gap behind it; .mmm on the second line.
      let dots = 8 * PatternFont.advance - 1
      clockScale = max(1, min(width * 84 / 100 / dots, height / 40))
      fractionScale = max(1, clockScale * 6 / 11)
      nameScale = max(1, clockScale * 5 / 11)
      clockWidth = dots * clockScale
      clockX = (width - clockWidth) / 2
      clockY = height * 39 / 100
      fractionX = clockX + clockWidth - (4 * PatternFont.advance - 1) * fractionScale
      fractionY = clockY + (PatternFont.height + 1) * clockScale
      progressWidth = max(1, fractionX - clockX - fractionScale)
      progressHeight = 2 * fractionScale
      progressY = fractionY + (PatternFont.height - 2) * fractionScale / 2
      barsHeight = height * 14 / 100
      flashWidth = max(2, width / 6)
      flashHeight = max(2, height / 8)
      flashX = clockX + clockWidth - flashWidth
      flashY = height * 20 / 100
      ballRadius = max(2, height / 14)
      ballBase = height * 82 / 100
    }
  }
}

extension TestPattern {
  /// The pattern's colours.
  struct Palette {
    let ball, glow, bar, groove, panel, name, border, white, black: Colour
    private let conversion: ColourConversion

    /// Red, green and blue of each bar; three quarters of that are drawn.
    static let bars: [(red: Double, green: Double, blue: Double)] = [
      (1, 1, 1), (1, 1, 0), (0, 1, 1), (0, 1, 0), (1, 0, 1), (1, 0, 0), (0, 0, 1),
    ]

    init(_ conversion: ColourConversion) {
      self.conversion = conversion
      func colour(_ red: Double, _ green: Double, _ blue: Double) -> Colour {
        conversion.colour(red: red, green: green, blue: blue)
      }
      ball = colour(1, 0.55, 0.1)
      glow = colour(0.62, 0.28, 0.2)
      bar = colour(0.2, 0.85, 0.75)
      groove = colour(0.1, 0.16, 0.24)
      panel = colour(0.03, 0.05, 0.12)
      name = colour(0.85, 0.9, 1)
      border = colour(0.6, 0.65, 0.75)
      white = colour(1, 1, 1)
      black = colour(0, 0, 0)
    }

    func colour(_ red: Double, _ green: Double, _ blue: Double) -> Colour {
      conversion.colour(red: red, green: green, blue: blue)
    }

    func bar(_ index: Int) -> Colour {
      let bar = Self.bars[index]
      return colour(0.75 * bar.red, 0.75 * bar.green, 0.75 * bar.blue)
    }
  }
}
