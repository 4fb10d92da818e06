import Base
import Codecs
import RTP

/// A publisher's picture: takes frames from a source on a thread of its own, encodes them once (twice, if
/// some viewers have much less bandwidth) and hands them out for every peer.
///
/// While the camera is off (or a source that plays once has ended) it sends one still picture a second,
/// black when off: a few bytes that keep the path open, and a late viewer sees something. Coming back, or
/// changing the source, costs exactly one key frame.
package final class VideoPublishPipeline: Sendable {
  package enum Event: Sendable, Equatable {
    /// A source that plays once is at its end, and its last picture stays.
    case sourceEnded(name: String)
    /// The source or the encoder failed; black is sent until another source is set.
    case failed(name: String, message: String)
    /// What becomes of a source that goes on, for people.
    case notice(name: String, message: String)
  }

  /// Names as in W3C webrtc-stats.
  package struct Statistics: Sendable, Equatable {
    package var sourceName = ""
    package var frameWidth = 0
    package var frameHeight = 0
    /// Encoded over the last second.
    package var framesPerSecond = 0
    /// Handed over by the source, while somebody watches: what is not in `framesEncoded` was left out for want of bits.
    package var framesCaptured = 0
    package var framesEncoded = 0
    package var keyFramesEncoded = 0
    /// Seconds.
    package var totalEncodeTime = 0.0
    /// Sum of the encoded frames' bytes.
    package var bytesEncoded = 0
    /// Bits per second the encoder aims at.
    package var targetBitrate = 0
    /// Captured frames that the rate control left out.
    package var framesDropped = 0
    /// Pictures of a camera that were late or could not be read.
    package var captureFramesDropped = 0
  }

  struct Published {
    var statistics = Statistics()
    var rate = RateCounter()
  }

  struct Control {
    var source: Handover?
    var enabled = true
    var watched = true
    /// Encodings that a key frame is wanted of.
    var keyFrames: Set<Int> = []
    var encodings: [VideoEncoding]
    var stopped = false
    /// Whether `wake` has been posted since the thread looked.
    var isPosted = false
  }

  /// A source on its way to the pipeline's thread.
  struct Handover: @unchecked Sendable {
    // Safe to send: it comes from a `sending` parameter, so nobody else holds the source.
    let source: any VideoSource
  }

  let size: VideoSize
  let frameRate: Int
  let maximumBitrate: Int
  let content: ContentHint
  let output: @Sendable (EncodedVideoFrame) -> Void
  let event: @Sendable (Event) -> Void
  let control: Lock<Control>
  let wake = Semaphore()
  let renderer = Lock<(any VideoSink)?>(nil)
  let published = Lock(Published())
  private let thread = Lock<MediaThread?>(nil)

  /// - Parameters:
  ///   - source: started on the pipeline's thread.
  ///   - size: of pictures that the pipeline makes itself, such as black.
  ///   - maximumBitrate: bits per second; also the bitrate to begin with.
  ///   - event: called on the pipeline's thread.
  ///   - output: called on the pipeline's thread; must not block.
  package init(
    source: sending any VideoSource, size: VideoSize, frameRate: Int, maximumBitrate: Int,
    content: ContentHint = .motion,
    event: @escaping @Sendable (Event) -> Void = { _ in },
    output: @escaping @Sendable (EncodedVideoFrame) -> Void
  ) {
    self.size = size
    self.frameRate = min(max(frameRate, 1), 120)
    self.maximumBitrate = maximumBitrate
    self.content = content
    self.output = output
    self.event = event
    control = Lock(
      Control(source: Handover(source: source), encodings: [VideoEncoding(bitrate: maximumBitrate)]))
  }

  /// Does nothing if it has been started before.
  package func start() throws(ThreadError) {
    try thread.withLock { thread throws(ThreadError) in
      guard thread == nil else { return }
      thread = try MediaThread.start(name: "video encode") { [self] in
        var loop = VideoEncodeLoop(self)
        loop.run()
      }
    }
  }

  /// Ends the thread and waits for it, a second at most. Not to be called on it.
  package func stop() {
    change { $0.stopped = true }
    thread.withLock { $0 }?.join(until: MonotonicClock.now() + .seconds(1))
  }

  /// From the next picture on, which is a key frame.
  package func setSource(_ source: sending any VideoSource) {
    let handover = Handover(source: source)
    change { $0.source = handover }
  }

  /// Camera on or off. Off, the source is stopped (a camera's light goes out).
  package func setEnabled(_ enabled: Bool) { change { $0.enabled = enabled } }

  /// Whether anybody gets what is encoded. While nobody does, nothing is: only the self-view goes on.
  package func setWatched(_ watched: Bool) { change { $0.watched = watched } }

  package func requestKeyFrame(encoding: Int = 0) { change { _ = $0.keyFrames.insert(encoding) } }

  /// What is made of each picture from the next one on. A new encoding begins with a key frame.
  ///
  /// - Parameter encodings: at least one; bitrates are capped by the maximum.
  package func setEncodings(_ encodings: [VideoEncoding]) {
    guard !encodings.isEmpty else { return }
    change { control in
      control.encodings = encodings.prefix(VideoEncoding.maximumCount).map {
        var encoding = $0
        encoding.bitrate = min(max(encoding.bitrate, 30_000), maximumBitrate)
        return encoding
      }
    }
  }

  /// The self-view; nil for none.
  package func setLocalRenderer(_ renderer: (any VideoSink)?) { self.renderer.withLock { $0 = renderer } }

  package var statistics: Statistics {
    let now = MonotonicClock.now()
    return published.withLock {
      $0.statistics.framesPerSecond = $0.rate.perSecond(at: now)
      return $0.statistics
    }
  }

  private func change(_ body: (inout Control) -> Void) {
    let posts = control.withLock { control in
      body(&control)
      defer { control.isPosted = true }
      return !control.isPosted
    }
    if posts { wake.post() }
  }
}
