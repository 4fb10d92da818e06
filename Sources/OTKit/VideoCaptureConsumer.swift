import Base
import Codecs
import MediaIO

/// Takes a capturer's pictures.
///
/// `consumeFrame` may be called from any thread, at any time. It copies (and turns, and converts) the picture
/// into memory that is used again and again, never waits for the encoder, and keeps one picture: if a newer one
/// comes before the encoder has taken it, that one takes its place. One that comes too soon after another waits
/// for its turn, so the last one before a pause is always sent. So a picture's memory is the caller's
/// again on return, and a capturer may deliver as fast, as slowly or as unevenly as it likes.
public final class VideoCaptureConsumer: Sendable {
  public struct Statistics: Sendable, Equatable {
    /// Handed to the encoder.
    public var framesConsumed = 0
    /// Given up: a newer one came before the encoder was ready, or they came faster than the publisher's frame
    /// rate.
    public var framesDropped = 0
    /// Not taken for what was wrong with them: the `VideoCaptureError`s that were thrown.
    public var framesRejected = 0
  }

  private struct State {
    var isOpen = false
    /// Whether `arrived` has been posted since the encoder looked.
    var isPosted = false
    var frame: VideoFrame?
    /// Came too soon after another. It is the next one if nothing has followed it by then.
    var early: (frame: VideoFrame, due: Instant)?
    var failure: String?
    /// Less time than that between two pictures is too little.
    var minimumInterval = Duration.zero
    var lastTime: Instant?
    var statistics = Statistics()
  }

  private let state = Lock(State())
  private let arrived = Semaphore()
  private let pool = VideoFramePool()

  /// What is older counts as taken now: its clock is not ours.
  private static let oldest = Duration.seconds(1)

  init() {}

  public var statistics: Statistics { state.withLock { $0.statistics } }

  /// Takes a picture whose planes follow each other in memory, each with whole rows, as in a file of raw video.
  ///
  /// - Parameters:
  ///   - bytes: at least as many as the format says.
  ///   - timestamp: when it was taken, on CLOCK_MONOTONIC; nil: now. What lies in the future or more than a
  ///     second back counts as now.
  public func consumeFrame(
    _ bytes: RawSpan, format: VideoFormat, orientation: VideoOrientation = .up, timestamp: Duration? = nil
  ) throws(VideoCaptureError) {
    try check(format)
    try bytes.withUnsafeBytes { bytes throws(VideoCaptureError) in
      var begin = 0
      func plane(_ index: Int) -> UnsafeRawBufferPointer {
        guard index < format.pixelFormat.planeCount, begin < bytes.count else {
          return UnsafeRawBufferPointer(start: nil, count: 0)
        }
        defer { begin += format.rows(ofPlane: index) * format.bytesPerRow[index] }
        return UnsafeRawBufferPointer(rebasing: bytes[begin...])
      }
      try take((plane(0), plane(1), plane(2)), format, orientation, timestamp)
    }
  }

  /// Takes a picture whose planes lie anywhere: as many as the format has.
  /// - Parameter timestamp: as above.
  public func consumeFrame(
    planes first: RawSpan, _ second: RawSpan = RawSpan(), _ third: RawSpan = RawSpan(), format: VideoFormat,
    orientation: VideoOrientation = .up, timestamp: Duration? = nil
  ) throws(VideoCaptureError) {
    try check(format)
    try first.withUnsafeBytes { first throws(VideoCaptureError) in
      try second.withUnsafeBytes { second throws(VideoCaptureError) in
        try third.withUnsafeBytes { third throws(VideoCaptureError) in
          try take((first, second, third), format, orientation, timestamp)
        }
      }
    }
  }

  /// There will be no more pictures before the next `startCapture`: black is sent, and a warning says why. Any
  /// thread.
  /// - Parameter reason: for people: `the camera was unplugged`.
  public func fail(_ reason: String) {
    let posts = state.withLock { state in
      if state.isOpen { state.failure = reason }
      defer { state.isPosted = true }
      return !state.isPosted
    }
    if posts { arrived.post() }
  }

  private func check(_ format: VideoFormat) throws(VideoCaptureError) {
    let fault = state.withLock { state -> VideoCaptureError? in
      let fault = state.isOpen ? format.fault : .notCapturing
      if fault != nil { state.statistics.framesRejected += 1 }
      return fault
    }
    if let fault { throw fault }
  }

  private typealias Planes = (UnsafeRawBufferPointer, UnsafeRawBufferPointer, UnsafeRawBufferPointer)

  /// - Parameter format: checked.
  private func take(
    _ planes: Planes, _ format: VideoFormat, _ orientation: VideoOrientation, _ timestamp: Duration?
  ) throws(VideoCaptureError) {
    func plane(
      _ bytes: UnsafeRawBufferPointer, _ index: Int
    ) throws(VideoCaptureError) -> RawPicture.Plane? {
      guard let needed = format.byteCount(ofPlane: index) else { return nil }
      guard bytes.count >= needed, let base = bytes.baseAddress else {
        state.withLock { $0.statistics.framesRejected += 1 }
        throw .planeTooShort(bytes.count, plane: index, needed: needed)
      }
      return RawPicture.Plane(
        bytes: base.assumingMemoryBound(to: UInt8.self), bytesPerRow: format.bytesPerRow[index])
    }
    guard let first = try plane(planes.0, 0) else { return }
    let second = try plane(planes.1, 1) ?? first
    let third = try plane(planes.2, 2) ?? first
    let now = MonotonicClock.now()
    let stamp = timestamp.map { Instant(nanoseconds: $0.nanoseconds) }
    // Compared without differences, which could overflow.
    let time = stamp.flatMap { $0 <= now && $0 > now - Self.oldest ? $0 : nil } ?? now
    let isEarly = isEarly(time)
    let picture = RawPicture(format: format.raw, size: format.size, planes: (first, second, third))
    put(picture.frame(turned: orientation.turn, time: time, pool: pool), isEarly: isEarly, at: now)
  }

  /// Whether the picture of that time comes too soon after the last one, for the publisher's frame rate.
  private func isEarly(_ time: Instant) -> Bool {
    state.withLock { state in
      if let last = state.lastTime, time >= last, time - last < state.minimumInterval { return true }
      state.lastTime = time
      return false
    }
  }

  private func put(_ frame: VideoFrame, isEarly: Bool, at now: Instant) {
    let (old, posts) = state.withLock { state -> ([VideoFrame?], Bool) in
      // Of several threads a slow one may come with a picture that has been overtaken.
      guard state.isOpen, !isEarly || state.lastTime.map({ frame.time >= $0 }) ?? true else {
        state.statistics.framesDropped += 1
        return ([], false)
      }
      let old = isEarly ? [state.early?.frame] : [state.early?.frame, state.frame]
      state.statistics.framesDropped += old.count { $0 != nil }
      state.early = isEarly ? (frame, now + state.minimumInterval) : nil
      if !isEarly { state.frame = frame }
      defer { state.isPosted = true }
      return (old, !state.isPosted)
    }
    if posts { arrived.post() }
    // Its memory is given back here, outside of the lock.
    withExtendedLifetime(old) {}
  }

  // MARK: The encoder's side

  enum Output {
    case frame(VideoFrame)
    case notYet
    case failed(String)
  }

  /// - Parameter frameRate: pictures a second, at most.
  func open(frameRate: Int) {
    state.withLock {
      $0.isOpen = true
      $0.failure = nil
      $0.lastTime = nil
      // A tenth of tolerance, for capturers at just this rate.
      $0.minimumInterval = .nanoseconds(900_000_000 / Int64(max(1, frameRate)))
    }
  }

  func close() {
    let unseen = state.withLock { state in
      state.isOpen = false
      state.failure = nil
      let unseen = [state.frame.take(), state.early.take()?.frame]
      state.statistics.framesDropped += unseen.count { $0 != nil }
      return unseen
    }
    withExtendedLifetime(unseen) {}
  }

  /// The newest picture, waiting for it until `deadline`.
  func next(until deadline: Instant) -> Output {
    while true {
      let (output, due) = state.withLock { state -> (Output, Instant?) in
        if let failure = state.failure.take() { return (.failed(failure), nil) }
        guard let frame = state.frame.take() else { return (.notYet, state.early?.due) }
        state.statistics.framesConsumed += 1
        return (.frame(frame), nil)
      }
      if case .notYet = output {} else { return output }
      if arrived.wait(until: min(due ?? deadline, deadline)) {
        state.withLock { $0.isPosted = false }
        continue
      }
      guard let due, due <= deadline else { return .notYet }
      if let frame = takeEarly(due) { return .frame(frame) }
    }
  }

  /// The picture that came too soon, if nothing has come since.
  private func takeEarly(_ due: Instant) -> VideoFrame? {
    state.withLock { state in
      guard state.frame == nil, state.failure == nil, let early = state.early, early.due <= due else {
        return nil
      }
      state.early = nil
      state.lastTime = early.frame.time
      state.statistics.framesConsumed += 1
      return early.frame
    }
  }
}

extension VideoFormat {
  fileprivate var raw: RawPicture.Format {
    switch pixelFormat {
    case .i420: .i420
    case .nv12: .nv12
    case .argb: .argb
    }
  }
}
