import Base
import Codecs
import MediaIO
import TestSupport
import Testing

@testable import OTKit

/// Notes what it is told, and does with it what a test says.
private final class ScriptedCapturer: VideoCapturer {
  struct Refusal: Error, CustomStringConvertible {
    var description: String
  }

  struct State {
    var calls: [String] = []
    var refusesToInitialise = false
    var refusesToStart = false
    var consumer: VideoCaptureConsumer?
    var isStarted = false
  }

  let state = Lock(State())
  /// A start waits for it, if there is one.
  let gate: Semaphore?
  let captureSettings = VideoFormat(.i420, width: 16, height: 16)

  init(gate: Semaphore? = nil) { self.gate = gate }

  var calls: [String] { state.withLock { $0.calls } }
  var isCaptureStarted: Bool { state.withLock { $0.isStarted } }

  func initCapture(_ consumer: VideoCaptureConsumer) throws {
    try state.withLock {
      $0.calls.append("init")
      $0.consumer = consumer
      if $0.refusesToInitialise { throw Refusal(description: "the lens cap is on") }
    }
  }

  func startCapture() throws {
    state.withLock { $0.calls.append("start") }
    if let gate { _ = gate.wait(until: MonotonicClock.now() + .seconds(60)) }
    try state.withLock {
      if $0.refusesToStart { throw Refusal(description: "it is too dark") }
      $0.isStarted = true
    }
  }

  func stopCapture() {
    state.withLock {
      $0.calls.append("stop")
      $0.isStarted = false
    }
  }

  func releaseCapture() { state.withLock { $0.calls.append("release") } }
}

@Suite struct VideoCaptureTests {
  private static let gray = [UInt8](repeating: 128, count: 16 * 16 * 4)
  private static let format = VideoFormat(.i420, width: 16, height: 16)

  private static func consumer(frameRate: Int = 120) -> VideoCaptureConsumer {
    let consumer = VideoCaptureConsumer()
    consumer.open(frameRate: frameRate)
    return consumer
  }

  private static func refusal(_ body: () throws(VideoCaptureError) -> Void) -> VideoCaptureError? {
    do throws(VideoCaptureError) { try body() } catch { return error }
    return nil
  }

  private static func next(_ consumer: VideoCaptureConsumer) -> VideoFrame? {
    if case .frame(let frame) = consumer.next(until: .zero) { frame } else { nil }
  }

  // MARK: Formats

  @Test func formatsKnowTheirMemory() {
    let odd = VideoFormat(.i420, width: 17, height: 19)
    #expect(odd.bytesPerRow == [17, 9, 9])
    #expect((0..<3).map { odd.byteCount(ofPlane: $0) } == [17 * 19, 90, 90])
    let nv12 = VideoFormat(.nv12, width: 17, height: 19, bytesPerRow: [32, 32])
    // The last row's padding is not needed.
    #expect((0..<2).map { nv12.byteCount(ofPlane: $0) } == [32 * 18 + 17, 32 * 9 + 18])
    #expect(nv12.byteCount(ofPlane: 2) == nil)
    #expect(VideoFormat(.argb, width: 640, height: 480).bytesPerRow == [2560])
  }

  private static let nonsense: [(VideoFormat, VideoCaptureError)] = [
    (VideoFormat(.i420, width: 0, height: 16), .unsupportedSize(width: 0, height: 16)),
    (VideoFormat(.nv12, width: 16, height: -1), .unsupportedSize(width: 16, height: -1)),
    (VideoFormat(.argb, width: .max, height: .max), .unsupportedSize(width: .max, height: .max)),
    (VideoFormat(.argb, width: .min, height: 16), .unsupportedSize(width: .min, height: 16)),
    (VideoFormat(.argb, width: 4097, height: 16), .unsupportedSize(width: 4097, height: 16)),
    (VideoFormat(.i420, width: 16, height: 16, bytesPerRow: [16]), .wrongPlaneCount(1, needed: 3)),
    (VideoFormat(.argb, width: 16, height: 16, bytesPerRow: []), .wrongPlaneCount(0, needed: 1)),
    (
      VideoFormat(.i420, width: 16, height: 16, bytesPerRow: [16, 7, 8]),
      .wrongBytesPerRow(7, plane: 1, minimum: 8)
    ),
    (
      VideoFormat(.argb, width: 16, height: 16, bytesPerRow: [-64]),
      .wrongBytesPerRow(-64, plane: 0, minimum: 64)
    ),
    (
      VideoFormat(.nv12, width: 16, height: 16, bytesPerRow: [16, .max]),
      .wrongBytesPerRow(.max, plane: 1, minimum: 16)
    ),
  ]

  @Test func whatMakesNoSenseIsRefusedAndCounted() {
    let consumer = Self.consumer()
    for (format, error) in Self.nonsense {
      #expect(format.byteCount(ofPlane: 0) == nil)
      #expect(
        Self.refusal { () throws(VideoCaptureError) in
          try consumer.consumeFrame(Self.gray.span.bytes, format: format)
        } == error)
    }
    #expect(consumer.statistics.framesRejected == Self.nonsense.count)
    #expect(Self.next(consumer) == nil)
  }

  @Test func memoryThatEndsTooEarlyIsNotRead() {
    let consumer = Self.consumer()
    func tooShort(_ count: Int) -> VideoCaptureError? {
      Self.refusal { () throws(VideoCaptureError) in
        try consumer.consumeFrame([UInt8](repeating: 0, count: count).span.bytes, format: Self.format)
      }
    }
    #expect(tooShort(0) == .planeTooShort(0, plane: 0, needed: 256))
    #expect(tooShort(255) == .planeTooShort(255, plane: 0, needed: 256))
    #expect(tooShort(256) == .planeTooShort(0, plane: 1, needed: 64))
    #expect(tooShort(383) == .planeTooShort(63, plane: 2, needed: 64))
    #expect(tooShort(384) == nil)
    // Planes that are missing altogether.
    let plane = [UInt8](repeating: 0, count: 256)
    #expect(
      Self.refusal { () throws(VideoCaptureError) in
        try consumer.consumeFrame(planes: plane.span.bytes, plane.span.bytes, format: Self.format)
      } == .planeTooShort(0, plane: 2, needed: 64))
    #expect(consumer.statistics.framesRejected == 5)
  }

  // MARK: The consumer

  @Test func picturesAreTakenOnlyWhileTheyAreWanted() throws {
    let consumer = VideoCaptureConsumer()
    func take() -> VideoCaptureError? {
      Self.refusal { () throws(VideoCaptureError) in
        try consumer.consumeFrame(Self.gray.span.bytes, format: Self.format)
      }
    }
    #expect(take() == .notCapturing)
    consumer.open(frameRate: 30)
    #expect(take() == nil)
    consumer.close()
    #expect(take() == .notCapturing)
    // What was not seen is not kept for later.
    consumer.open(frameRate: 30)
    #expect(Self.next(consumer) == nil)
    #expect(consumer.statistics.framesRejected == 2)
  }

  @Test func theNewestPictureWins() throws {
    let consumer = Self.consumer()
    for luma in 1...10 {
      let picture = [UInt8](repeating: UInt8(luma), count: 384)
      let now = MonotonicClock.now().nanoseconds
      // Ten pictures, 50 ms apart, while the encoder is busy.
      try consumer.consumeFrame(
        picture.span.bytes, format: Self.format, timestamp: .nanoseconds(now - Int64(11 - luma) * 50_000_000))
    }
    let frame = try #require(Self.next(consumer))
    #expect(frame.y[0] == 10)
    #expect(Self.next(consumer) == nil)
    #expect(consumer.statistics.framesConsumed == 1 && consumer.statistics.framesDropped == 9)
  }

  @Test func moreThanTheFrameRateIsLeftOut() throws {
    let consumer = Self.consumer(frameRate: 30)
    let start = MonotonicClock.now().nanoseconds - 900_000_000
    var taken = 0
    for index in 0..<60 {
      try consumer.consumeFrame(
        Self.gray.span.bytes, format: Self.format, timestamp: .nanoseconds(start + Int64(index) * 10_000_000))
      if Self.next(consumer) != nil { taken += 1 }
    }
    // Every third of a hundred a second.
    #expect(taken == 20)
    consumer.close()
    #expect(consumer.statistics.framesDropped == 40)
  }

  @Test func timestampsOfAnotherClockCountAsNow() throws {
    let before = MonotonicClock.now()
    let stamp = before - .milliseconds(200)
    for (given, isKept) in [
      (Duration.nanoseconds(stamp.nanoseconds), true), (.zero, false), (.seconds(1 << 40), false),
      (.seconds(-5), false), (.nanoseconds((before - .seconds(2)).nanoseconds), false),
      // What libraries give for "unknown".
      (.nanoseconds(Int64.min), false), (.microseconds(Int64.min), false), (.nanoseconds(Int64.max), false),
    ] {
      let consumer = Self.consumer()
      try consumer.consumeFrame(Self.gray.span.bytes, format: Self.format, timestamp: given)
      let frame = try #require(Self.next(consumer))
      #expect(isKept ? frame.time == stamp : frame.time >= before && frame.time <= MonotonicClock.now())
    }
  }

  @Test func aPictureInPlanesAnywhereIsTheSame() throws {
    let consumer = Self.consumer()
    let luma = [UInt8](repeating: 50, count: 20 * 16)
    let pairs = (0..<8 * 24).map { UInt8($0 % 2 == 0 ? 90 : 200) }
    try consumer.consumeFrame(
      planes: luma.span.bytes, pairs.span.bytes,
      format: VideoFormat(.nv12, width: 18, height: 16, bytesPerRow: [20, 24]), orientation: .right)
    let frame = try #require(Self.next(consumer))
    #expect(frame.width == 16 && frame.height == 18)
    #expect(frame.y[0] == 50 && frame.u[0] == 90 && frame.v[0] == 200)
  }

  /// Formats and memory of any kind, each plane in memory that ends where it says: taken or refused, and never read
  /// beyond.
  @Test func nothingIsReadBeyondItsEnd() throws {
    let consumer = Self.consumer()
    var generator = SeededGenerator(seed: 11)
    var taken = 0
    for _ in 0..<2000 {
      // So that none comes too soon after another.
      consumer.open(frameRate: 120)
      func number(_ range: ClosedRange<Int>) -> Int { .random(in: range, using: &generator) }
      let kind = [VideoFormat.PixelFormat.i420, .nv12, .argb][number(0...2)]
      var format = VideoFormat(kind, width: number(14...40), height: number(14...40))
      if number(0...3) > 0 { format.bytesPerRow = format.bytesPerRow.map { $0 + number(-1...9) } }
      if number(0...50) == 0 { format.bytesPerRow.removeLast() }
      let planes = (0..<3).map { plane in
        [UInt8](repeating: 77, count: max(0, (format.byteCount(ofPlane: plane) ?? 500) - number(0...20) / 20))
      }
      let (y, u, v) = (planes[0], planes[1], planes[2])
      let orientation = [VideoOrientation.up, .down, .left, .right][number(0...3)]
      do {
        if number(0...1) == 0 {
          let whole = (0..<3).reduce(0) { $0 + format.rows(ofPlane: $1) * (format.bytesPerRow.first ?? 0) }
          let bytes = [UInt8](repeating: 1, count: number(0...2 * whole))
          try consumer.consumeFrame(
            bytes.span.bytes, format: format,
            orientation: orientation)
        } else {
          try consumer.consumeFrame(
            planes: y.span.bytes, u.span.bytes, v.span.bytes, format: format,
            orientation: orientation)
        }
      } catch { continue }
      let isTurned = orientation == .left || orientation == .right
      let frame = try #require(Self.next(consumer))
      #expect(frame.width == (isTurned ? format.height : format.width))
      taken += 1
    }
    #expect(taken > 300, "\(taken)")
    #expect(consumer.statistics.framesRejected == 2000 - taken)
  }

  // MARK: The order of calls

  @Test func itIsToldWhatIsWantedInOrder() async throws {
    let capturer = ScriptedCapturer()
    let control = CaptureControl(capturer, frameRate: 30)
    try await control.initialise()
    try await control.initialise()
    #expect(capturer.calls == ["init"])
    let source = CapturerSource(control)
    source.start(at: .zero)
    try await eventually("a start") { capturer.isCaptureStarted }
    // The next stream has begun before the last one has ended.
    let next = CapturerSource(control)
    next.start(at: .zero)
    try await eventually("a start anew") { capturer.calls == ["init", "start", "stop", "start"] }
    source.stop()
    control.release()
    try await eventually("a release") { capturer.calls.suffix(2) == ["stop", "release"] }
    try await control.initialise()
    #expect(capturer.calls == ["init", "start", "stop", "start", "stop", "release", "init"])
  }

  @Test func aSlowStartHoldsNobodyUp() async throws {
    let gate = Semaphore()
    let capturer = ScriptedCapturer(gate: gate)
    let control = CaptureControl(capturer, frameRate: 30)
    try await control.initialise()
    // None of these waits, or the test would.
    for _ in 0..<100 {
      let source = CapturerSource(control)
      source.start(at: .zero)
      #expect(source.framesDropped == 0)
      guard case .notYet = source.next(until: .zero) else {
        Issue.record("a picture from nowhere")
        return
      }
      source.stop()
    }
    control.release()
    gate.post()
    try await eventually("its end") { capturer.calls.last == "release" }
    // What was wanted in between has been left out.
    #expect(capturer.calls.count { $0 == "start" } <= 1)
  }

  /// Whoever waits is answered, also if the stream ends before its turn comes.
  @Test(.timeLimit(.minutes(10))) func nobodyWaitsForEver() async {
    let control = CaptureControl(ScriptedCapturer(), frameRate: 30)
    var answers = 0
    for _ in 0..<300 {
      async let answer: Void? = try? control.initialise()
      await Task.yield()
      control.release()
      _ = await answer
      answers += 1
    }
    #expect(answers == 300)
  }

  @Test func aCapturerThatIsLetGoOfIsReleased() async throws {
    let capturer = ScriptedCapturer()
    do {
      let control = CaptureControl(capturer, frameRate: 30)
      try await control.initialise()
      _ = control.start()
      try await eventually("a start") { capturer.isCaptureStarted }
    }
    try await eventually("its end") { capturer.calls == ["init", "start", "stop", "release"] }
  }

  @Test func whatCannotBeInitialisedSaysWhy() async throws {
    let capturer = ScriptedCapturer()
    capturer.state.withLock { $0.refusesToInitialise = true }
    let control = CaptureControl(capturer, frameRate: 30)
    await #expect(
      throws: OpenTokError.mediaUnavailable(
        detail: "ScriptedCapturer: the lens cap is on", hint: nil, exitCode: .inputMissing)
    ) {
      try await control.initialise()
    }
    capturer.state.withLock { $0.refusesToInitialise = false }
    try await control.initialise()
    #expect(capturer.calls == ["init", "init"])
  }

  @Test func whatCannotBeStartedSaysWhyToo() async throws {
    let capturer = ScriptedCapturer()
    capturer.state.withLock { $0.refusesToStart = true }
    let control = CaptureControl(capturer, frameRate: 30)
    try await control.initialise()
    let source = CapturerSource(control)
    source.start(at: .zero)
    guard case .failed(let error) = source.next(until: MonotonicClock.now() + .seconds(60)) else {
      Issue.record("it did not fail")
      return
    }
    #expect(error.message == "it is too dark")
    source.stop()
    control.release()
    // What has not begun need not be stopped.
    try await eventually("its end") { capturer.calls == ["init", "start", "release"] }
  }
}
