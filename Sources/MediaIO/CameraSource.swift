import Base
import Codecs
import Glibc

/// `camera[:NAME]`: a camera through V4L2, in the mode nearest to what is wanted.
final class CameraSource: VideoSource {
  let name: String
  /// Pictures that were not taken in time, or could not be read.
  private(set) var framesDropped = 0
  private let selection: String?
  private let size: VideoSize
  private let frameRate: Int
  private let minimumInterval: Duration
  private var camera: V4L2Handle?
  private var decoder: PictureDecoder?
  private var lastShown: Instant?
  private var lastTaken: Instant?

  /// A camera that hands out nothing for so long has failed; some need a second to begin.
  private static let silenceLimit = Duration.seconds(5)
  /// Whoever had it before may take this long to let go of it.
  private static let attempts = 5
  private static let pause: UInt32 = 60_000

  /// Opens the camera, so that nobody else can have it.
  init(_ selection: String?, size: VideoSize, frameRate: Int) throws(SourceError) {
    self.selection = selection
    self.size = size
    self.frameRate = frameRate
    // A tenth of tolerance, for cameras at just this rate.
    minimumInterval = .nanoseconds(900_000_000 / Int64(max(1, frameRate)))
    let opened = try Self.open(selection, size, frameRate)
    camera = opened
    name = opened.name
  }

  private static func open(
    _ selection: String?, _ size: VideoSize, _ frameRate: Int
  ) throws(SourceError) -> V4L2Handle {
    var attempt = 1
    while true {
      do throws(SourceError) {
        let camera = try Cameras.open(selection)
        guard let mode = CameraMode.best(of: camera.modes(size), size: size, frameRate: frameRate) else {
          throw .deviceFailed(.camera, name: camera.path, reason: "it hands out no format that can be read")
        }
        try camera.configure(mode)
        return camera
      } catch {
        guard case .deviceBusy = error, attempt < attempts else { throw error }
        attempt += 1
        usleep(pause)
      }
    }
  }

  func start(at now: Instant) throws(SourceError) {
    if camera == nil { camera = try Self.open(selection, size, frameRate) }
    guard let camera else { return }
    if let mode = camera.mode {
      decoder = try PictureDecoder(mode, bytesPerLine: camera.bytesPerLine, size: size)
      let rate = mode.frameRate.rounded(to: 2)
      Log.info("camera", "\(name): \(mode.format.rawValue) \(mode.size.width)x\(mode.size.height) at \(rate)")
    }
    try camera.start()
    lastTaken = now
  }

  /// Off, its light goes out and others can have it.
  func stop() {
    camera = nil
    decoder = nil
  }

  func next(until deadline: Instant) -> VideoSourceOutput {
    guard let camera, let decoder else { return .ended }
    do throws(SourceError) {
      guard camera.wait(until: deadline) else {
        let silent = MonotonicClock.now() - (lastTaken ?? .zero)
        guard silent > Self.silenceLimit else { return .notYet }
        return .failed(.deviceFailed(.camera, name: name, reason: "it hands out no pictures"))
      }
      guard let picture = try newest(camera, decoder) else { return .notYet }
      let now = MonotonicClock.now()
      lastTaken = now
      // Drivers of old cameras have clocks of their own.
      let time = picture.time.flatMap { $0 <= now && now - $0 < .seconds(1) ? $0 : nil } ?? now
      if let lastShown, time - lastShown < minimumInterval {
        decoder.skip(picture.bytes)
        try camera.give(back: picture.index)
        return .notYet
      }
      let frame = picture.isDamaged ? nil : decoder.picture(picture.bytes, time: time)
      try camera.give(back: picture.index)
      guard let frame else {
        framesDropped += 1
        return .notYet
      }
      lastShown = time
      return .frame(frame)
    } catch {
      // Its bare path says nothing to whoever pulled the plug.
      if error.isAbsence { return .failed(.noDevice(.camera, name: name, choices: [])) }
      return .failed(error)
    }
  }

  /// The last of those that wait; the others are late.
  private func newest(_ camera: V4L2Handle, _ decoder: PictureDecoder) throws(SourceError) -> V4L2Handle
    .Picture?
  {
    var newest: V4L2Handle.Picture?
    while let picture = try camera.take() {
      if let late = newest {
        framesDropped += 1
        decoder.skip(late.bytes)
        try camera.give(back: late.index)
      }
      newest = picture
    }
    return newest
  }
}
