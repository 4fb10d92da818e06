import Base
import Codecs
import RTP

/// What a subscribe pipeline's thread does, until its mailbox is closed.
struct VideoDecodeLoop {
  private let pipeline: VideoSubscribePipeline
  private let decoder: VP8Decoder?
  private var pattern = TestPatternReader()
  private var meter = PictureMeter()
  private var freezes = FreezeDetector()
  private var asksForKeyFrame = false

  /// A picture that would be due later than this is shown early: the sender's clock jumped.
  private static let longestWait = Duration.seconds(3)

  init(_ pipeline: VideoSubscribePipeline) {
    self.pipeline = pipeline
    do {
      decoder = try VP8Decoder()
    } catch {
      decoder = nil
      Log.error("MediaIO", "VP8: \(error)")
    }
  }

  mutating func run() {
    while !pipeline.mailbox.isClosed {
      let frames = pipeline.mailbox.take(until: MonotonicClock.now() + .seconds(10))
      for (index, frame) in frames.enumerated() {
        if pipeline.mailbox.isClosed { return }
        guard let picture = decode(frame) else { continue }
        // While it is in the caches.
        let reading = pattern.read(picture)
        meter.read(picture, at: MonotonicClock.now())
        let next = index + 1 < frames.count ? frames[index + 1] : nil
        show(picture, reading, due: frame.renderTime, next: next?.renderTime)
      }
    }
  }

  private mutating func decode(_ frame: ReceivedVideoFrame) -> DecodedPicture? {
    guard let decoder else { return nil }
    let begin = MonotonicClock.now()
    let picture: DecodedPicture?
    do {
      picture = try decoder.decode(frame.bytes, time: frame.renderTime)
    } catch {
      pipeline.published.withLock {
        $0.statistics.framesDropped += 1
        if error == .corruptPacket { $0.statistics.framesCorrupted += 1 }
      }
      if !asksForKeyFrame {
        asksForKeyFrame = true
        pipeline.keyFrameNeeded()
      }
      return nil
    }
    asksForKeyFrame = false
    let end = MonotonicClock.now()
    pipeline.published.withLock {
      $0.rate.count(at: end)
      $0.statistics.framesDecoded += 1
      if frame.isKeyFrame { $0.statistics.keyFramesDecoded += 1 }
      $0.statistics.totalDecodeTime += (end - begin).seconds
      if let picture {
        $0.statistics.frameWidth = picture.width
        $0.statistics.frameHeight = picture.height
      }
    }
    return picture
  }

  private mutating func show(
    _ picture: DecodedPicture, _ reading: TestPatternReader.Reading?, due: Instant, next: Instant?
  ) {
    let now = MonotonicClock.now()
    if let next, next <= now {
      pipeline.published.withLock { $0.statistics.framesDropped += 1 }
      return
    }
    if due > now, pipeline.stopped.wait(until: min(due, now + Self.longestWait)) {
      pipeline.stopped.post()
      return
    }
    let shown = MonotonicClock.now()
    pipeline.show(picture)
    if !pipeline.takeContinuity() { freezes.interrupt() }
    freezes.shown(at: shown)
    pattern.shown(reading, at: shown, offset: pipeline.measurement)
    pipeline.published.withLock {
      $0.statistics.framesRendered += 1
      $0.statistics.brightness = meter.brightness
      $0.statistics.stillDuration = meter.stillDuration
      $0.statistics.freezeCount = freezes.freezeCount
      $0.statistics.totalFreezesDuration = freezes.totalFreezesDuration
      $0.statistics.totalInterFrameDelay = freezes.totalInterFrameDelay
      $0.statistics.totalSquaredInterFrameDelay = freezes.totalSquaredInterFrameDelay
      $0.statistics.testPattern = pattern.statistics
    }
  }
}
