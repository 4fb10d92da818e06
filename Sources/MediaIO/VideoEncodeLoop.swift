import Base
import Codecs
import RTP

/// What a publish pipeline's thread does, from start to stop.
struct VideoEncodeLoop {
  private let pipeline: VideoPublishPipeline
  private var source: (any VideoSource)?
  private var encoder: VP8Encoder?
  private var enabled = true
  private var watched = true
  private var bitrate: Int
  private var keyFrameWanted = false
  /// What is repeated once a second instead of a source's pictures.
  private var still: VideoFrame?
  private var lastEncoded: Instant?
  private var lastCapture: Instant?

  /// The interval of still pictures.
  private static let stillInterval = Duration.seconds(1)
  /// With a slower source, a key frame that is asked for is made of the last picture.
  private static let keyFramePatience = Duration.milliseconds(150)

  init(_ pipeline: VideoPublishPipeline) {
    self.pipeline = pipeline
    bitrate = pipeline.maximumBitrate
  }

  mutating func run() {
    while takeControl() {
      if let source, enabled {
        step(source)
      } else {
        repeatStill()
      }
    }
    source?.stop()
  }

  /// False when it is time to leave.
  private mutating func takeControl() -> Bool {
    let control = pipeline.control.withLock { control in
      defer {
        control.source = nil
        control.keyFrame = false
        control.isPosted = false
      }
      return control
    }
    if control.isPosted { _ = pipeline.wake.wait(until: .zero) }
    if control.stopped { return false }
    if control.keyFrame { keyFrameWanted = true }
    watched = control.watched
    bitrate = control.bitrate
    if control.enabled != enabled {
      enabled = control.enabled
      keyFrameWanted = true
      if enabled {
        if let source { begin(source) }
      } else {
        source?.stop()
        showBlack()
      }
    }
    if let handover = control.source {
      if enabled { source?.stop() }
      source = handover.source
      keyFrameWanted = true
      pipeline.published.withLock { $0.statistics.sourceName = handover.source.name }
      if enabled { begin(handover.source) }
    }
    return true
  }

  private mutating func begin(_ source: any VideoSource) {
    do {
      try source.start(at: MonotonicClock.now())
      still = nil
    } catch {
      drop(source, error.message)
    }
  }

  private mutating func drop(_ source: any VideoSource, _ message: String) {
    self.source = nil
    showBlack()
    pipeline.event(.failed(name: source.name, message: message))
  }

  private mutating func showBlack() {
    still = .black(still?.size ?? pipeline.size, time: .zero)
    lastEncoded = nil
  }

  private mutating func step(_ source: any VideoSource) {
    let now = MonotonicClock.now()
    switch source.next(until: now + .milliseconds(100)) {
    case .frame(let frame):
      still = frame
      encode(frame, capturedAt: frame.time)
    case .notYet:
      guard keyFrameWanted, let still, let lastEncoded,
        MonotonicClock.now() - lastEncoded > Self.keyFramePatience
      else { return }
      encode(still, capturedAt: MonotonicClock.now())
    case .ended:
      source.stop()
      self.source = nil
      if still == nil { showBlack() }
      pipeline.event(.sourceEnded(name: source.name))
    case .failed(let error):
      source.stop()
      drop(source, error.message)
    }
  }

  private mutating func repeatStill() {
    let now = MonotonicClock.now()
    let due = lastEncoded.map { $0 + Self.stillInterval } ?? now
    guard keyFrameWanted || now >= due else {
      _ = pipeline.wake.wait(until: due)
      return
    }
    guard let still else { return showBlack() }
    encode(still, capturedAt: now)
  }

  private mutating func encode(_ frame: VideoFrame, capturedAt time: Instant) {
    pipeline.renderer.withLock { $0 }?.render(frame)
    let begin = MonotonicClock.now()
    lastEncoded = begin
    // A repeated picture may have taken the place of one that was due a little before.
    let time = max(time, lastCapture.map { $0 + .milliseconds(1) } ?? time)
    lastCapture = time
    guard watched else {
      // Whoever comes then begins with a key frame; until then none is waited for.
      keyFrameWanted = false
      return
    }
    let encoded: EncodedVideoFrame?
    do {
      let encoder = try self.encoder ?? makeEncoder(frame.size)
      self.encoder = encoder
      try encoder.setBitrate(bitrate)
      encoded = try encoder.encode(frame, capturedAt: time, keyFrame: keyFrameWanted)
    } catch {
      encoder = nil
      source?.stop()
      if let source { drop(source, "VP8: \(error)") }
      return
    }
    let end = MonotonicClock.now()
    if let encoded {
      keyFrameWanted = false
      pipeline.output(encoded)
    }
    record(encoded, begin, end)
  }

  private mutating func record(_ encoded: EncodedVideoFrame?, _ begin: Instant, _ end: Instant) {
    pipeline.published.withLock {
      $0.statistics.totalEncodeTime += (end - begin).seconds
      $0.statistics.targetBitrate = bitrate
      guard let encoded else {
        $0.statistics.framesDropped += 1
        return
      }
      $0.rate.count(at: end)
      $0.statistics.frameWidth = encoded.width
      $0.statistics.frameHeight = encoded.height
      $0.statistics.framesEncoded += 1
      $0.statistics.bytesEncoded += encoded.bytes.count
      if encoded.isKeyFrame { $0.statistics.keyFramesEncoded += 1 }
    }
  }

  private func makeEncoder(_ size: VideoSize) throws(CodecError) -> VP8Encoder {
    try VP8Encoder(VP8Encoder.Configuration(size: size, bitrate: bitrate, frameRate: pipeline.frameRate))
  }
}
