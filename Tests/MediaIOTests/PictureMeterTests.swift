import Base
import Codecs
import Glibc
import Testing

@testable import MediaIO

@Suite struct PictureMeterTests {
  private let size = VideoSize(width: 640, height: 480)

  private func time(_ seconds: Double) -> Instant { Instant(nanoseconds: Int64(seconds * 1e9)) }

  private func grey(_ value: UInt8) -> VideoFrame {
    VideoFrame(width: size.width, height: size.height, time: .zero) { y, u, v, strideY, strideUV in
      memset(y, Int32(value), strideY * size.height)
      memset(u, 128, strideUV * size.height / 2)
      memset(v, 128, strideUV * size.height / 2)
    }
  }

  @Test func blackAndWhite() {
    var meter = PictureMeter()
    meter.read(grey(16), at: time(1))
    #expect(meter.brightness == 0)
    meter.read(grey(235), at: time(2))
    #expect(meter.brightness == 1)
    meter.read(
      TestPattern(size: size, stream: 1).draw(number: 1, wallTime: 1_500_000, time: .zero), at: time(3))
    #expect(meter.brightness > 0.1 && meter.brightness < 0.6)
    // Any size does.
    meter.read(VideoFrame.black(VideoSize(width: 1, height: 1), time: .zero), at: time(4))
    #expect(meter.brightness == 0)
  }

  @Test func aPictureThatStandsStill() {
    var meter = PictureMeter()
    for second in 1...5 {
      // What coding changes is no movement.
      meter.read(grey(UInt8(100 + second % 2 * 4)), at: time(Double(second)))
    }
    #expect(meter.stillDuration == 4)
    meter.read(grey(120), at: time(6))
    #expect(meter.stillDuration == 0)
  }

  @Test func theTestPatternMoves() {
    var meter = PictureMeter()
    let pattern = TestPattern(size: VideoSize(width: 320, height: 240), stream: 1)
    for number in 0..<60 {
      let wall = Int64(1_000_000_200_000 + number * 33_333)
      meter.read(
        pattern.draw(number: UInt32(number), wallTime: wall, time: .zero), at: time(Double(number) / 30))
      #expect(meter.stillDuration < 0.2)
    }
  }
}
