import Base
import Codecs
import RTP
import TestSupport
import Testing

@testable import MediaIO

/// Keeps what a pipeline hands out.
final class Collector<Element: Sendable>: Sendable {
  private let state = Lock<[Element]>([])
  func add(_ element: Element) { state.withLock { $0.append(element) } }
  var all: [Element] { state.withLock { $0 } }
}

final class LastPicture: VideoSink {
  let frames = Collector<VideoFrame>()
  func render(_ frame: VideoFrame) { frames.add(frame) }
}

let testSize = VideoSize(width: 320, height: 240)

func makePipeline(_ specification: VideoSourceSpecification, into frames: Collector<EncodedVideoFrame>) throws
  -> VideoPublishPipeline
{
  let source = try #require(try specification.makeSource(size: testSize, frameRate: 30, stream: 7))
  return VideoPublishPipeline(
    source: source, size: testSize, frameRate: 30, maximumBitrate: 500_000, output: { frames.add($0) })
}

/// Twenty pictures; while one of them is waited for, something happens.
private final class EventfulSource: VideoSource {
  static let eventful = 10
  let name = "eventful"
  private let event: @Sendable () -> Void
  private var count = 0

  init(event: @escaping @Sendable () -> Void) { self.event = event }

  static func time(_ number: Int) -> Instant {
    Instant(nanoseconds: 1_000_000_000) + .milliseconds(40) * number
  }

  func start(at now: Instant) throws(SourceError) {}
  func stop() {}

  func next(until deadline: Instant) -> VideoSourceOutput {
    count += 1
    if count == Self.eventful { event() }
    return count > 20 ? .ended : .frame(.black(testSize, time: Self.time(count)))
  }
}

@Suite struct VideoPipelineTests {
  @Test func publishedPicturesAreSeenAndMeasured() async throws {
    let seen = LastPicture()
    let subscriber = try VideoSubscribePipeline(renderer: seen, keyFrameNeeded: {})
    let source = try #require(
      try VideoSourceSpecification.test.makeSource(size: testSize, frameRate: 30, stream: 7))
    let timestamp = Lock<Int64>(0)
    let publisher = VideoPublishPipeline(
      source: source, size: testSize, frameRate: 30, maximumBitrate: 500_000,
      output: { frame in
        let now = MonotonicClock.now()
        let stamp = timestamp.withLock { value in
          value += 3000
          return value
        }
        subscriber.push(
          ReceivedVideoFrame(
            bytes: frame.bytes, isKeyFrame: frame.isKeyFrame, timestamp: stamp, arrival: now,
            renderTime: now + .milliseconds(5)))
      })
    let started = MonotonicClock.now()
    try publisher.start()
    try await eventually("30 pictures shown") { seen.frames.all.count >= 30 }
    publisher.stop()
    subscriber.stop()
    let statistics = subscriber.statistics
    #expect(statistics.keyFramesDecoded == 1)
    #expect(statistics.framesDecoded >= 30)
    #expect(statistics.frameWidth == 320 && statistics.frameHeight == 240)
    #expect(statistics.framesReceived == publisher.statistics.framesEncoded)
    let pattern = try #require(statistics.testPattern)
    #expect(pattern.stream == 7)
    #expect(pattern.framesRead >= 30)
    #expect(pattern.framesUnreadable == 0)
    let elapsed = (MonotonicClock.now() - started).milliseconds
    #expect(pattern.endToEndLatency >= 5 && pattern.endToEndLatency < elapsed, "\(pattern.endToEndLatency)")
  }

  @Test func nothingIsEncodedWhileNobodyWatches() async throws {
    let frames = Collector<EncodedVideoFrame>()
    let own = LastPicture()
    let pipeline = try makePipeline(.test, into: frames)
    pipeline.setLocalRenderer(own)
    pipeline.setWatched(false)
    try pipeline.start()
    try await eventually("the self-view") { own.frames.all.count >= 10 }
    #expect(frames.all.isEmpty)
    #expect(pipeline.statistics.totalEncodeTime == 0 && pipeline.statistics.framesCaptured == 0)
    pipeline.setWatched(true)
    try await eventually("pictures") { frames.all.count >= 5 }
    #expect(frames.all.map(\.isKeyFrame).prefix(5) == [true, false, false, false, false])
    pipeline.setWatched(false)
    let shown = own.frames.all.count
    try await eventually("the self-view again") { own.frames.all.count >= shown + 5 }
    let before = frames.all.count
    pipeline.setWatched(true)
    pipeline.requestKeyFrame()
    try await eventually("a late viewer's key frame") { frames.all.count > before }
    #expect(frames.all[before].isKeyFrame)
    pipeline.stop()
  }

  @Test func swappingTheSourceCostsOneKeyFrame() async throws {
    let frames = Collector<EncodedVideoFrame>()
    let pipeline = try makePipeline(.test, into: frames)
    try pipeline.start()
    try await eventually("ten pictures") { frames.all.count >= 10 }
    let before = frames.all.count
    pipeline.setSource(
      try #require(try VideoSourceSpecification.noise.makeSource(size: testSize, frameRate: 30)))
    try await eventually("the name of the new source") {
      pipeline.statistics.sourceName == "noise"
    }
    try await eventually("ten more pictures") { frames.all.count >= before + 12 }
    pipeline.stop()
    #expect(frames.all.filter(\.isKeyFrame).count == 2)
    #expect(frames.all[0].isKeyFrame)
    let times = frames.all.map(\.captureTime)
    #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 })
    #expect(pipeline.statistics.keyFramesEncoded == 2)
    #expect(pipeline.statistics.framesEncoded == frames.all.count)
    #expect(pipeline.statistics.framesCaptured >= frames.all.count)
    #expect(pipeline.statistics.totalEncodeTime > 0)
  }

  @Test func cameraOffIsABlackStillAndComesBackWithAKeyFrame() async throws {
    let frames = Collector<EncodedVideoFrame>()
    let view = LastPicture()
    let pipeline = try makePipeline(.test, into: frames)
    pipeline.setLocalRenderer(view)
    try pipeline.start()
    try await eventually("five pictures") { frames.all.count >= 5 }
    pipeline.setEnabled(false)
    try await eventually("a black picture") {
      view.frames.all.last.map(isBlack) == true
    }
    // It is shown before it is encoded.
    try await eventually("a black key frame") { frames.all.count { $0.isKeyFrame } == 2 }
    let first = try #require(frames.all.lastIndex { $0.isKeyFrame })
    #expect(first > 0)
    try await eventually("another one") { frames.all.count >= first + 2 }
    let dark = frames.all[first...]
    #expect(dark.allSatisfy { $0.bytes.count < 1_000 })
    let interval = (dark[first + 1].captureTime - dark[first].captureTime).seconds
    #expect(interval > 0.9, "\(interval)")
    // A viewer who comes now need not wait for the next second.
    let (fastest, answers) = try await fastestKeyFrame(of: pipeline, frames)
    #expect(fastest < .milliseconds(500))
    let enabled = MonotonicClock.now()
    pipeline.setEnabled(true)
    try await eventually("pictures again") {
      frames.all.filter { $0.captureTime > enabled }.count >= 5
    }
    pipeline.stop()
    #expect(frames.all.filter(\.isKeyFrame).count == 3 + answers)
    #expect(frames.all.first { $0.captureTime > enabled }?.isKeyFrame == true)
    #expect(view.frames.all.last.map(isBlack) == false)
  }

  @Test func keyFramesAndBitrateFollowRequests() async throws {
    let frames = Collector<EncodedVideoFrame>()
    let pipeline = try makePipeline(.noise, into: frames)
    try pipeline.start()
    try await eventually("five pictures") { frames.all.count >= 5 }
    let before = frames.all.count { $0.isKeyFrame }
    pipeline.requestKeyFrame()
    // Noise has too little bitrate: on a slow machine the size may have changed meanwhile, with a key frame of its own.
    try await eventually("another key frame") { frames.all.count { $0.isKeyFrame } > before }
    pipeline.setEncodings([VideoEncoding(bitrate: 100_000)])
    try await eventually("the new bitrate") {
      pipeline.statistics.targetBitrate == 100_000
    }
    pipeline.setEncodings([VideoEncoding(bitrate: 50_000_000)])
    try await eventually("the maximum") { pipeline.statistics.targetBitrate == 500_000 }
    pipeline.setEncodings([VideoEncoding(bitrate: 0)])
    try await eventually("the minimum") { pipeline.statistics.targetBitrate == 30_000 }
    pipeline.stop()
    let count = frames.all.count
    pipeline.stop()
    #expect(frames.all.count == count)
  }

  /// The shortest time from asking for a key frame to its picture, and how often it was asked for: a machine with
  /// too much to do may hold up an answer or two, but not all.
  private func fastestKeyFrame(
    of pipeline: VideoPublishPipeline, _ frames: Collector<EncodedVideoFrame>
  ) async throws -> (fastest: Duration, asked: Int) {
    var (fastest, asked) = (Duration.seconds(60), 0)
    while fastest > .milliseconds(400), asked < 20 {
      let before = frames.all.count { $0.isKeyFrame }
      let time = MonotonicClock.now()
      pipeline.requestKeyFrame()
      asked += 1
      try await eventually("a key frame") { frames.all.count { $0.isKeyFrame } == before + 1 }
      let answer = try #require(frames.all.last { $0.isKeyFrame })
      fastest = min(fastest, answer.captureTime - time)
    }
    return (fastest, asked)
  }

  @Test func thePictureThatIsBeingWaitedForAnswersAKeyFrameRequest() async throws {
    let frames = Collector<EncodedVideoFrame>()
    let asked = Lock<VideoPublishPipeline?>(nil)
    let pipeline = VideoPublishPipeline(
      source: EventfulSource { asked.withLock { $0 }?.requestKeyFrame() }, size: testSize, frameRate: 25,
      maximumBitrate: 500_000, output: { frames.add($0) })
    asked.withLock { $0 = pipeline }
    try pipeline.start()
    try await eventually("another key frame") { frames.all.count { $0.isKeyFrame } == 2 }
    pipeline.stop()
    asked.withLock { $0 = nil }
    let answer = try #require(frames.all.last { $0.isKeyFrame })
    #expect(answer.captureTime == EventfulSource.time(EventfulSource.eventful))
  }

  @Test func slowSourcesAnswerKeyFrameRequestsWithTheLastPicture() async throws {
    let frames = Collector<EncodedVideoFrame>()
    let source = try #require(try VideoSourceSpecification.test.makeSource(size: testSize, frameRate: 2))
    let pipeline = VideoPublishPipeline(
      source: source, size: testSize, frameRate: 2, maximumBitrate: 500_000, output: { frames.add($0) })
    try pipeline.start()
    try await eventually("the first picture") { !frames.all.isEmpty }
    for _ in 0..<3 {
      let (fastest, _) = try await fastestKeyFrame(of: pipeline, frames)
      #expect(fastest < .milliseconds(450))
    }
    pipeline.stop()
    let times = frames.all.map(\.captureTime)
    #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 })
  }

  @Test func scheduleSkipsWhatWasMissed() throws {
    let start = MonotonicClock.now()
    var schedule = FrameSchedule(frameRate: 10, start: start - .milliseconds(1_050))
    let due = schedule.wait(until: start + .seconds(20))
    let first = try #require(due)
    let slot = schedule.slot
    #expect(slot >= 10)
    #expect((first - start).nanoseconds == slot * 100_000_000 - 1_050_000_000)
    // Not before its time, and then it is still the next one.
    let next = first + .milliseconds(100)
    if schedule.wait(until: next - .milliseconds(60)) == nil { #expect(schedule.slot == slot) }
    let last = schedule.wait(until: next + .seconds(20))
    let second = try #require(last)
    #expect(second >= next)
    #expect(MonotonicClock.now() >= second)
  }

  @Test func failingSourcesAreToldAndReplacedByBlack() async throws {
    final class Broken: VideoSource {
      let name = "broken"
      func start(at now: Instant) throws(SourceError) { throw .fileMissing(path: "x") }
      func next(until deadline: Instant) -> VideoSourceOutput { .ended }
      func stop() {}
    }
    let frames = Collector<EncodedVideoFrame>()
    let events = Collector<VideoPublishPipeline.Event>()
    let pipeline = VideoPublishPipeline(
      source: Broken(), size: testSize, frameRate: 30, maximumBitrate: 500_000, event: { events.add($0) },
      output: { frames.add($0) })
    try pipeline.start()
    try await eventually("a black picture") { !frames.all.isEmpty }
    #expect(events.all == [.failed(name: "broken", message: "x: no such file")])
    pipeline.setSource(
      try #require(try VideoSourceSpecification.test.makeSource(size: testSize, frameRate: 30)))
    try await eventually("pictures") { frames.all.count > 5 }
    pipeline.stop()
  }
}

func isBlack(_ frame: VideoFrame) -> Bool {
  (0..<frame.height).allSatisfy { row in
    stride(from: 0, to: frame.width, by: 7).allSatisfy { frame.y[row * frame.strideY + $0] == 16 }
  }
}
