import Base
import Codecs
import RTP

/// What a publish pipeline's thread does, from start to stop.
struct VideoEncodeLoop {
  private let pipeline: VideoPublishPipeline
  private var source: (any VideoSource)?
  private var encoders: [Encoder]
  private var enabled = true
  private var watched = true
  /// What is repeated once a second instead of a source's pictures.
  private var still: VideoFrame?
  private var lastEncoded: Instant?
  private var lastCapture: Instant?

  /// The interval of still pictures.
  private static let stillInterval = Duration.seconds(1)
  /// With a slower source, a key frame that is asked for is made of the last picture.
  private static let keyFramePatience = Duration.milliseconds(150)
  /// Whatever is smaller stays as it is.
  private static let smallestHalved = 120

  /// The encoder of one encoding, which is made with the first picture.
  private struct Encoder {
    var encoding: VideoEncoding
    var codec: VP8Encoder?
    var keyFrameWanted = false
    var adaptation: VideoAdaptation

    init(_ encoding: VideoEncoding, _ content: ContentHint) {
      self.encoding = encoding
      adaptation = VideoAdaptation(content)
    }
  }

  init(_ pipeline: VideoPublishPipeline) {
    self.pipeline = pipeline
    encoders = [Encoder(VideoEncoding(bitrate: pipeline.maximumBitrate), pipeline.content)]
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
        control.isPosted = false
      }
      return control
    }
    if control.isPosted { _ = pipeline.wake.wait(until: .zero) }
    if control.stopped { return false }
    adopt(control.encodings)
    takeRequests()
    if control.enabled != enabled {
      enabled = control.enabled
      wantKeyFrames()
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
      wantKeyFrames()
      pipeline.published.withLock { $0.statistics.sourceName = handover.source.name }
      if enabled { begin(handover.source) }
    }
    return true
  }

  /// What the very next picture is to be: a key frame, or nothing while nobody watches.
  private mutating func takeRequests() {
    let (keyFrames, isWatched) = pipeline.control.withLock { control in
      defer { control.keyFrames = [] }
      return (control.keyFrames, control.watched)
    }
    watched = isWatched
    for index in keyFrames where encoders.indices.contains(index) { encoders[index].keyFrameWanted = true }
  }

  private mutating func adopt(_ encodings: [VideoEncoding]) {
    while encoders.count > encodings.count { encoders.removeLast() }
    for (index, encoding) in encodings.enumerated() {
      if index == encoders.count { encoders.append(Encoder(encoding, pipeline.content)) }
      // Layers are there from an encoder's first picture, or not at all.
      if encoders[index].encoding.temporalLayers != encoding.temporalLayers { encoders[index].codec = nil }
      encoders[index].encoding = encoding
    }
  }

  private mutating func wantKeyFrames() {
    for index in encoders.indices { encoders[index].keyFrameWanted = true }
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
      // Who asked while this picture was waited for need not wait for the next.
      takeRequests()
      encode(frame, capturedAt: frame.time)
    case .notYet:
      guard encoders.contains(where: \.keyFrameWanted), let still, let lastEncoded,
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
    case .notice(let text): pipeline.event(.notice(name: source.name, message: text))
    }
  }

  private mutating func repeatStill() {
    let now = MonotonicClock.now()
    let due = lastEncoded.map { $0 + Self.stillInterval } ?? now
    guard encoders.contains(where: \.keyFrameWanted) || now >= due else {
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
      for index in encoders.indices { encoders[index].keyFrameWanted = false }
      return
    }
    pipeline.published.withLock { $0.statistics.framesCaptured += 1 }
    do {
      for index in encoders.indices { try encode(frame, capturedAt: time, encoding: index) }
    } catch {
      for index in encoders.indices { encoders[index].codec = nil }
      source?.stop()
      if let source { drop(source, "VP8: \(error)") }
    }
  }

  private mutating func encode(
    _ frame: VideoFrame, capturedAt time: Instant, encoding index: Int
  ) throws(CodecError) {
    let begin = MonotonicClock.now()
    let encoding = encoders[index].encoding
    guard
      encoders[index].adaptation.takes(time, frameRate: pipeline.frameRate)
        || encoders[index].keyFrameWanted
    else { return }
    let frame = reduced(frame, times: encoders[index].adaptation.level.halvings + (encoding.isHalved ? 1 : 0))
    if encoders[index].codec == nil { encoders[index].codec = try makeEncoder(frame.size, encoding) }
    guard let codec = encoders[index].codec else { return }
    try codec.setBitrate(encoding.bitrate)
    // A viewer may change from one encoding to the next within a picture, and a timestamp belongs to one.
    var encoded = try codec.encode(
      frame, capturedAt: time + .microseconds(100) * index, keyFrame: encoders[index].keyFrameWanted)
    if encoded != nil { encoders[index].keyFrameWanted = false }
    encoders[index].adaptation.encoded(quantizer: encoded == nil ? nil : codec.lastQuantizer, at: time)
    encoded?.encoding = index
    if let encoded { pipeline.output(encoded) }
    record(encoded, encoding: index, begin, MonotonicClock.now())
  }

  private func reduced(_ frame: VideoFrame, times: Int) -> VideoFrame {
    var frame = frame
    for _ in 0..<times where min(frame.width, frame.height) >= Self.smallestHalved { frame = frame.halved() }
    return frame
  }

  /// Pictures are counted in the full encoding, time and bytes in all.
  private func record(_ encoded: EncodedVideoFrame?, encoding index: Int, _ begin: Instant, _ end: Instant) {
    pipeline.published.withLock {
      $0.statistics.totalEncodeTime += (end - begin).seconds
      if let encoded { $0.statistics.bytesEncoded += encoded.bytes.count }
      guard index == 0 else { return }
      $0.statistics.targetBitrate = encoders[0].encoding.bitrate
      $0.statistics.captureFramesDropped = source?.framesDropped ?? 0
      guard let encoded else {
        $0.statistics.framesDropped += 1
        return
      }
      $0.rate.count(at: end)
      $0.statistics.frameWidth = encoded.width
      $0.statistics.frameHeight = encoded.height
      $0.statistics.framesEncoded += 1
      if encoded.isKeyFrame { $0.statistics.keyFramesEncoded += 1 }
    }
  }

  private func makeEncoder(_ size: VideoSize, _ encoding: VideoEncoding) throws(CodecError) -> VP8Encoder {
    var configuration = VP8Encoder.Configuration(
      size: size, bitrate: encoding.bitrate, frameRate: pipeline.frameRate, contentHint: pipeline.content)
    configuration.temporalLayers = encoding.temporalLayers
    return try VP8Encoder(configuration)
  }
}
