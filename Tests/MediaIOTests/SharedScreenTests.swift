import Base
import Codecs
import TestSupport
import Testing

@testable import MediaIO

/// What is sent of a screen's pictures, as the encoder and the adaptation decide together.
@Suite struct SharedScreenTests {
  private static let size = VideoSize(width: 640, height: 360)
  private static let frameRate = 15
  private static let text = ScrollingText(width: size.width, height: size.height, scrollable: 3600)
  private static let pool = VideoFramePool()

  private func picture(at time: Instant, luma: (UnsafeMutablePointer<UInt8>, Int) -> Void) -> VideoFrame {
    VideoFrame(width: Self.size.width, height: Self.size.height, time: time, pool: Self.pool) {
      y, u, v, strideY, strideUV in
      luma(y, strideY)
      u.update(repeating: 128, count: strideUV * Self.size.height / 2)
      v.update(repeating: 128, count: strideUV * Self.size.height / 2)
    }
  }

  /// How many of `seconds`' pictures are encoded, after one that has stood still.
  private func kept(
    seconds: Int, bitrate: Int, luma: (Int, UnsafeMutablePointer<UInt8>, Int) -> Void
  ) throws -> Int {
    let encoder = try VP8Encoder(
      VP8Encoder.Configuration(
        size: Self.size, bitrate: bitrate, frameRate: Self.frameRate, contentHint: .text))
    var adaptation = VideoAdaptation(.text)
    var kept = 0
    for number in -Self.frameRate..<seconds * Self.frameRate {
      let time = Instant.zero + .seconds(1) * (number + Self.frameRate) / Self.frameRate
      guard adaptation.takes(time, frameRate: Self.frameRate) else { continue }
      let frame = picture(at: time) { luma(max(0, number + 1), $0, $1) }
      let encoded = try encoder.encode(frame, keyFrame: time == .zero)
      adaptation.encoded(quantizer: encoded == nil ? nil : encoder.lastQuantizer, at: time)
      if number >= 0, encoded != nil { kept += 1 }
    }
    return kept
  }

  /// At 2.4 bits a point, which is what is left for pictures of the usual bitrate.
  private static let bitrate = 550_000

  /// As fast as terminals scroll: 180 to 540 points a second, one to three lines a picture.
  @Test(arguments: [12, 23, 36]) func allPicturesOfScrollingTextAreSent(step: Int) throws {
    let kept = try kept(seconds: 6, bitrate: Self.bitrate) { number, luma, stride in
      Self.text.copy(to: luma, stride: stride, scrolledBy: step * number)
    }
    #expect(kept == 90)
  }

  /// The worst of films: nothing of a picture is like the one before.
  @Test(arguments: [bitrate, 200_000]) func picturesOfAFilmThatFillsTheScreenAreSent(bitrate: Int) throws {
    let count = Self.size.width * Self.size.height
    var generator = SeededGenerator(seed: 9)
    let noise = (0..<2 * count).map { _ in UInt8(truncatingIfNeeded: generator.next()) / 2 + 64 }
    let kept = try kept(seconds: 6, bitrate: bitrate) { number, luma, rowStride in
      noise.withUnsafeBufferPointer { noise in
        guard let base = noise.baseAddress else { return }
        for row in 0..<Self.size.height {
          (luma + row * rowStride).update(
            from: base + number * 7919 % count + row * Self.size.width, count: Self.size.width)
        }
      }
    }
    // Ten a second; with a third of the bits, some in each second.
    #expect(kept >= (bitrate == Self.bitrate ? 60 : 12), "\(kept)")
  }
}
