import Base
import Codecs
import RTP

/// A subscriber's picture: decodes on a thread of its own and shows each picture when it is due. It decodes
/// everything, and when it is late shows only the newest.
package final class VideoSubscribePipeline: Sendable {
  /// Names as in W3C webrtc-stats.
  package struct Statistics: Sendable, Equatable {
    package var frameWidth = 0
    package var frameHeight = 0
    /// Decoded over the last second; received, where nothing is decoded.
    package var framesPerSecond = 0
    package var framesReceived = 0
    package var framesDecoded = 0
    package var keyFramesDecoded = 0
    package var framesRendered = 0
    /// Received, but not shown: late, damaged, or given up because the decoder could not keep up.
    package var framesDropped = 0
    /// Of those, the damaged ones.
    package var framesCorrupted = 0
    /// Seconds.
    package var totalDecodeTime = 0.0
    package var freezeCount = 0
    /// Seconds.
    package var totalFreezesDuration = 0.0
    /// Seconds between pictures shown; with the sum of squares, the harmonic frame rate.
    package var totalInterFrameDelay = 0.0
    package var totalSquaredInterFrameDelay = 0.0
    /// Mean luma of the last picture, 0 (black) to 1 (white).
    package var brightness = 0.0
    /// For how long the pictures have shown the same, in seconds.
    package var stillDuration = 0.0
    /// Only if the pictures are our test pattern.
    package var testPattern: TestPatternStatistics?
  }

  /// Frames that wait for the decoder; two seconds at 30 a second.
  private static let capacity = 60

  struct Published {
    var statistics = Statistics()
    var rate = RateCounter()
  }

  private struct Settings {
    var renderer: (any VideoSink)?
    var isStarted = false
    var isActive = true
    /// Whether it has changed since the last picture.
    var activeChanged = false
    /// Nothing but a key frame is taken after a frame was given up.
    var needsKeyFrame = false
    var received = 0
    var givenUp = 0
  }

  let mailbox = Mailbox<ReceivedVideoFrame>(capacity: VideoSubscribePipeline.capacity, overflow: .dropNewest)
  let stopped = Semaphore()
  let keyFrameNeeded: @Sendable () -> Void
  private let started: @Sendable () -> Void
  private let decodes: Bool
  let measurement: MediaOffset?
  let published = Lock(Published())
  private let settings: Lock<Settings>
  private let thread = Lock<MediaThread?>(nil)

  /// Starts at once.
  /// - Parameters:
  ///   - renderer: called on the pipeline's thread.
  ///   - offset: measures sound against picture, if both are the test pattern's.
  ///   - keyFrameNeeded: called on the pipeline's thread or the pusher's, at most once until the next key
  ///     frame; the caller repeats the request as long as needed.
  ///   - started: called on the pipeline's thread when the first picture is due.
  ///   - decodes: false: frames are counted and given up, on the pusher's thread, and there is no other.
  package init(
    renderer: (any VideoSink)?, offset: MediaOffset? = nil, decodes: Bool = true,
    keyFrameNeeded: @escaping @Sendable () -> Void, started: @escaping @Sendable () -> Void = {}
  ) throws(ThreadError) {
    self.decodes = decodes
    settings = Lock(Settings(renderer: renderer))
    measurement = offset
    self.keyFrameNeeded = keyFrameNeeded
    self.started = started
    guard decodes else { return }
    let decoder = try MediaThread.start(name: "video decode") { [self] in
      var loop = VideoDecodeLoop(self)
      loop.run()
    }
    thread.withLock { $0 = decoder }
  }

  /// Takes the next frame in decoding order. From any one thread; never blocks.
  package func push(_ frame: ReceivedVideoFrame) {
    guard decodes else { return count() }
    let (accepted, asks) = settings.withLock { settings -> (Bool, Bool) in
      settings.received += 1
      if settings.needsKeyFrame && !frame.isKeyFrame {
        settings.givenUp += 1
        return (false, false)
      }
      let accepted = mailbox.put(frame)
      if !accepted { settings.givenUp += 1 }
      let asks = !accepted && !settings.needsKeyFrame
      settings.needsKeyFrame = !accepted
      return (accepted, asks)
    }
    if !accepted && asks && !mailbox.isClosed { keyFrameNeeded() }
  }

  private func count() {
    let isFirst = settings.withLock { settings in
      defer { settings.isStarted = true }
      settings.received += 1
      return !settings.isStarted
    }
    let now = MonotonicClock.now()
    published.withLock { $0.rate.count(at: now) }
    if isFirst { started() }
  }

  /// Ends the thread and waits for it, a second at most. Not to be called on it.
  package func stop() {
    mailbox.close()
    stopped.post()
    thread.withLock { $0 }?.join(until: MonotonicClock.now() + .seconds(1))
  }

  package func setRenderer(_ renderer: (any VideoSink)?) { settings.withLock { $0.renderer = renderer } }

  /// Whether the other side means to send pictures: while its camera is off, gaps are no freezes.
  package func setActive(_ active: Bool) {
    settings.withLock {
      $0.activeChanged = $0.activeChanged || $0.isActive != active
      $0.isActive = active
    }
  }

  package var statistics: Statistics {
    let now = MonotonicClock.now()
    var statistics = published.withLock {
      $0.statistics.framesPerSecond = $0.rate.perSecond(at: now)
      return $0.statistics
    }
    let (received, givenUp) = settings.withLock { ($0.received, $0.givenUp) }
    statistics.framesReceived = received
    statistics.framesDropped += givenUp
    return statistics
  }

  /// It is copied only if somebody wants to see it.
  func show(_ picture: DecodedPicture) {
    let (isFirst, renderer) = settings.withLock { settings in
      defer { settings.isStarted = true }
      return (!settings.isStarted, settings.renderer)
    }
    if isFirst { started() }
    renderer?.render(picture.copy())
  }

  /// Whether the time since the last picture may be a freeze.
  func takeContinuity() -> Bool {
    settings.withLock { settings in
      defer { settings.activeChanged = false }
      return settings.isActive && !settings.activeChanged
    }
  }
}
