import Base
import MediaIO
import TestSupport
import Testing

@testable import OTKit

@Suite struct ExclusiveUseTests {
  private final class Thing: Sendable {}

  @Test func whoeverIsLeavingIsWaitedForAndAnybodyElseKeepsIt() async throws {
    let thing = Thing()
    let use = ExclusiveUse.of(thing)
    #expect(ExclusiveUse.of(thing) === use)
    #expect(ExclusiveUse.of(Thing()) !== use)
    let (first, second) = (use.join(), use.join())
    #expect(use.take(first) && use.take(first))
    #expect(!use.take(second))
    use.leave(first)
    use.stay(first)
    #expect(!use.take(second))
    use.leave(first)
    let isGranted = Lock(false)
    _ = MediaThread(name: "second") {
      let answer = use.take(second)
      isGranted.withLock { $0 = answer }
    }
    use.letGo(first)
    try await eventually("its turn") { isGranted.withLock { $0 } }
    // Whoever has it not can let go of nothing.
    use.letGo(first)
    #expect(!use.take(first))
  }

  // MARK: Capturers

  /// Says whether two threads ever were in it at a time, and what was called.
  private final class Watched: VideoCapturer {
    struct State {
      var calls: [String] = []
      var isBusy = false
      var isStarted = false
      var collisions = 0
    }

    let state = Lock(State())
    let captureSettings = VideoFormat(.i420, width: 16, height: 16)
    var isCaptureStarted: Bool { state.withLock { $0.isStarted } }
    var calls: [String] { state.withLock { $0.calls } }
    var collisions: Int { state.withLock { $0.collisions } }

    func initCapture(_ consumer: VideoCaptureConsumer) { note("init") }
    func startCapture() { note("start") { $0.isStarted = true } }
    func stopCapture() { note("stop") { $0.isStarted = false } }
    func releaseCapture() { note("release") }

    private func note(_ call: String, _ change: (inout State) -> Void = { _ in }) {
      state.withLock { state in
        if state.isBusy { state.collisions += 1 }
        state.isBusy = true
        state.calls.append(call)
        change(&state)
      }
      // Long enough for another thread to come in.
      _ = Semaphore().wait(until: MonotonicClock.now() + .milliseconds(5))
      state.withLock { $0.isBusy = false }
    }
  }

  @Test func aCapturerServesOnePublisherAtATime() async throws {
    let capturer = Watched()
    let first = CaptureControl(capturer, frameRate: 30)
    let second = CaptureControl(capturer, frameRate: 30)
    try await first.initialise()
    await #expect(
      throws: OpenTokError.mediaUnavailable(
        detail: "Watched: another publisher has it", hint: nil, exitCode: .inputMissing)
    ) {
      try await second.initialise()
    }
    #expect(capturer.calls == ["init"])
    first.release()
    try await second.initialise()
    #expect(capturer.calls == ["init", "release", "init"])
  }

  @Test func aCapturerThatIsTakenAwayAndGivenBackIsCalledByOneThread() async throws {
    let capturer = Watched()
    for _ in 0..<5 {
      // Each with a thread of its own, which is still at it when the next one begins.
      let control = CaptureControl(capturer, frameRate: 30)
      try await control.initialise()
      _ = control.start()
    }
    try await eventually("its end", state: { "\(capturer.calls)" }) { capturer.calls.last == "release" }
    #expect(capturer.collisions == 0)
    let lives = capturer.calls.split(separator: "release").map { Array($0) }
    #expect(lives.count == 5)
    // A start may have been taken back before its turn came.
    for life in lives { #expect(life == ["init"] || life == ["init", "start", "stop"]) }
  }

  @Test func theLastOfTwoPicturesThatComeTooFastIsSent() throws {
    let consumer = VideoCaptureConsumer()
    consumer.open(frameRate: 10)
    let format = VideoFormat(.i420, width: 16, height: 16)
    let start = MonotonicClock.now().nanoseconds
    for luma in 0..<3 {
      let picture = [UInt8](repeating: UInt8(100 + luma), count: 384)
      try consumer.consumeFrame(
        picture.span.bytes, format: format, timestamp: .nanoseconds(start + Int64(luma)))
    }
    func next() -> UInt8? {
      if case .frame(let frame) = consumer.next(until: MonotonicClock.now() + .seconds(60)) {
        frame.y[0]
      } else {
        nil
      }
    }
    #expect(next() == 100)
    // Nothing follows it, so its turn comes.
    #expect(next() == 102)
    #expect(consumer.statistics.framesConsumed == 2 && consumer.statistics.framesDropped == 1)
    // What is closed keeps nothing for later.
    try consumer.consumeFrame([UInt8](repeating: 7, count: 384).span.bytes, format: format)
    consumer.close()
    consumer.open(frameRate: 10)
    guard case .notYet = consumer.next(until: .zero) else {
      Issue.record("a picture of before")
      return
    }
  }

  // MARK: Sound devices

  private final class Device: AudioDevice {
    struct State {
      var bus: AudioBus?
      var calls: [String] = []
    }

    /// The end of capture waits for it.
    let gate = Semaphore()
    let state = Lock(State())
    let captureIsAvailable = true
    let renderingIsAvailable = false
    var calls: [String] { state.withLock { $0.calls } }
    var bus: AudioBus? { state.withLock { $0.bus } }

    func setAudioBus(_ bus: AudioBus?) {
      state.withLock {
        $0.bus = bus
        $0.calls.append(bus == nil ? "no bus" : "bus")
      }
    }
    func startCapture() { state.withLock { $0.calls.append("capture") } }
    func stopCapture() {
      _ = gate.wait(until: MonotonicClock.now() + .seconds(60))
      state.withLock { $0.calls.append("no capture") }
    }
    func startRendering() {}
    func stopRendering() {}
  }

  @Test func aSoundDeviceGoesFromSessionToSession() async throws {
    let device = Device()
    let notices = Lock<[String]>([])
    func control() throws -> AudioDeviceControl {
      try AudioDeviceControl(device) { text in notices.withLock { $0.append(text) } }
    }
    let first = try control()
    try #require(first.bus.source).start(at: .zero)
    try await eventually("capture") { device.calls == ["bus", "capture"] }
    // Somebody who wants it although it is in use.
    let stranger = try control()
    try await eventually("a refusal") { !notices.withLock { $0.isEmpty } }
    #expect(
      notices.withLock { $0 } == ["Device: another session has it: silence is sent, nothing is heard"])
    stranger.detach()
    // The first session has been left, and is about to end.
    first.leave()
    let second = try control()
    try #require(second.bus.source).start(at: .zero)
    first.detach()
    device.gate.post()
    try await eventually("the second's capture", state: { "\(device.calls)" }) {
      device.calls == ["bus", "capture", "no capture", "no bus", "bus", "capture"]
    }
    #expect(device.bus === second.bus)
    #expect(notices.withLock { $0.count } == 1)
    device.gate.post()
    second.detach()
    try await eventually("its end") { device.calls.last == "no bus" }
  }
}
