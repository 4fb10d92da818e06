import Base
import CAV
import Codecs

/// `screen[:DISPLAY][/PART]`: an X11 screen, monitor or window with the mouse pointer.
///
/// A picture is taken when something has been drawn or the pointer has moved. A screen that stands still costs next
/// to nothing: its picture is sent on for a second, in which the encoder makes it sharp, and then once a second.
///
/// Stopped, it keeps its connection: a window that was chosen by its title stays the one that was chosen.
final class ScreenSource: VideoSource {
  /// Pictures a second, at most.
  static let maximumFrameRate = 15

  let name: String
  private let selection: ScreenSelection
  private let interval: Duration
  private let scaler: VideoScaler
  private let pool = VideoFramePool()
  /// Nobody posts it.
  private let sleeper = Semaphore()
  private var grabber: ScreenGrabber?
  private var frame: UnsafeMutablePointer<AVFrame>?
  private var last: VideoFrame?
  private var lastChange = Instant.zero
  private var lastShown = Instant.zero
  /// When the pointer is looked at next, and a picture may be taken.
  private var due = Instant.zero

  private static let sharpening = Duration.seconds(1)
  private static let stillInterval = Duration.seconds(1)

  /// Opens the screen.
  /// - Parameter selection: see `ScreenSelection`; nil: what `DISPLAY` names.
  init(_ selection: String?, size: VideoSize, frameRate: Int) throws(SourceError) {
    if let reason = MediaLibrary.fault { throw .libraryMissing(reason: reason) }
    self.selection = ScreenSelection(selection)
    interval = .nanoseconds(1_000_000_000 / Int64(min(max(frameRate, 1), Self.maximumFrameRate)))
    scaler = VideoScaler(size: size)
    let opened = try ScreenGrabber(self.selection)
    grabber = opened
    name = opened.name
    frame = av_frame_alloc()
  }

  deinit { av_frame_free(&frame) }

  func start(at now: Instant) throws(SourceError) {
    if grabber?.isOver ?? true { grabber = try ScreenGrabber(selection) }
    due = now
  }

  func stop() { last = nil }

  func next(until deadline: Instant) -> VideoSourceOutput {
    guard let grabber else { return .ended }
    while true {
      guard due <= deadline else {
        _ = sleeper.wait(until: deadline)
        return .notYet
      }
      _ = sleeper.wait(until: due)
      let now = MonotonicClock.now()
      // Late by more than a picture, it does not try to catch up.
      due = now - due < interval ? due + interval : now + interval
      do throws(SourceError) {
        let wasHidden = grabber.isHidden
        let frame = try step(grabber, at: now)
        if grabber.isHidden != wasHidden {
          return .notice(
            wasHidden
              ? "it is shown again" : "it is hidden: the others see its last picture until it is shown again")
        }
        if let frame { return .frame(frame) }
      } catch {
        return .failed(error)
      }
    }
  }

  /// What is to be sent now; nil: nothing.
  private func step(_ grabber: ScreenGrabber, at now: Instant) throws(SourceError) -> VideoFrame? {
    if grabber.looksAgain() || last == nil {
      lastChange = now
    } else if let last, now - lastChange < Self.sharpening {
      lastShown = now
      return VideoFrame(last, time: now, pool: pool)
    } else if now - lastShown < Self.stillInterval {
      return nil
    }
    guard let picture = try take(grabber, at: now) else { return nil }
    last = picture
    lastShown = now
    return picture
  }

  private func take(_ grabber: ScreenGrabber, at now: Instant) throws(SourceError) -> VideoFrame? {
    guard let frame, let pixels = try grabber.grab(), let base = pixels.baseAddress else { return nil }
    let (width, height) = (grabber.place.width, grabber.place.height)
    frame.pointee.format = AV_PIX_FMT_BGR0.rawValue
    frame.pointee.width = Int32(width)
    frame.pointee.height = Int32(height)
    frame.pointee.data.0 = UnsafeMutableRawPointer(base).assumingMemoryBound(to: UInt8.self)
    frame.pointee.linesize.0 = Int32(4 * width)
    defer { frame.pointee.data.0 = nil }
    guard let picture = scaler.scale(frame, time: now) else { throw ScreenGrabber.colorless(name) }
    return picture
  }
}
