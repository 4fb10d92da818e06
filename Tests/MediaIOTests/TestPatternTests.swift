import Base
import Codecs
import Glibc
import RTP
import Testing

@testable import MediaIO

@Suite struct TestPatternTests {
  private static let start: Int64 = 1_796_050_000_400_000

  private func time(_ frame: Int) -> Instant { Instant(nanoseconds: Int64(frame) * 33_333_333) }
  private func wallTime(_ frame: Int) -> Int64 { Self.start + Int64(frame) * 33_333 }

  @Test func stripIsReadBack() throws {
    for size in [(640, 480), (320, 240), (160, 120), (161, 121), (1280, 720), (99, 77)] {
      let pattern = TestPattern(size: VideoSize(width: size.0, height: size.1), stream: 0xBEEF)
      for number: UInt32 in [0, 1, 0x5555_5555, .max] {
        let frame = pattern.draw(number: number, wallTime: wallTime(Int(number % 7)), time: .zero)
        let strip = try #require(TestPatternStrip(reading: frame))
        #expect(
          strip == TestPatternStrip(frameNumber: number, sendTime: wallTime(Int(number % 7)), stream: 0xBEEF))
      }
    }
  }

  @Test func otherPicturesHaveNoStrip() {
    #expect(
      TestPatternStrip(reading: VideoFrame.black(VideoSize(width: 640, height: 480), time: .zero)) == nil)
    #expect(TestPatternStrip(reading: VideoFrame.black(VideoSize(width: 1, height: 1), time: .zero)) == nil)
    let white = VideoFrame(width: 64, height: 64, time: .zero) { y, u, v, strideY, strideUV in
      memset(y, 235, strideY * 64)
      memset(u, 128, strideUV * 32)
      memset(v, 128, strideUV * 32)
    }
    #expect(TestPatternStrip(reading: white) == nil)
    let strip = TestPatternStrip(frameNumber: 1, sendTime: 2, stream: 3)
    for row in 0..<4 {
      for bit in 0..<32 {
        var rows = strip.rows
        rows[row] ^= 1 << UInt32(bit)
        #expect(TestPatternStrip(rows: rows) == nil)
      }
    }
  }

  @Test(arguments: [(640, 480, 150_000), (320, 240, 150_000), (640, 480, 1_000_000)])
  func stripSurvivesTheEncoder(width: Int, height: Int, bitrate: Int) throws {
    let size = VideoSize(width: width, height: height)
    let pattern = TestPattern(size: size, stream: 9)
    let encoder = try VP8Encoder(.init(size: size, bitrate: bitrate, frameRate: 30))
    let decoder = try VP8Decoder()
    var shown = 0
    var read = 0
    var bytes = 0
    var quality: [Double] = []
    for number in 0..<120 {
      let picture = pattern.draw(
        number: UInt32(number), wallTime: wallTime(number), time: time(number))
      guard let encoded = try encoder.encode(picture) else { continue }
      bytes += encoded.bytes.count
      let decoded = try #require(try decoder.decode(encoded.bytes, time: picture.time)?.copy())
      shown += 1
      if TestPatternStrip(reading: decoded)?.frameNumber == UInt32(number) { read += 1 }
      if number % 20 == 19 { quality.append(luminancePSNR(picture, decoded)) }
      if number > 60 { #expect(TestPattern.isFlashing(decoded) == TestPattern.isFlashing(picture)) }
    }
    #expect(read == shown, "\(read) of \(shown)")
    #expect(shown >= 100, "\(shown) of 120 were sent")
    #expect(bytes * 8 / 4 < bitrate * 13 / 10)
    if bitrate == 1_000_000 { #expect(quality.min() ?? 0 >= 35, "\(quality)") }
  }

  @Test func keyFrameAfterAPauseIsNoFlood() throws {
    let size = VideoSize(width: 640, height: 480)
    let pattern = TestPattern(size: size, stream: 9)
    let encoder = try VP8Encoder(.init(size: size, bitrate: 500_000, frameRate: 30))
    func sizes(_ frames: Range<Int>) throws -> [Int] {
      try frames.map { number in
        let picture = pattern.draw(
          number: UInt32(number), wallTime: wallTime(number), time: time(number))
        return try encoder.encode(picture, keyFrame: number == frames.lowerBound)?.bytes.count ?? 0
      }
    }
    let first = try sizes(0..<60)
    for second in 2..<30 {
      _ = try encoder.encode(.black(size, time: time(second * 30)), keyFrame: second == 2)
    }
    let again = try sizes(900..<960)
    let limit = first[0] * 2
    #expect(again[0] < limit, "\(first[0]), then \(again[0])")
    let bitrate = again.reduce(0, +) * 8 / 2
    #expect(bitrate < 650_000)
  }

  @Test func flashLastsATenthOfASecond() {
    let pattern = TestPattern(size: VideoSize(width: 320, height: 240), stream: 0)
    for (offset, expected): (Int64, Bool) in [(0, true), (99_000, true), (100_000, false), (999_999, false)] {
      let frame = pattern.draw(number: 0, wallTime: 1_796_050_000_000_000 + offset, time: .zero)
      #expect(TestPattern.isFlashing(frame) == expected)
    }
  }

  @Test func qualityIsThatOfTheCode() throws {
    let size = VideoSize(width: 640, height: 480)
    let pattern = TestPattern(size: size, stream: 9)
    func quality(bitrate: Int) throws -> (measured: PatternQuality, psnr: Double) {
      let encoder = try VP8Encoder(.init(size: size, bitrate: bitrate, frameRate: 30))
      let decoder = try VP8Decoder()
      var last: (VideoFrame, VideoFrame)?
      for number in 0..<40 {
        let picture = pattern.draw(number: UInt32(number), wallTime: wallTime(number), time: time(number))
        guard let encoded = try encoder.encode(picture) else { continue }
        last = (picture, try #require(try decoder.decode(encoded.bytes, time: picture.time)?.copy()))
      }
      let (drawn, received) = try #require(last)
      let strip = try #require(TestPatternStrip(reading: received))
      var redrawn: TestPattern?
      let quality = PatternQuality(of: received, strip, redrawnBy: &redrawn)
      return (try #require(quality), luminancePSNR(drawn, received))
    }
    let (fine, coarse) = (try quality(bitrate: 2_000_000), try quality(bitrate: 100_000))
    #expect(abs(fine.measured.psnr - fine.psnr) < 2 && abs(coarse.measured.psnr - coarse.psnr) < 2)
    #expect(fine.measured.psnr > 35 && fine.measured.ssim > 0.95 && fine.measured.ssim < 1)
    #expect(coarse.measured.psnr < fine.measured.psnr - 2 && coarse.measured.ssim < fine.measured.ssim)
  }

  @Test func qualityOfWhatIsUntouchedIsTheBest() throws {
    var redrawn: TestPattern?
    for size in [(640, 480), (160, 120), (161, 121)] {
      let frame = TestPattern(size: VideoSize(width: size.0, height: size.1), stream: 0x7FFF)
        .draw(number: 7, wallTime: wallTime(3), time: .zero)
      let strip = try #require(TestPatternStrip(reading: frame))
      for _ in 0..<2 {
        let found = PatternQuality(of: frame, strip, redrawnBy: &redrawn)
        let quality = try #require(found)
        #expect(quality.psnr == 100 && abs(quality.ssim - 1) < 1e-9)
      }
    }
  }

  @Test func qualityIsNotThatOfTheColours() throws {
    var redrawn: TestPattern?
    for size in [(640, 480), (160, 120)] {
      for conversion in ColourConversion.allCases {
        let frame = TestPattern(size: VideoSize(width: size.0, height: size.1), stream: 1, conversion)
          .draw(number: 7, wallTime: wallTime(3), time: .zero)
        #expect(PatternQuality.conversion(of: frame) == conversion)
        let strip = try #require(TestPatternStrip(reading: frame))
        let quality = PatternQuality(of: frame, strip, redrawnBy: &redrawn)
        #expect(quality?.psnr == 100)
      }
    }
  }

  /// By the definitions: ITU-R BT.601 and BT.709, and full range as in JPEG.
  @Test func conversionsAreByTheBook() {
    let colours = ColourConversion.allCases.map { $0.colour(red: 0, green: 0.75, blue: 0) }
    #expect(colours.map(\.y) == [112, 112, 133, 137])
    #expect(colours.map(\.u) == [72, 65, 63, 54])
    #expect(colours.map(\.v) == [58, 48, 52, 41])
    #expect(ColourConversion.standard.colour(red: 1, green: 1, blue: 1) == .white)
    #expect(ColourConversion.highDefinitionFull.colour(red: 1, green: 0, blue: 0).v == 255)
  }

  /// By hand: every pixel off by 5, which costs 20 log10(255 / 5) dB and, as only means differ, the first factor
  /// of SSIM.
  @Test func qualityIsByTheBook() throws {
    func grey(_ value: Int32) -> VideoFrame {
      VideoFrame(width: 64, height: 64, time: .zero) { y, u, v, strideY, strideUV in
        memset(y, value, strideY * 64)
        memset(u, 128, strideUV * 32)
        memset(v, 128, strideUV * 32)
      }
    }
    let quality = try #require(PatternQuality(of: grey(105), grey(100), without: (0..<0, 0..<0)))
    #expect(abs(quality.psnr - 34.1514) < 0.001)
    #expect(abs(quality.ssim - (2 * 105 * 100 + 6.5025) / (105 * 105 + 100 * 100 + 6.5025)) < 1e-9)
    // Hidden is what differs.
    let one = VideoFrame(width: 64, height: 64, time: .zero) { y, u, v, strideY, strideUV in
      memset(y, 100, strideY * 64)
      memset(u, 128, strideUV * 32)
      memset(v, 128, strideUV * 32)
      y[10 * strideY + 20] = 255
    }
    let seen = try #require(PatternQuality(of: one, grey(100), without: (0..<0, 0..<0)))
    let hidden = try #require(PatternQuality(of: one, grey(100), without: (20..<21, 10..<11)))
    #expect(seen.psnr < 60 && seen.ssim < 1 && hidden.psnr == 100 && abs(hidden.ssim - 1) < 1e-9)
    #expect(PatternQuality(of: grey(1), grey(1), without: (0..<64, 0..<64)) == nil)
  }

  @Test func qualityIsOfOurDrawingAlone() throws {
    let size = VideoSize(width: 320, height: 240)
    for (stream, isMeasured): (UInt16, Bool) in [(0x7FFF, true), (0x8000, false)] {
      let pattern = TestPattern(size: size, stream: stream)
      var reader = TestPatternReader()
      for number in 0..<8 {
        _ = reader.read(pattern.draw(number: UInt32(number), wallTime: wallTime(number), time: .zero))
      }
      #expect((reader.statistics?.quality != nil) == isMeasured)
    }
  }

  @Test func readerCountsMissingRepeatedAndUnreadable() throws {
    let pattern = TestPattern(size: VideoSize(width: 320, height: 240), stream: 4)
    var reader = TestPatternReader()
    func show(_ number: UInt32) {
      let wall = WallClock.microseconds() - 25_000
      let frame = pattern.draw(number: number, wallTime: wall, time: .zero)
      reader.shown(reader.read(frame), at: MonotonicClock.now(), offset: nil)
    }
    for number: UInt32 in [.max - 1, .max, 0, 1, 4, 4] { show(number) }
    #expect(reader.read(VideoFrame.black(VideoSize(width: 320, height: 240), time: .zero)) == nil)
    show(6)
    let statistics = try #require(reader.statistics)
    #expect(statistics.stream == 4)
    #expect(statistics.framesRead == 7)
    #expect(statistics.framesMissing == 2)
    #expect(statistics.framesRepeated == 1)
    #expect(statistics.framesUnreadable == 1)
    #expect(statistics.endToEndLatency >= 25 && statistics.endToEndLatency < 60)
  }

  @Test func flashAndBlipGiveTheOffset() {
    let offset = MediaOffset()
    #expect(offset.milliseconds == nil)
    for second in 0..<5 {
      let shown = Instant(nanoseconds: Int64(second) * 1_000_000_000)
      offset.noteFlash(at: shown)
      offset.noteBlip(at: shown + .milliseconds(30))
    }
    #expect(offset.milliseconds == 30)
    // A blip without its flash is paired with none of another second.
    offset.noteBlip(at: Instant(nanoseconds: 6_700_000_000))
    #expect(offset.milliseconds == 30)
  }
}

/// Peak signal-to-noise ratio of the luma planes, in dB; every fourth row.
func luminancePSNR(_ left: VideoFrame, _ right: VideoFrame) -> Double {
  var sum = 0
  var count = 0
  for row in stride(from: 0, to: left.height, by: 4) {
    let a = left.y + row * left.strideY
    let b = right.y + row * right.strideY
    for column in 0..<left.width {
      let difference = Int(a[column]) - Int(b[column])
      sum += difference * difference
      count += 1
    }
  }
  return sum == 0 ? 100 : 10 * log10(255 * 255 * Double(count) / Double(sum))
}
