import Base
import CAV
import Codecs

/// `file:PATH`: the picture of a file, scaled, at the pace of its timestamps, again and again or once.
final class FileVideoSource: VideoSource {
  let name: String
  private let file: MediaFile
  private let once: Bool
  private let scaler: VideoScaler
  private let minimumInterval: Duration
  private let timeline: MediaTimeline
  private let sleeper = Semaphore()

  /// Pictures that were missed for longer than this are jumped over, not decoded.
  private static let longestCatchUp = Duration.seconds(1)

  /// When the present round through the file began.
  private var origin: Instant?
  private var pending: (frame: UnsafeMutablePointer<AVFrame>, due: Instant)?
  private var lastTime = Duration.zero
  private var lastShown: Instant?
  private var framesInRound = 0

  init(path: String, once: Bool, size: VideoSize, frameRate: Int, timeline: MediaTimeline) throws(SourceError)
  {
    file = try MediaFile(path: path, .video)
    name = path.split(separator: "/").last.map(String.init) ?? path
    self.once = once
    self.timeline = timeline
    scaler = VideoScaler(size: size)
    // A tenth of tolerance, for files at just this rate with rounded timestamps.
    minimumInterval = .nanoseconds(900_000_000 / Int64(max(1, frameRate)))
  }

  func start(at now: Instant) {
    guard let origin else {
      origin = timeline.start(at: now)
      return
    }
    // Started again after a pause: the sound has gone on meanwhile.
    guard now - (origin + lastTime) > Self.longestCatchUp else { return }
    pending = nil
    var position = now - origin
    if !once {
      let length = max(file.duration ?? lastTime + file.meanFrameDuration, .milliseconds(1))
      let rounds = position.nanoseconds / length.nanoseconds
      self.origin = origin + .nanoseconds(rounds * length.nanoseconds)
      position -= .nanoseconds(rounds * length.nanoseconds)
    }
    _ = file.seek(to: position)
  }

  func next(until deadline: Instant) -> VideoSourceOutput {
    while true {
      if pending == nil {
        guard let frame = file.next() else {
          guard startNextRound() else { return .ended }
          continue
        }
        framesInRound += 1
        let time = file.time(of: frame) ?? lastTime + file.meanFrameDuration
        lastTime = time
        pending = (frame, (origin ?? .zero) + time)
      }
      guard let (frame, due) = pending else { continue }
      let now = MonotonicClock.now()
      // Too late, or sooner than the frame rate allows: it is left out before it costs scaling.
      let isLate = now - due > .milliseconds(200)
      let isSoon = lastShown.map { due - $0 < minimumInterval } ?? false
      if isLate || isSoon {
        pending = nil
        if now >= deadline { return .notYet }
        continue
      }
      if due > deadline {
        _ = sleeper.wait(until: deadline)
        return .notYet
      }
      if due > now { _ = sleeper.wait(until: due) }
      pending = nil
      lastShown = due
      guard let picture = scaler.scale(frame, time: due) else {
        return .failed(.notDecodable(path: file.path, reason: "unknown pixel format"))
      }
      return .frame(picture)
    }
  }

  func stop() {}

  private func startNextRound() -> Bool {
    guard !once, framesInRound > 0, file.rewind() else { return false }
    let length = file.duration ?? lastTime + file.meanFrameDuration
    origin = (origin ?? .zero) + max(length, .milliseconds(1))
    framesInRound = 0
    return true
  }
}
