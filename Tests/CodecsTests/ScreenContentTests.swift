import Base
import TestSupport
import Testing

@testable import Codecs

/// Text that scrolls and stops, at a bitrate at which it cannot be sharp while it moves.
@Suite struct ScreenContentTests {
  private static let size = VideoSize(width: 640, height: 360)
  private static let frameRate = 15
  private static let pool = VideoFramePool()

  private static let text = ScrollingText(width: size.width, height: size.height, scrollable: 1080)

  private func picture(scrolledBy offset: Int, at time: Instant) -> VideoFrame {
    let (width, height) = (Self.size.width, Self.size.height)
    return VideoFrame(width: width, height: height, time: time, pool: Self.pool) {
      y, u, v, strideY, strideUV in
      Self.text.copy(to: y, stride: strideY, scrolledBy: offset)
      u.update(repeating: 128, count: strideUV * height / 2)
      v.update(repeating: 128, count: strideUV * height / 2)
    }
  }

  private struct Outcome {
    /// SSIM of what is seen while it moves, and of what is seen a second after it has stopped.
    var (moving, still) = (0.0, 0.0)
    /// Of the moving pictures, those that the rate control did not leave out.
    var kept = 0
  }

  private func outcome(_ hint: ContentHint, bitrate: Int, step: Int) throws -> Outcome {
    let encoder = try VP8Encoder(
      VP8Encoder.Configuration(
        size: Self.size, bitrate: bitrate, frameRate: Self.frameRate, contentHint: hint))
    let decoder = try VP8Decoder()
    let (stop, end) = (2 * Self.frameRate, 3 * Self.frameRate)
    var seen: VideoFrame?
    var outcome = Outcome()
    for number in 0...end {
      let time = Instant.zero + .seconds(1) * number / Self.frameRate
      let original = picture(scrolledBy: step * min(number, stop), at: time)
      // What the rate control leaves out is not seen.
      if let encoded = try encoder.encode(original, keyFrame: number == 0) {
        seen = try decoder.decode(encoded.bytes, time: time)?.copy()
        if number < stop { outcome.kept += 1 }
      }
      if number == stop - 1 { outcome.moving = Self.similarity(original, try #require(seen)) }
    }
    outcome.still = Self.similarity(picture(scrolledBy: step * stop, at: .zero), try #require(seen))
    return outcome
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

  /// One to three lines a picture, from the key frame on.
  @Test(arguments: [(300_000, 12), (400_000, 23), (625_000, 36)])
  func textThatScrollsGetsCoarseAndIsThenSharp(
    bitrate: Int, step: Int
  ) throws {
    let text = try outcome(.text, bitrate: bitrate, step: step)
    let motion = try outcome(.motion, bitrate: bitrate, step: step)
    #expect(text.kept == 30 && motion.kept < 15, "\(text.kept), \(motion.kept)")
    #expect(text.moving > 0.85, "\(text.moving)")
    #expect(text.still > 0.95, "\(text.still)")
    #expect(text.still > motion.still + 0.01, "\(text.still), \(motion.still)")
  }

  @Test func picturesAreLeftOutWhereEvenTheCoarsestAreTooLarge() throws {
    let text = try outcome(.text, bitrate: 60_000, step: 36)
    #expect(text.kept < 20, "\(text.kept)")
  }
}
