import Codecs
import Glibc

/// A colour in YUV; BT.601 in limited range, unless another conversion made it.
struct Colour: Equatable {
  var y: UInt8
  var u: UInt8
  var v: UInt8

  init(y: UInt8, u: UInt8, v: UInt8) {
    self.y = y
    self.u = u
    self.v = v
  }

  init(red: Double, green: Double, blue: Double) {
    self = ColourConversion.standard.colour(red: red, green: green, blue: blue)
  }

  static let black = Colour(y: 16, u: 128, v: 128)
  static let white = Colour(y: 235, u: 128, v: 128)
}

/// Draws into the planes of a picture that is being made. Everything is clipped to it, and drawn row by row
/// so that it is cheap.
struct Canvas {
  let y: UnsafeMutablePointer<UInt8>
  let u: UnsafeMutablePointer<UInt8>
  let v: UnsafeMutablePointer<UInt8>
  let strideY: Int
  let strideUV: Int
  let size: VideoSize

  func fill(x: Int, y top: Int, width: Int, height: Int, _ colour: Colour) {
    for row in max(0, top)..<max(0, min(top + height, size.height)) { span(x, row, width, colour) }
  }

  /// A frame of `thickness` inside the rectangle.
  func outline(x: Int, y top: Int, width: Int, height: Int, thickness: Int, _ colour: Colour) {
    fill(x: x, y: top, width: width, height: thickness, colour)
    fill(x: x, y: top + height - thickness, width: width, height: thickness, colour)
    fill(x: x, y: top, width: thickness, height: height, colour)
    fill(x: x + width - thickness, y: top, width: thickness, height: height, colour)
  }

  func disc(x: Int, y centre: Int, radius: Int, _ colour: Colour) {
    for offset in -radius...max(-radius, radius) where (0..<size.height).contains(centre + offset) {
      let half = Int(Double(radius * radius - offset * offset).squareRoot())
      span(x - half, centre + offset, 2 * half + 1, colour)
    }
  }

  /// One row; its chroma is set with even rows.
  private func span(_ x: Int, _ row: Int, _ width: Int, _ colour: Colour) {
    let left = max(0, x)
    let right = min(x + width, size.width)
    guard left < right else { return }
    memset(y + row * strideY + left, Int32(colour.y), right - left)
    guard row % 2 == 0 else { return }
    let chromaLeft = left / 2
    let count = (right + 1) / 2 - chromaLeft
    memset(u + row / 2 * strideUV + chromaLeft, Int32(colour.u), count)
    memset(v + row / 2 * strideUV + chromaLeft, Int32(colour.v), count)
  }

  /// Text in the pattern's font, `scale` pixels a dot. Unknown characters are blank.
  func text(_ text: UnsafeBufferPointer<UInt8>, x: Int, y top: Int, scale: Int, _ colour: Colour) {
    for (index, character) in text.enumerated() {
      guard let glyph = PatternFont.glyphs[character] else { continue }
      let left = x + index * PatternFont.advance * scale
      for (row, dots) in glyph.enumerated() {
        var column = 0
        while column < PatternFont.width {
          let start = column
          while column < PatternFont.width, dots >> UInt8(4 - column) & 1 == 1 { column += 1 }
          fill(
            x: left + start * scale, y: top + row * scale, width: (column - start) * scale, height: scale,
            colour)
          column += 1
        }
      }
    }
  }
}
