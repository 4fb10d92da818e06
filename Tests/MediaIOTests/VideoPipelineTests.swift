import Base
import Codecs
import RTP
import Synchronization
import TestSupport
import Testing

@testable import MediaIO

/// Keeps what a pipeline hands out.
final class Collector<Element: Sendable>: Sendable {
  private let state = Mutex<[Element]>([])
  func add(_ element: Element) { state.withLock { $0.append(element) } }
  var all: [Element] { state.withLock { $0 } }
}

final class LastPicture: VideoRenderer {
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

@Suite struct VideoPipelineTests {
  @Test func publishedPicturesAreSeenAndMeasured() async throws {
    let seen = LastPicture()
    let subscriber = VideoSubscribePipeline(renderer: seen, keyFrameNeeded: {})
    let source = try #require(
      try VideoSourceSpecification.test.makeSource(size: testSize, frameRate: 30, stream: 7))
    let timestamp = Mutex<Int64>(0)
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
    publisher.start()
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
    #expect(pattern.endToEndLatency >= 5 && pattern.endToEndLatency < 100, "\(pattern.endToEndLatency)")
  }
}
