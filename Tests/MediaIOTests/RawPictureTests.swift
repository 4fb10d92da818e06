import Base
import Codecs
import Testing

@testable import MediaIO

@Suite struct RawPictureTests {
  /// Points with values of their own: luma 16 × row + column, chroma likewise from 100 and 200 on.
  private struct Sample {
    let size: VideoSize
    var y: [UInt8] = []
    var u: [UInt8] = []
    var v: [UInt8] = []

    /// - Parameter padding: bytes behind each row.
    init(_ width: Int, _ height: Int, padding: Int = 0) {
      size = VideoSize(width: width, height: height)
      y = Self.plane(width, height, from: 0, padding)
      u = Self.plane((width + 1) / 2, (height + 1) / 2, from: 100, padding)
      v = Self.plane((width + 1) / 2, (height + 1) / 2, from: 200, padding)
    }

    static func plane(_ width: Int, _ height: Int, from first: Int, _ padding: Int) -> [UInt8] {
      (0..<height).flatMap { row in
        (0..<width).map { UInt8(first + 8 * row + $0) } + [UInt8](repeating: 255, count: padding)
      }
    }

    func frame(_ format: RawPicture.Format, padding: Int = 0, turn: RawPicture.Turn) -> VideoFrame {
      let (half, rows) = ((size.width + 1) / 2, (size.height + 1) / 2)
      var pairs: [UInt8] = []
      for row in 0..<rows {
        for column in 0..<half {
          pairs += [u[row * (half + padding) + column], v[row * (half + padding) + column]]
        }
      }
      return y.withUnsafeBufferPointer { y in
        u.withUnsafeBufferPointer { u in
          v.withUnsafeBufferPointer { v in
            pairs.withUnsafeBufferPointer { pairs in
              func plane(_ bytes: UnsafeBufferPointer<UInt8>, _ row: Int) -> RawPicture.Plane {
                RawPicture.Plane(bytes: bytes.baseAddress!, bytesPerRow: row)  // never empty
              }
              let luma = plane(y, size.width + padding)
              let planes =
                format == .i420
                ? (luma, plane(u, half + padding), plane(v, half + padding))
                : (luma, plane(pairs, 2 * half), luma)
              return RawPicture(format: format, size: size, planes: planes)
                .frame(turned: turn, time: Instant(nanoseconds: 7), pool: VideoFramePool())
            }
          }
        }
      }
    }
  }

  private static func rows(_ bytes: UnsafePointer<UInt8>, _ width: Int, _ height: Int, _ stride: Int)
    -> [[Int]]
  {
    (0..<height).map { row in (0..<width).map { Int(bytes[row * stride + $0]) } }
  }

  private static func planes(_ frame: VideoFrame) -> [[[Int]]] {
    withExtendedLifetime(frame) {
      [
        rows(frame.y, frame.width, frame.height, frame.strideY),
        rows(frame.u, frame.chromaWidth, frame.chromaHeight, frame.strideUV),
        rows(frame.v, frame.chromaWidth, frame.chromaHeight, frame.strideUV),
      ]
    }
  }

  @Test(arguments: [RawPicture.Format.i420, .nv12])
  func oddSizesAndPaddedRowsComeThrough(_ format: RawPicture.Format) {
    let frame = Sample(5, 3, padding: 3).frame(format, padding: 3, turn: .none)
    #expect(frame.time == Instant(nanoseconds: 7))
    #expect(
      Self.planes(frame) == [
        [[0, 1, 2, 3, 4], [8, 9, 10, 11, 12], [16, 17, 18, 19, 20]],
        [[100, 101, 102], [108, 109, 110]],
        [[200, 201, 202], [208, 209, 210]],
      ])
  }

  @Test(arguments: [RawPicture.Format.i420, .nv12])
  func picturesAreTurnedUpright(_ format: RawPicture.Format) {
    let sample = Sample(4, 2)
    // Clockwise: the first column, from below, becomes the first row.
    #expect(
      Self.planes(sample.frame(format, turn: .quarter)) == [
        [[8, 0], [9, 1], [10, 2], [11, 3]], [[100], [101]], [[200], [201]],
      ])
    #expect(
      Self.planes(sample.frame(format, turn: .half)) == [
        [[11, 10, 9, 8], [3, 2, 1, 0]], [[101, 100]], [[201, 200]],
      ])
    #expect(
      Self.planes(sample.frame(format, turn: .threeQuarters)) == [
        [[3, 11], [2, 10], [1, 9], [0, 8]], [[101], [100]], [[201], [200]],
      ])
  }

  /// Within one of BT.601's, limited range.
  @Test func coloursBecomeThoseOfTheStandard() {
    for (red, green, blue) in [
      (0, 0, 0), (255, 255, 255), (255, 0, 0), (0, 255, 0), (0, 0, 255), (12, 200, 99),
    ] {
      // 3 x 3: with a last row and column that have no neighbours.
      let pixels = [[UInt8]](
        repeating: [UInt8(blue), UInt8(green), UInt8(red), 0], count: 9
      ).flatMap { $0 }
      let frame = pixels.withUnsafeBufferPointer { pixels in
        let plane = RawPicture.Plane(bytes: pixels.baseAddress!, bytesPerRow: 12)  // never empty
        return RawPicture(
          format: .argb, size: VideoSize(width: 3, height: 3), planes: (plane, plane, plane)
        ).frame(turned: .none, time: .zero, pool: VideoFramePool())
      }
      let expected = Colour(
        red: Double(red) / 255, green: Double(green) / 255, blue: Double(blue) / 255)
      let wanted = [Int(expected.y), Int(expected.u), Int(expected.v)]
      for (plane, value) in zip(Self.planes(frame), wanted) {
        #expect(plane.joined().allSatisfy { abs($0 - value) <= 1 }, "\(red) \(green) \(blue): \(plane)")
      }
    }
  }

  @Test func anARGBPictureIsTurnedToo() {
    // Black but for a white upper half of the right edge.
    var pixels = [UInt8](repeating: 0, count: 4 * 2 * 4)
    for channel in 12..<16 { pixels[channel] = 255 }
    let frame = pixels.withUnsafeBufferPointer { pixels in
      let plane = RawPicture.Plane(bytes: pixels.baseAddress!, bytesPerRow: 16)  // never empty
      return RawPicture(
        format: .argb, size: VideoSize(width: 4, height: 2), planes: (plane, plane, plane)
      ).frame(turned: .quarter, time: .zero, pool: VideoFramePool())
    }
    #expect(Self.planes(frame)[0] == [[16, 16], [16, 16], [16, 16], [16, 235]])
  }
}
