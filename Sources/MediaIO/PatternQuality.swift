import Base
import Codecs
import Glibc

/// How near a received test pattern is to the one that was drawn, by luma. The clock's hours are left out: they are
/// of the sender's time zone.
package struct PatternQuality: Equatable, Sendable {
  /// Peak signal-to-noise ratio in dB, 100 at most.
  package var psnr: Double
  /// Structural similarity, at most 1: mean over blocks of 8x8 (Wang et al. 2004, with a flat window).
  package var ssim: Double

  private static let block = 8
  private static let best = 100.0

  /// Draws the picture once more, by what its strip says, in the size and with the conversion of colours in which
  /// it was received: browsers have their own, and tell nobody.
  /// - Parameter pattern: what drew the last one; kept, since its background costs more than all the rest.
  /// - Returns: nil if it is another picture with a strip, or too small.
  package init?(
    of picture: some I420Picture, _ strip: TestPatternStrip, redrawnBy pattern: inout TestPattern?
  ) {
    guard strip.isOurDrawing else { return nil }
    let conversion = Self.conversion(of: picture)
    let drawing: TestPattern
    if let known = pattern, known.draws(picture.size, strip.stream, conversion) {
      drawing = known
    } else {
      drawing = TestPattern(size: picture.size, stream: strip.stream, conversion)
      pattern = drawing
    }
    let original = drawing.draw(number: strip.frameNumber, wallTime: strip.sendTime, time: .zero)
    self.init(of: picture, original, without: TestPattern.clock(picture.size))
  }

  /// The nearest, by two of the bars.
  static func conversion(of picture: some I420Picture) -> ColourConversion {
    let seen = TestPattern.barLuma(picture)
    func distance(_ conversion: ColourConversion) -> Double {
      let palette = TestPattern.Palette(conversion)
      let (white, green) = (seen.white - Double(palette.bar(0).y), seen.green - Double(palette.bar(3).y))
      return white * white + green * green
    }
    return ColourConversion.allCases.min { distance($0) < distance($1) } ?? .standard
  }

  /// - Parameter hidden: a part that is not looked at, nor are blocks that it touches.
  init?(
    of picture: some I420Picture, _ original: some I420Picture,
    without hidden: (columns: Range<Int>, rows: Range<Int>)
  ) {
    guard picture.size == original.size else { return nil }
    let (left, leftStride, right, rightStride) = (picture.y, picture.strideY, original.y, original.strideY)
    var (squares, pixels, blocks, similarity) = (0, 0, 0, 0.0)
    for top in stride(from: 0, through: picture.height - Self.block, by: Self.block) {
      let isBeside = hidden.rows.overlaps(top..<top + Self.block)
      for start in stride(from: 0, through: picture.width - Self.block, by: Self.block) {
        if isBeside, hidden.columns.overlaps(start..<start + Self.block) { continue }
        let sums = Sums(
          left + top * leftStride + start, leftStride, right + top * rightStride + start, rightStride)
        squares += sums.leftSquares + sums.rightSquares - 2 * sums.products
        pixels += Self.block * Self.block
        similarity += sums.similarity
        blocks += 1
      }
    }
    guard blocks > 0 else { return nil }
    psnr = squares == 0 ? Self.best : min(Self.best, 10 * log10(255 * 255 * Double(pixels) / Double(squares)))
    ssim = similarity / Double(blocks)
  }

  /// Of one block of both pictures.
  private struct Sums {
    var (left, right, leftSquares, rightSquares, products) = (0, 0, 0, 0, 0)

    init(_ one: UnsafePointer<UInt8>, _ oneStride: Int, _ other: UnsafePointer<UInt8>, _ otherStride: Int) {
      var (left, right, leftSquares, rightSquares, products) = (
        Int32(0), Int32(0), Int32(0), Int32(0), Int32(0)
      )
      for row in 0..<PatternQuality.block {
        for column in 0..<PatternQuality.block {
          let (a, b) = (Int32(one[row * oneStride + column]), Int32(other[row * otherStride + column]))
          left &+= a
          right &+= b
          leftSquares &+= a &* a
          rightSquares &+= b &* b
          products &+= a &* b
        }
      }
      self.left = Int(left)
      self.right = Int(right)
      self.leftSquares = Int(leftSquares)
      self.rightSquares = Int(rightSquares)
      self.products = Int(products)
    }

    var similarity: Double {
      let count = Double(PatternQuality.block * PatternQuality.block)
      let (a, b) = (Double(left) / count, Double(right) / count)
      let variances = Double(leftSquares + rightSquares) / count - a * a - b * b
      let covariance = Double(products) / count - a * b
      let (c1, c2) = (0.01 * 255 * 0.01 * 255, 0.03 * 255 * 0.03 * 255)
      return (2 * a * b + c1) * (2 * covariance + c2) / ((a * a + b * b + c1) * (variances + c2))
    }
  }
}
