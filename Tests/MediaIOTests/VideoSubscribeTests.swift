import Base
import Codecs
import RTP
import TestSupport
import Testing

@testable import MediaIO

@Suite struct VideoSubscribeTests {
  /// Encoded test patterns, 30 a second.
  private func encoded(_ count: Int, keyFrames: Set<Int> = []) throws -> [EncodedVideoFrame] {
    let pattern = TestPattern(size: testSize, stream: 1)
    let encoder = try VP8Encoder(.init(size: testSize, bitrate: 3_000_000, frameRate: 30))
    return try (0..<count).map { number in
      let picture = pattern.draw(
        number: UInt32(number), wallTime: WallClock.microseconds(),
        time: Instant(nanoseconds: Int64(number) * 33_333_333))
      return try #require(try encoder.encode(picture, keyFrame: keyFrames.contains(number)))
    }
  }

  private func received(_ frame: EncodedVideoFrame, due: Instant) -> ReceivedVideoFrame {
    ReceivedVideoFrame(
      bytes: frame.bytes, isKeyFrame: frame.isKeyFrame,
      timestamp: frame.captureTime.nanoseconds * 9 / 100_000,
      arrival: MonotonicClock.now(), renderTime: due)
  }

  @Test func picturesAreShownWhenTheyAreDue() async throws {
    final class Times: VideoSink {
      let late = Collector<Double>()
      func render(_ frame: VideoFrame) { late.add((MonotonicClock.now() - frame.time).milliseconds) }
    }
    let times = Times()
    let pipeline = try VideoSubscribePipeline(renderer: times, keyFrameNeeded: {})
    let start = MonotonicClock.now()
    for (index, frame) in try encoded(10).enumerated() {
      pipeline.push(received(frame, due: start + .milliseconds(200 + 20 * index)))
    }
    // On a machine with too much to do some may be late, and left out; none may be early.
    try await eventually("all had their turn") {
      let statistics = pipeline.statistics
      return statistics.framesRendered + statistics.framesDropped == 10
    }
    pipeline.stop()
    #expect(!times.late.all.isEmpty)
    #expect(times.late.all.allSatisfy { $0 >= 0 })
    #expect(times.late.all.count == pipeline.statistics.framesRendered)
  }

  @Test func whatIsNotDecodedIsCounted() throws {
    let starts = Collector<Int>()
    let pipeline = try VideoSubscribePipeline(
      renderer: nil, decodes: false, keyFrameNeeded: {}, started: { starts.add(1) })
    // No key frame is needed, and nothing waits.
    for frame in try encoded(9).dropFirst() { pipeline.push(received(frame, due: MonotonicClock.now())) }
    let statistics = pipeline.statistics
    #expect(statistics.framesReceived == 8 && statistics.framesDecoded == 0 && statistics.framesDropped == 0)
    #expect(starts.all.count == 1)
    pipeline.stop()
  }

  /// Holds the pipeline's thread at its first picture until it is let go.
  private final class Barrier: VideoSink {
    let frames = Collector<VideoFrame>()
    let isHeld = Semaphore()
    let gate = Semaphore()
    func render(_ frame: VideoFrame) {
      frames.add(frame)
      guard frames.all.count == 1 else { return }
      isHeld.post()
      _ = gate.wait(until: MonotonicClock.now() + .seconds(120))
    }
  }

  @Test func lateOnesAreDecodedButOnlyTheNewestShown() async throws {
    let barrier = Barrier()
    let pipeline = try VideoSubscribePipeline(renderer: barrier, keyFrameNeeded: {})
    let frames = try encoded(19)
    let now = MonotonicClock.now()
    pipeline.push(received(frames[0], due: now))
    #expect(barrier.isHeld.wait(until: now + .seconds(60)))
    for frame in frames[1...] { pipeline.push(received(frame, due: now)) }
    barrier.gate.post()
    try await eventually("the newest is shown") { barrier.frames.all.count == 2 }
    pipeline.stop()
    let statistics = pipeline.statistics
    #expect(statistics.framesDecoded == 19)
    #expect(statistics.framesRendered == 2)
    #expect(statistics.framesDropped == 17)
    #expect(statistics.testPattern?.framesMissing == 0)
    #expect(TestPatternStrip(reading: try #require(barrier.frames.all.last))?.frameNumber == 18)
  }

  @Test func damageAsksForAKeyFrameOnce() async throws {
    let asked = Lock(0)
    let pipeline = try VideoSubscribePipeline(renderer: nil, keyFrameNeeded: { asked.withLock { $0 += 1 } })
    let frames = try encoded(12, keyFrames: [8])
    let now = MonotonicClock.now()
    for (index, frame) in frames.enumerated() {
      var damaged = frame
      if index == 3 { damaged.bytes = [UInt8](frame.bytes.prefix(2)) }
      pipeline.push(received(damaged, due: now))
    }
    try await eventually("the rest after the key frame is decoded") {
      pipeline.statistics.framesDecoded == 7
    }
    pipeline.stop()
    #expect(asked.withLock { $0 } == 1)
    #expect(pipeline.statistics.framesCorrupted == 1)
    #expect(pipeline.statistics.keyFramesDecoded == 2)
  }

  @Test func tooMuchAsksForAKeyFrameAndWaitsForIt() async throws {
    let asked = Lock(0)
    let barrier = Barrier()
    let pipeline = try VideoSubscribePipeline(
      renderer: barrier, keyFrameNeeded: { asked.withLock { $0 += 1 } })
    let frames = try encoded(130, keyFrames: [120])
    let now = MonotonicClock.now()
    pipeline.push(received(frames[0], due: now))
    #expect(barrier.isHeld.wait(until: now + .seconds(60)))
    // 60 fit while the thread is held.
    for frame in frames[1..<120] { pipeline.push(received(frame, due: now)) }
    #expect(asked.withLock { $0 } == 1)
    barrier.gate.post()
    try await eventually("what fits is decoded") {
      pipeline.statistics.framesDecoded == 61
    }
    pipeline.push(received(frames[119], due: now))
    for frame in frames[120...] { pipeline.push(received(frame, due: now)) }
    try await eventually("it goes on with the key frame") {
      pipeline.statistics.framesDecoded == 71
    }
    pipeline.stop()
    #expect(asked.withLock { $0 } == 1)
    #expect(pipeline.statistics.framesReceived == 131)
    #expect(pipeline.statistics.keyFramesDecoded == 2)
    #expect(pipeline.statistics.framesCorrupted == 0)
  }

  @Test func stopDoesNotWaitForTheNextPicture() async throws {
    // It would give up waiting after 1 s. A machine with too much to do may hold up one attempt, or two.
    let picture = try encoded(1)[0]
    var fastest = Duration.seconds(60)
    for _ in 0..<20 where fastest > .milliseconds(900) {
      let pipeline = try VideoSubscribePipeline(renderer: nil, keyFrameNeeded: {})
      pipeline.push(received(picture, due: MonotonicClock.now() + .seconds(60)))
      try await eventually("it is decoded") { pipeline.statistics.framesDecoded == 1 }
      let begin = MonotonicClock.now()
      pipeline.stop()
      fastest = min(fastest, MonotonicClock.now() - begin)
    }
    #expect(fastest < .milliseconds(900))
  }

  @Test func freezesAreCountedAsW3CSays() {
    var detector = FreezeDetector()
    var now = Instant.zero
    func show(after milliseconds: Int) {
      now += .milliseconds(milliseconds)
      detector.shown(at: now)
    }
    for _ in 0..<31 { show(after: 40) }
    show(after: 189)
    #expect(detector.freezeCount == 0)
    for _ in 0..<30 { show(after: 40) }
    show(after: 191)
    #expect(detector.freezeCount == 1)
    #expect(abs(detector.totalFreezesDuration - 0.191) < 1e-9)
    for _ in 0..<30 { show(after: 40) }
    detector.interrupt()
    show(after: 5_000)
    #expect(detector.freezeCount == 1)
    #expect(detector.totalInterFrameDelay > 3)
    #expect(detector.totalSquaredInterFrameDelay > 0.2)
  }

  @Test func slowPicturesFreezeAtThreeTimesTheirMean() {
    var detector = FreezeDetector()
    var now = Instant.zero
    for interval in Array(repeating: 200, count: 31) + [590] + Array(repeating: 200, count: 30) + [601] {
      now += .milliseconds(interval)
      detector.shown(at: now)
    }
    #expect(detector.freezeCount == 1)
    #expect(abs(detector.totalFreezesDuration - 0.601) < 1e-9)
  }
}
