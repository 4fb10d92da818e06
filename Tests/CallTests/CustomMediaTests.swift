import Base
import Glibc
import OTKit
import TestSupport
import Testing

extension CallTests {
  /// Pictures and sound of a program's own, through whole calls.
  @Suite struct CustomMediaTests {
    @Test(.timeLimit(.minutes(10))) func aCapturersPicturesArrive() async throws {
      let server = try await Server.start()
      let (a, b) = (try await Participant.join(server), try await Participant.join(server))
      let capturer = BarsCapturer()
      let publisher = try Publisher(.init(name: "A", audioSource: "none"), videoCapturer: capturer)
      try await a.session.publish(publisher)
      let stream = try await b.stream(named: "A")
      #expect(stream.videoDimensions?.width == 175 && stream.videoDimensions?.height == 143)
      let renderer = Renderer()
      let subscriber = try await b.session.subscribe(to: stream)
      subscriber.setVideoRenderer(renderer)

      // Lying on its left side in memory: its bright left half was its lower half.
      try await eventually("pictures", state: { "\(renderer.last ?? [])" }) {
        renderer.isLast(width: 143, height: 175, bright: .left)
      }
      #expect(renderer.isUntinted)
      capturer.show(.argb)
      try await eventually("another size", state: { "\(renderer.last ?? [])" }) {
        renderer.isLast(width: 90, height: 64, bright: .lower)
      }

      // What is wrong is counted, and changes nothing.
      capturer.show(.nonsense)
      let before = try #require(publisher.captureStatistics).framesRejected
      try await eventually("rejected pictures") {
        (publisher.captureStatistics?.framesRejected ?? 0) >= before + 5
      }
      capturer.show(.nv12)
      try await eventually("pictures again") { renderer.isLast(width: 143, height: 175, bright: .left) }

      // Video off: it stops, and what comes all the same does no harm.
      await publisher.publishVideo(false)
      try await eventually("a stop") { !capturer.isCaptureStarted }
      try await eventually("black", state: { "\(renderer.last ?? [])" }) { renderer.isDark }
      let late = try #require(publisher.captureStatistics).framesRejected
      try await eventually("late pictures") {
        (publisher.captureStatistics?.framesRejected ?? 0) >= late + 5
      }
      #expect(renderer.isDark)
      await publisher.publishVideo(true)
      try await eventually("pictures after the pause") {
        renderer.isLast(width: 143, height: 175, bright: .left)
      }

      // Another one, then the test pattern.
      let other = BarsCapturer(.argb)
      try await publisher.setVideoCapturer(other)
      try await eventually("the other one's") { renderer.isLast(width: 90, height: 64, bright: .lower) }
      try await eventually("the first one's release") { capturer.isReleased }
      try await publisher.setVideoCapturer(nil)
      try await eventually("the test pattern") { renderer.last?.prefix(2) == [640, 480] }
      #expect(publisher.videoCapturer == nil)
      try await eventually("the other one's release") { other.isReleased }
      let warnings = a.events.filter { $0.name == "warning" || $0.name == "error" }
      #expect(warnings.isEmpty, "\(warnings)")

      for one in [a, b] { await one.session.disconnect() }
      await server.stop()
    }

    @Test(.timeLimit(.minutes(10))) func aCapturerThatFailsIsToldOfAndTheCallGoesOn() async throws {
      let server = try await Server.start()
      let (a, b) = (try await Participant.join(server), try await Participant.join(server))
      let broken = BarsCapturer()
      broken.breaks()
      let refused = try Publisher(.init(name: "A"), videoCapturer: broken)
      await #expect(
        throws: OpenTokError.mediaUnavailable(
          detail: "BarsCapturer: no film", hint: nil, exitCode: .inputMissing)
      ) {
        try await a.session.publish(refused)
      }
      #expect(refused.streamID == nil)

      let capturer = BarsCapturer()
      let publisher = try Publisher(.init(name: "A", audioSource: "tone:440"), videoCapturer: capturer)
      try await a.session.publish(publisher)
      let stream = try await b.stream(named: "A")
      let renderer = Renderer()
      try await b.session.subscribe(to: stream).setVideoRenderer(renderer)
      try await eventually("pictures") { renderer.isLast(width: 143, height: 175, bright: .left) }
      capturer.fail("the film is torn")
      try await a.waitFor("a warning") { event in
        if case .warning("BarsCapturer: the film is torn") = event { true } else { nil }
      }
      try await eventually("black") { renderer.isDark }
      try await eventually("sound goes on") {
        abs((await b.subscriberStatistics(of: stream.id)?.audio["toneHz"] ?? 0) - 440) < 3
      }
      try await publisher.setVideoCapturer(capturer)
      try await eventually("pictures again") { renderer.isLast(width: 143, height: 175, bright: .left) }
      #expect(!capturer.isReleased)
      try await publisher.setVideoCapturer(BarsCapturer(.argb))
      try await eventually("another one's pictures") {
        renderer.isLast(width: 90, height: 64, bright: .lower)
      }
      try await a.session.unpublish(publisher)
      // The same again.
      try await publisher.setVideoCapturer(capturer)
      try await a.session.publish(publisher)
      for one in [a, b] { await one.session.disconnect() }
      try await eventually("its release") { capturer.isReleased }
      await server.stop()
    }

    @Test(.timeLimit(.minutes(10))) func devicesOfAnyRateHearEachOther() async throws {
      let server = try await Server.start()
      let devices = [ToneDevice(hertz: 500, rate: 48_000, channels: 2), ToneDevice(hertz: 800, rate: 16_000)]
      var all: [Participant] = []
      for (index, device) in devices.enumerated() {
        let one = Participant(server) { $0.audioDevice = device }
        try await one.session.connect(token: server.token())
        try await one.session.publish(Publisher(.init(name: "\(index)", videoSources: [])))
        all.append(one)
      }
      for (index, one) in all.enumerated() {
        try await one.session.subscribe(to: try await one.stream(named: "\(1 - index)"))
      }
      for (index, device) in devices.enumerated() {
        let wanted = devices[1 - index].hertz
        try await eventually("\(wanted) Hz", state: { "\(device.heardHertz)" }) {
          abs(device.heardHertz - wanted) < 10
        }
      }
      try await eventually("its level, and its own 20 ms of delay") {
        let statistics = await all[0].session.statistics()
        return abs((statistics.publishers.first?.audio["audioLevel"] ?? 0) + 12) < 2
          && (statistics.playout["playoutDelay"] ?? 0) >= 0.025
      }
      for one in all { await one.session.disconnect() }
      for device in devices {
        try await eventually("its end", state: { "\(device.calls)" }) { device.calls.last == "no bus" }
        #expect(device.calls.first == "bus")
        for what in ["capture", "render"] { #expect(device.calls.count { $0 == what } == 1) }
        for what in ["no capture", "no render"] { #expect(device.calls.count { $0 == what } == 1) }
      }
      await server.stop()
    }
  }
}

/// Pictures of two halves, in forms that are hard to take, also when nobody wants them.
private final class BarsCapturer: VideoCapturer {
  enum Form { case nv12, argb, nonsense }

  struct Broken: Error, CustomStringConvertible { let description = "no film" }

  private struct State {
    var form: Form
    var consumer: VideoCaptureConsumer?
    var isStarted = false
    var isBroken = false
    var isReleased = false
  }

  let captureSettings = VideoFormat(.nv12, width: 175, height: 143, framesPerSecond: 20)
  /// 175x143, rows of 192 bytes: dark above, bright below.
  private let luma = [UInt8](repeating: 40, count: 192 * 72) + [UInt8](repeating: 200, count: 192 * 71)
  private let chroma = [UInt8](repeating: 128, count: 192 * 72)
  /// 90x64: black above, white below.
  private let pixels = [UInt32](repeating: 0, count: 90 * 32) + [UInt32](repeating: .max, count: 90 * 32)
  private let state: Lock<State>

  init(_ form: Form = .nv12) { state = Lock(State(form: form)) }

  var isCaptureStarted: Bool { state.withLock { $0.isStarted } }
  var isReleased: Bool { state.withLock { $0.isReleased } }
  func show(_ form: Form) { state.withLock { $0.form = form } }
  func breaks() { state.withLock { $0.isBroken = true } }
  func fail(_ reason: String) { state.withLock { $0.consumer }?.fail(reason) }

  func initCapture(_ consumer: VideoCaptureConsumer) throws {
    let isBroken = state.withLock { state in
      state.consumer = consumer
      state.isReleased = false
      return state.isBroken
    }
    if isBroken { throw Broken() }
    _ = MediaThread(name: "bars") { [self] in
      while !isReleased {
        deliver(to: consumer)
        usleep(30_000)
      }
    }
  }

  func startCapture() { state.withLock { $0.isStarted = true } }
  func stopCapture() { state.withLock { $0.isStarted = false } }
  func releaseCapture() { state.withLock { $0.isReleased = true } }

  private func deliver(to consumer: VideoCaptureConsumer) {
    switch state.withLock({ $0.form }) {
    case .nv12:
      let (luma, chroma) = (luma, chroma)
      let format = VideoFormat(.nv12, width: 175, height: 143, bytesPerRow: [192, 192])
      try? consumer.consumeFrame(
        planes: luma.span.bytes, chroma.span.bytes, format: format, orientation: .left)
    case .argb:
      let pixels = pixels
      try? consumer.consumeFrame(
        pixels.span.bytes, format: VideoFormat(.argb, width: 90, height: 64))
    case .nonsense:
      let bytes: [UInt8] = [1, 2, 3]
      try? consumer.consumeFrame(
        bytes.span.bytes, format: VideoFormat(.i420, width: 4000, height: 4000))
    }
  }
}

/// Remembers the means of the last picture's four quarters, of every eighth sample each way.
private final class Renderer: VideoRenderer {
  enum Half { case left, lower }

  private struct Seen {
    var picture: [Int] = []
    var tint = 0
  }

  private let seen = Lock(Seen())

  func renderVideoFrame(_ frame: Picture) {
    frame.withPlanes { y, u, v in
      func mean(_ plane: Picture.Plane, _ columns: Range<Int>, _ rows: Range<Int>) -> Int {
        var (sum, count) = (0, 0)
        for row in stride(from: rows.lowerBound, to: rows.upperBound, by: 8) {
          for column in stride(from: columns.lowerBound, to: columns.upperBound, by: 8) {
            sum += Int(plane.bytes[row * plane.stride + column])
            count += 1
          }
        }
        return sum / max(1, count)
      }
      let (halfWidth, halfHeight) = (y.width / 2, y.height / 2)
      let means = [0..<halfHeight, halfHeight..<y.height].flatMap { rows in
        [0..<halfWidth, halfWidth..<y.width].map { mean(y, $0, rows) }
      }
      let tint = [u, v].map { abs(mean($0, 0..<$0.width, 0..<$0.height) - 128) }.max() ?? 0
      seen.withLock { $0 = Seen(picture: [frame.width, frame.height] + means, tint: tint) }
    }
  }

  /// Width, height, means of the quarters: above left and right, below left and right.
  var last: [Int]? { seen.withLock { $0.picture.isEmpty ? nil : $0.picture } }
  var isUntinted: Bool { seen.withLock { $0.tint <= 2 } }
  var isDark: Bool { last?.dropFirst(2).allSatisfy { $0 < 30 } == true }

  func isLast(width: Int, height: Int, bright: Half) -> Bool {
    guard let last, last[0] == width, last[1] == height else { return false }
    let isBright = last[2...].map { $0 > 120 }
    return isBright == (bright == .left ? [true, false, true, false] : [false, false, true, true])
  }
}

/// Hums, and measures what it hears, at a rate of its own. Cheap, so that it keeps up where everything is slow.
private final class ToneDevice: AudioDevice {
  private struct State {
    var bus: AudioBus?
    var calls: [String] = []
    var isEnded = false
  }

  private struct Rendering {
    /// 10 ms.
    var samples: [Int16]
    var last: Int16 = 0
    var frames = 0
    var periods = 0
    var heardHertz = 0.0

    mutating func take(from bus: AudioBus, _ format: AudioDeviceFormat) {
      var span = samples.mutableSpan
      bus.readRenderData(&span)
      for index in stride(from: 0, to: samples.count, by: format.channels) {
        frames += 1
        if last < 0, samples[index] >= 0 { periods += 1 }
        last = samples[index]
        guard periods == 50 else { continue }
        heardHertz = Double(periods * format.sampleRate) / Double(frames)
        (frames, periods) = (0, 0)
      }
    }
  }

  let hertz: Double
  let captureFormat: AudioDeviceFormat
  let renderFormat: AudioDeviceFormat
  let captureIsAvailable = true
  let renderingIsAvailable = true
  let estimatedRenderDelay = Duration.milliseconds(20)
  /// 10 ms, which begin where they end.
  private let tone: [Int16]
  private let state = Lock(State())
  private let rendering: Lock<Rendering>

  /// - Parameter hertz: a multiple of 100.
  init(hertz: Double, rate: Int, channels: Int = 1) {
    self.hertz = hertz
    captureFormat = AudioDeviceFormat(sampleRate: rate, channels: channels)
    renderFormat = captureFormat
    tone = (0..<rate / 100 * channels).map { index in
      Int16(11_585 * sin(2 * .pi * hertz * Double(index / channels) / Double(rate)))
    }
    rendering = Lock(Rendering(samples: tone))
  }

  var calls: [String] { state.withLock { $0.calls } }

  /// Over the last 50 periods that were counted; 0 before.
  var heardHertz: Double { rendering.withLock { $0.heardHertz } }

  func setAudioBus(_ bus: AudioBus?) {
    state.withLock {
      $0.bus = bus
      $0.calls.append(bus == nil ? "no bus" : "bus")
      $0.isEnded = bus == nil
    }
  }

  func startCapture() {
    note("capture")
    every10ms { [tone] bus in bus.writeCaptureData(tone.span) }
  }

  func startRendering() {
    note("render")
    every10ms { [self] bus in rendering.withLock { $0.take(from: bus, renderFormat) } }
  }

  func stopCapture() { note("no capture") }
  func stopRendering() { note("no render") }

  private func note(_ call: String) { state.withLock { $0.calls.append(call) } }

  private func every10ms(_ body: @escaping @Sendable (AudioBus) -> Void) {
    guard let bus = state.withLock({ $0.bus }) else { return }
    _ = MediaThread(name: "device") { [self] in
      let sleeper = Semaphore()
      var due = MonotonicClock.now()
      while !state.withLock({ $0.isEnded }) {
        body(bus)
        due += .milliseconds(10)
        _ = sleeper.wait(until: due)
      }
    }
  }
}
