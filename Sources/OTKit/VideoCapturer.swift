/// A source of pictures of your own: `Publisher(configuration, videoCapturer: …)`.
///
/// **Order.** `initCapture`, then `startCapture` and `stopCapture` in turn (nobody's camera is on while video is
/// muted), then `releaseCapture`; and all over again if its publisher is published again.
///
/// **Threads.** The four are called on a thread that belongs to this capturer, one after the other, so they may
/// take their time: nothing in the call waits for them but `publish`, for `initCapture`. `captureSettings` and
/// `isCaptureStarted` are read on any thread and have to answer at once. Pictures are delivered from a
/// thread of the capturer's own; see `VideoCaptureConsumer`. A loop that captures is no work for Swift's
/// concurrency pool: it would stand in everybody's way there.
///
/// A capturer belongs to one publisher at a time: another one that is published with it throws `mediaUnavailable`,
/// unless the first is letting go of it, which is waited for.
public protocol VideoCapturer: AnyObject, Sendable {
  /// For people, in messages. By default the type's name.
  var name: String { get }

  /// What it is going to deliver; asked for after `initCapture`. Size and rate are announced, and the encoder is
  /// made ready for them. Each picture brings its own format all the same.
  var captureSettings: VideoFormat { get }

  var isCaptureStarted: Bool { get }

  /// Opens what it captures from.
  /// - Parameter consumer: to be kept: it takes the pictures.
  /// - Throws: what `publish` reports as `mediaUnavailable`, in the error's own words (`description`).
  func initCapture(_ consumer: VideoCaptureConsumer) throws

  /// From now on pictures are wanted. Must return; what captures runs on another thread.
  /// - Throws: black is sent, and a warning says so.
  func startCapture() throws

  /// No more pictures are wanted. What still comes is counted and given up.
  func stopCapture()

  /// It will not be used any more, unless it is initialised again.
  func releaseCapture()
}

extension VideoCapturer {
  public var name: String { "\(Self.self)" }
  public func releaseCapture() {}
}
