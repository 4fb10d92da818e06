import Base
import Codecs
import MediaIO

/// A capturer that a publisher has been given: brings it into the state that is wanted, and remembers who wants it.
/// A stream that has ended may let go of it later than the next one takes it.
final class CaptureControl: Sendable {
  private struct State: Equatable {
    /// Grows with each wish to have it initialised.
    var claim = 0
    var isClaimed = false
    /// Who wants its pictures.
    var user: Int?
  }

  let capturer: any VideoCapturer
  let consumer: VideoCaptureConsumer
  private let calls: Calls
  private let thread: ControlThread<State>
  private let lastUser = Lock(0)

  /// - Parameter frameRate: pictures a second, at most.
  init(_ capturer: any VideoCapturer, frameRate: Int) {
    let calls = Calls(capturer, VideoCaptureConsumer(), frameRate: frameRate)
    self.capturer = capturer
    self.calls = calls
    consumer = calls.consumer
    thread = ControlThread(name: "capturer", initial: State()) { old, new in
      if old.user != new.user { calls.stop() }
      if old.claim != new.claim || old.isClaimed != new.isClaimed {
        if new.isClaimed { calls.initialise(new.claim) } else { calls.release(new.claim) }
      }
      if old.user != new.user, new.user != nil { calls.start() }
    }
  }

  deinit { calls.use.leave(calls.user) }

  /// Initialises the capturer, if that has not been done. Waits for it.
  func initialise() async throws(OpenTokError) {
    let fault = await withCheckedContinuation { continuation in
      thread.want { state in
        state.claim += 1
        state.isClaimed = true
        calls.use.stay(calls.user)
        let claim = state.claim
        calls.progress.withLock { $0.waiting.append((claim, continuation)) }
      }
    }
    if let fault { throw fault }
  }

  /// Has it capture. - Returns: who wants that, for `stop`.
  func start() -> Int {
    let user = lastUser.withLock { last in
      last += 1
      return last
    }
    thread.want { $0.user = user }
    return user
  }

  /// Does nothing if somebody else wants its pictures now.
  func stop(_ user: Int) { thread.want { if $0.user == user { $0.user = nil } } }

  /// Nobody wants it any more, unless it is initialised again.
  func release() {
    thread.want {
      $0.isClaimed = false
      $0.user = nil
      calls.use.leave(calls.user)
    }
  }

  /// What the capturer is told, in an order that it can rely on. On the control thread.
  private final class Calls: Sendable {
    struct Progress {
      var isInitialised = false
      var isStarted = false
      /// For the end of initialising, each by its claim.
      var waiting: [(claim: Int, continuation: CheckedContinuation<OpenTokError?, Never>)] = []
    }

    let capturer: any VideoCapturer
    let consumer: VideoCaptureConsumer
    let frameRate: Int
    /// Another publisher may still have it, or have it already.
    let use: ExclusiveUse
    let user: Int
    let progress = Lock(Progress())

    init(_ capturer: any VideoCapturer, _ consumer: VideoCaptureConsumer, frameRate: Int) {
      self.capturer = capturer
      self.consumer = consumer
      self.frameRate = frameRate
      use = ExclusiveUse.of(capturer)
      user = use.join()
    }

    deinit { use.letGo(user) }

    func initialise(_ claim: Int) {
      let fault = progress.withLock({ $0.isInitialised }) ? nil : begin()
      let isInitialised = fault == nil
      progress.withLock { $0.isInitialised = isInitialised }
      answer(claim, fault)
    }

    private func begin() -> OpenTokError? {
      func fault(_ detail: String) -> OpenTokError {
        .mediaUnavailable(detail: "\(capturer.name): \(detail)", hint: nil, exitCode: .inputMissing)
      }
      guard use.take(user) else { return fault("another publisher has it") }
      do {
        try capturer.initCapture(consumer)
        return nil
      } catch {
        use.letGo(user)
        return fault("\(error)")
      }
    }

    /// Whoever waited for this claim or one before it.
    private func answer(_ claim: Int, _ fault: OpenTokError?) {
      let waiting = progress.withLock { progress in
        let answered = progress.waiting.filter { $0.claim <= claim }
        progress.waiting.removeAll { $0.claim <= claim }
        return answered
      }
      for each in waiting { each.continuation.resume(returning: fault) }
    }

    func start() {
      guard progress.withLock({ $0.isInitialised }) else { return }
      consumer.open(frameRate: frameRate)
      do {
        try capturer.startCapture()
        progress.withLock { $0.isStarted = true }
      } catch {
        consumer.fail("\(error)")
      }
    }

    func stop() {
      consumer.close()
      guard progress.withLock({ $0.isStarted.take() }) else { return }
      capturer.stopCapture()
    }

    func release(_ claim: Int) {
      // Let go of before its turn came.
      answer(
        claim,
        .mediaUnavailable(
          detail: "\(capturer.name): the stream ended before it was initialised", hint: nil,
          exitCode: .inputMissing))
      guard progress.withLock({ $0.isInitialised.take() }) else { return }
      capturer.releaseCapture()
      use.letGo(user)
    }
  }
}

extension Bool {
  /// Its value; it is false then.
  fileprivate mutating func take() -> Bool {
    defer { self = false }
    return self
  }
}

/// A capturer as a publishing pipeline sees it.
final class CapturerSource: VideoSource {
  private let control: CaptureControl
  private var user: Int?

  init(_ control: CaptureControl) { self.control = control }

  var name: String { control.capturer.name }

  func start(at now: Instant) { user = control.start() }

  func stop() {
    if let user { control.stop(user) }
    user = nil
  }

  func next(until deadline: Instant) -> VideoSourceOutput {
    switch control.consumer.next(until: deadline) {
    case .frame(let frame): .frame(frame)
    case .notYet: .notYet
    case .failed(let reason): .failed(.capturerFailed(reason: reason))
    }
  }

  var framesDropped: Int {
    let statistics = control.consumer.statistics
    return statistics.framesDropped + statistics.framesRejected
  }
}
