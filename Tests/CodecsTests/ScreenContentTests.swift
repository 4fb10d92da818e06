import Base
import Testing

@testable import Codecs

/// Text that scrolls and stops, at a bitrate at which it cannot be sharp while it moves.
@Suite struct ScreenContentTests {
  private static let size = VideoSize(width: 640, height: 360)
  private static let frameRate = 15
  private static let pool = VideoFramePool()

  /// Letters of 5x7 points of a fixed random shape, in cells of 8x12, black on white; as high as all that is seen.
  private static let page: [UInt8] = {
    var generator = SeededGenerator(seed: 4)
    let letters = (0..<40).map { _ in UInt64.random(in: 0...UInt64.max, using: &generator) }
    let (columns, lines) = (size.width / 8, 120)
    var page = [UInt8](repeating: 235, count: size.width * lines * 12)
    for line in 0..<lines {
      let length = Int.random(in: 20...columns, using: &generator)
      for column in 0..<length {
        let letter = Int.random(in: 0..<50, using: &generator)
        guard letter < letters.count else { continue }
        for bit in 0..<35 where letters[letter] >> UInt64(bit) & 1 == 1 {
          page[(line * 12 + bit / 5) * size.width + column * 8 + bit % 5] = 16
        }
      }
    }
    return page
  }()

  private func picture(scrolledBy offset: Int, at time: Instant) -> VideoFrame {
    let (width, height) = (Self.size.width, Self.size.height)
    return VideoFrame(width: width, height: height, time: time, pool: Self.pool) {
      y, u, v, strideY, strideUV in
      Self.page.withUnsafeBufferPointer { page in
        guard let base = page.baseAddress else { return }
        for row in 0..<height {
          (y + row * strideY).update(from: base + (row + offset) * width, count: width)
        }
      }
      u.update(repeating: 128, count: strideUV * height / 2)
      v.update(repeating: 128, count: strideUV * height / 2)
    }
  }

  /// Of what is seen while it moves, and of what is seen a second after it has stopped.
  private func quality(_ hint: ContentHint, bitrate: Int) throws -> (moving: Double, still: Double) {
    var configuration = VP8Encoder.Configuration(
      size: Self.size, bitrate: bitrate, frameRate: Self.frameRate)
    configuration.contentHint = hint
    let encoder = try VP8Encoder(configuration)
    let decoder = try VP8Decoder()
    let (stop, end) = (2 * Self.frameRate, 3 * Self.frameRate)
    var seen: VideoFrame?
    var quality: [Double] = []
    for number in 0...end {
      let time = Instant.zero + .seconds(1) * number / Self.frameRate
      let original = picture(scrolledBy: 23 * min(number, stop), at: time)
      // What the rate control leaves out is not seen.
      if let encoded = try encoder.encode(original, keyFrame: number == 0) {
        seen = try decoder.decode(encoded.bytes, time: time)?.copy()
      }
      if number == stop - 1 || number == end {
        quality.append(Self.similarity(original, try #require(seen)))
      }
    }
    return (quality[0], quality[1])
  }

  /// SSIM of luma, the mean over blocks of 8x8 points.
  private static func similarity(_ left: VideoFrame, _ right: VideoFrame) -> Double {
    var total = 0.0
    for top in stride(from: 0, to: size.height, by: 8) {
      for begin in stride(from: 0, to: size.width, by: 8) {
        var (sumA, sumB, squaresA, squaresB, products) = (0, 0, 0, 0, 0)
        for row in top..<top + 8 {
          let (a, b) = (left.y + row * left.strideY + begin, right.y + row * right.strideY + begin)
          for column in 0..<8 {
            let (x, y) = (Int(a[column]), Int(b[column]))
            sumA += x
            sumB += y
            squaresA += x * x
            squaresB += y * y
            products += x * y
          }
        }
        let (meanA, meanB) = (Double(sumA) / 64, Double(sumB) / 64)
        let variances = Double(squaresA + squaresB) / 64 - meanA * meanA - meanB * meanB
        let covariance = Double(products) / 64 - meanA * meanB
        let (c1, c2) = (6.5025, 58.5225)
        total +=
          (2 * meanA * meanB + c1) * (2 * covariance + c2)
          / ((meanA * meanA + meanB * meanB + c1) * (variances + c2))
      }
    }
    return total / Double(size.width / 8 * size.height / 8)
  }

  @Test(arguments: [625_000, 800_000]) func aPictureIsSharpASecondAfterItHasStopped(bitrate: Int) throws {
    let text = try quality(.text, bitrate: bitrate)
    let motion = try quality(.motion, bitrate: bitrate)
    // While it moves nothing can be read, with either.
    #expect(text.moving < 0.5 && motion.moving < 0.5, "\(text.moving), \(motion.moving)")
    #expect(text.still > 0.95, "\(text.still)")
    #expect(text.still > motion.still + 0.01, "\(text.still), \(motion.still)")
  }
}
