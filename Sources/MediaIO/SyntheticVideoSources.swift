import Base
import Codecs
import Glibc

/// `test`: the test pattern, drawn when it is due.
final class TestPatternSource: VideoSource {
  let name = "test pattern"
  private let pattern: TestPattern
  private let frameRate: Int
  private var schedule: FrameSchedule?
  /// Numbers go on when the source is started again.
  private var firstNumber: Int64 = 0

  init(size: VideoSize, frameRate: Int, stream: UInt16) {
    pattern = TestPattern(size: size, stream: stream)
    self.frameRate = frameRate
  }

  func start(at now: Instant) { schedule = FrameSchedule(frameRate: frameRate, start: now) }

  func next(until deadline: Instant) -> VideoSourceOutput {
    guard let time = schedule?.wait(until: deadline), let slot = schedule?.slot else { return .notYet }
    let number = UInt32(truncatingIfNeeded: firstNumber + slot)
    return .frame(pattern.draw(number: number, wallTime: WallClock.microseconds(), time: time))
  }

  func stop() {
    firstNumber += (schedule?.slot ?? -1) + 1
    schedule = nil
  }
}

/// `black`: one picture, again and again.
final class BlackSource: VideoSource {
  let name = "black"
  private let size: VideoSize
  private let frameRate: Int
  private var schedule: FrameSchedule?

  init(size: VideoSize, frameRate: Int) {
    self.size = size
    self.frameRate = frameRate
  }

  func start(at now: Instant) { schedule = FrameSchedule(frameRate: frameRate, start: now) }

  func next(until deadline: Instant) -> VideoSourceOutput {
    guard let time = schedule?.wait(until: deadline) else { return .notYet }
    return .frame(.black(size, time: time))
  }

  func stop() { schedule = nil }
}

/// `noise`: grey grain that no encoder can predict.
final class NoiseVideoSource: VideoSource {
  let name = "noise"
  private let size: VideoSize
  private let frameRate: Int
  private var schedule: FrameSchedule?
  private var generator = SeededGenerator(seed: 1)
  /// Two rows' worth of grain, and more, from which each row takes a random piece.
  private let grain: [UInt8]
  private let pool = VideoFramePool()

  init(size: VideoSize, frameRate: Int) {
    self.size = size
    self.frameRate = frameRate
    var generator = SeededGenerator(seed: 2)
    grain = (0..<size.width + 65_536).map { _ in UInt8(16 + generator.next() % 220) }
  }

  func start(at now: Instant) { schedule = FrameSchedule(frameRate: frameRate, start: now) }

  func next(until deadline: Instant) -> VideoSourceOutput {
    guard let time = schedule?.wait(until: deadline) else { return .notYet }
    return .frame(
      VideoFrame(width: size.width, height: size.height, time: time, pool: pool) {
        y, u, v, strideY, strideUV in
        grain.withUnsafeBufferPointer { grain in
          guard let base = grain.baseAddress else { return }
          for row in 0..<size.height {
            memcpy(y + row * strideY, base + Int(generator.next() & 0xFFFF), size.width)
          }
        }
        memset(u, 128, strideUV * ((size.height + 1) / 2))
        memset(v, 128, strideUV * ((size.height + 1) / 2))
      })
  }

  func stop() { schedule = nil }
}
