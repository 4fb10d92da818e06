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

  private let background: VideoFrame
  private let pool = VideoFramePool()
  private var second: Int64 = -1
  private var clock: [UInt8] = Array("00:00:00.000".utf8)

  /// For how long the field is white, in microseconds.
  static let flashDuration: Int64 = 100_000

  private static let ballColour = Colour(red: 1, green: 0.55, blue: 0.1)
  private static let glowColour = Colour(red: 0.62, green: 0.28, blue: 0.2)
  private static let barColour = Colour(red: 0.2, green: 0.85, blue: 0.75)
  private static let grooveColour = Colour(red: 0.1, green: 0.16, blue: 0.24)
  private static let panelColour = Colour(red: 0.03, green: 0.05, blue: 0.12)

  package init(size: VideoSize, stream: UInt16) {
    self.size = size
    self.stream = stream
    background = Self.drawBackground(size)
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
      canvas.disc(x: Int(x), y: ballY, radius: layout.ballRadius, Self.glowColour)
      canvas.disc(x: Int(x), y: ballY, radius: layout.ballRadius * 3 / 4, Self.ballColour)

      clock.withUnsafeBufferPointer { digits in
        let seconds = UnsafeBufferPointer(rebasing: digits[..<8])
        let fractions = UnsafeBufferPointer(rebasing: digits[8...])
        canvas.text(seconds, x: layout.clockX, y: layout.clockY, scale: layout.clockScale, .white)
        canvas.text(
          fractions, x: layout.fractionX, y: layout.fractionY, scale: layout.fractionScale, Self.barColour)
      }
      canvas.fill(
        x: layout.clockX, y: layout.progressY, width: Int(Double(layout.progressWidth) * fraction),
        height: layout.progressHeight, Self.barColour)
      if wallTime % 1_000_000 < Self.flashDuration {
        canvas.fill(
          x: layout.flashX, y: layout.flashY, width: layout.flashWidth, height: layout.flashHeight, .white)
      }
      TestPatternStrip(frameNumber: number, sendTime: wallTime, stream: stream)
        .draw(y, stride: strideY, size: size)
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

  private static func drawBackground(_ size: VideoSize) -> VideoFrame {
    let layout = Layout(size)
    return VideoFrame(width: size.width, height: size.height, time: .zero) { y, u, v, strideY, strideUV in
      let canvas = Canvas(y: y, u: u, v: v, strideY: strideY, strideUV: strideUV, size: size)
      for row in stride(from: 0, to: size.height, by: 2) {
        let depth = Double(row) / Double(size.height)
        let colour = Colour(red: 0.07 + 0.16 * depth, green: 0.1 + 0.05 * depth, blue: 0.3 + 0.16 * depth)
        canvas.fill(x: 0, y: row, width: size.width, height: 2, colour)
      }
      let bars: [(Double, Double, Double)] = [
        (1, 1, 1), (1, 1, 0), (0, 1, 1), (0, 1, 0), (1, 0, 1), (1, 0, 0), (0, 0, 1),
      ]
      for (index, bar) in bars.enumerated() {
        let left = index * size.width / bars.count
        canvas.fill(
          x: left, y: 0, width: (index + 1) * size.width / bars.count - left, height: layout.barsHeight,
          Colour(red: 0.75 * bar.0, green: 0.75 * bar.1, blue: 0.75 * bar.2))
      }
      let nameY = layout.flashY + (layout.flashHeight - PatternFont.height * layout.nameScale) / 2
      Array("OTCHAT".utf8).withUnsafeBufferPointer { name in
        canvas.text(
          name, x: layout.clockX, y: nameY, scale: layout.nameScale, Colour(red: 0.85, green: 0.9, blue: 1))
      }
      let margin = layout.fractionScale * 2
      canvas.fill(
        x: layout.clockX - margin, y: layout.clockY - margin, width: layout.clockWidth + 2 * margin,
        height: layout.fractionY + PatternFont.height * layout.fractionScale - layout.clockY + 2 * margin,
        panelColour)
      canvas.fill(
        x: layout.clockX, y: layout.progressY, width: layout.progressWidth, height: layout.progressHeight,
        grooveColour)
      let border = max(1, layout.fractionScale / 3)
      canvas.outline(
        x: layout.flashX - 2 * border, y: layout.flashY - 2 * border, width: layout.flashWidth + 4 * border,
        height: layout.flashHeight + 4 * border, thickness: border, Colour(red: 0.6, green: 0.65, blue: 0.75))
      canvas.fill(
        x: layout.flashX, y: layout.flashY, width: layout.flashWidth, height: layout.flashHeight, panelColour)
      let stripTop = size.height - size.height / TestPatternStrip.heightDivisor
      canvas.fill(x: 0, y: stripTop & ~1, width: size.width, height: size.height - stripTop + 1, .black)
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
