import Base
import Codecs
import Glibc
import RTP

/// What a stream recorder's thread does, until its mailbox is closed.
struct RecordingLoop {
  /// How long media waits for what is late, and for sender reports.
  private static let hold = Duration.milliseconds(700)
  /// How long the sound waits for the first picture, whose size stands at the file's beginning.
  private static let longestHold = Duration.milliseconds(1500)
  private static let flushInterval = Duration.milliseconds(500)
  private static let tick = Duration.milliseconds(100)
  /// Without key frames nobody could jump within the file.
  private static let keyFrameInterval = Duration.seconds(10)
  private static let fallbackSize = VideoSize(width: 640, height: 480)

  private let recorder: StreamRecorder
  private let observer: @Sendable (StreamRecorder.Event) -> Void
  private var queue = RecordingQueue()
  private var writer: WebMWriter?
  private var summary: StreamRecorder.Summary
  private var firstArrival: Instant?
  /// The time of the file's beginning.
  private var origin = 0.0
  private var hasKeyFrame = false
  private var keyFrameDue = Instant(nanoseconds: .max)
  private var lastFlush = Instant.zero
  private var hasFailed = false

  init(_ recorder: StreamRecorder, _ observer: @escaping @Sendable (StreamRecorder.Event) -> Void) {
    self.recorder = recorder
    self.observer = observer
    summary = StreamRecorder.Summary(
      path: recorder.configuration.path, start: nil, duration: .zero, bytes: 0, audioPackets: 0,
      videoFrames: 0)
  }

  mutating func run() {
    while true {
      let now = MonotonicClock.now()
      let isBusy = !queue.isEmpty || writer != nil
      let items = recorder.mailbox.take(until: now + (isBusy ? Self.tick : .seconds(10)))
      if items.isEmpty, recorder.mailbox.isClosed { break }
      for item in items { take(item) }
      step(at: MonotonicClock.now())
    }
    finish()
  }

  private mutating func take(_ item: StreamRecorder.Item) {
    guard !hasFailed else { return }
    switch item {
    case .began: queue.restart()
    case .audio(let packet):
      firstArrival = firstArrival ?? packet.arrival
      queue.insert(packet)
    case .video(let frame):
      firstArrival = firstArrival ?? frame.arrival
      if frame.isKeyFrame { keyFrameDue = frame.arrival + Self.keyFrameInterval }
      queue.insert(frame)
    }
  }

  private mutating func step(at now: Instant) {
    guard !hasFailed else { return }
    if now > keyFrameDue {
      keyFrameDue = now + .seconds(2)
      recorder.requestKeyFrame()
    }
    guard isReady(at: now) else { return }
    do throws(SourceError) {
      try write(before: now - Self.hold)
      if now - lastFlush > Self.flushInterval {
        lastFlush = now
        try writer?.flush()
      }
    } catch {
      fail(error)
    }
  }

  /// Whether the file can be begun.
  private func isReady(at now: Instant) -> Bool {
    guard writer == nil, let firstArrival else { return true }
    let hasSize = !recorder.configuration.hasVideo || queue.firstKeyFrame != nil
    return now - firstArrival > (hasSize ? Self.hold : Self.longestHold)
  }

  private mutating func write(before limit: Instant) throws(SourceError) {
    while let (media, time) = queue.next(before: limit) {
      if case .video(let frame) = media {
        hasKeyFrame = hasKeyFrame || frame.isKeyFrame
        guard hasKeyFrame else { continue }
      }
      let writer = try open(with: media, at: time)
      let milliseconds = Int64((max(0, time - origin) * 1000).rounded())
      switch media {
      case .audio(let packet):
        summary.audioPackets += 1
        try writer.write(packet, at: milliseconds)
      case .video(let frame):
        summary.videoFrames += 1
        try writer.write(frame, at: milliseconds)
      }
    }
  }

  private mutating func open(with first: RecordingQueue.Media, at time: Double) throws(SourceError)
    -> WebMWriter
  {
    if let writer { return writer }
    let configuration = recorder.configuration
    var size = configuration.videoSize
    if case .video(let frame) = first { size = VP8Frame.size(ofKeyFrame: frame.bytes) ?? size }
    if let frame = queue.firstKeyFrame { size = VP8Frame.size(ofKeyFrame: frame.bytes) ?? size }
    let writer = try WebMWriter(
      path: configuration.path, hasAudio: configuration.hasAudio,
      videoSize: configuration.hasVideo ? size ?? Self.fallbackSize : nil)
    self.writer = writer
    origin = time
    let start = Instant(nanoseconds: Int64(time * 1e9))
    summary.start = start
    observer(.started(path: configuration.path, at: start))
    return writer
  }

  private mutating func fail(_ error: SourceError) {
    hasFailed = true
    observer(.failed(error))
  }

  private mutating func finish() {
    do throws(SourceError) {
      if !hasFailed { try write(before: Instant(nanoseconds: .max)) }
      _ = try writer?.finish()
    } catch {
      if !hasFailed { fail(error) }
    }
    if let writer {
      summary.duration = .milliseconds(writer.end)
      summary.bytes = fileSize(summary.path)
    } else {
      // A name that was reserved for nothing.
      unlink(summary.path)
    }
    observer(.finished(summary))
  }
}
