import Base
import Codecs
import CommandLineKit
import FoundationEssentials
import Glibc
import MediaIO
import Terminal

/// `otchat devices --test`: the camera's picture, how loud the microphone is, a tone from the loudspeaker.
struct DeviceTest {
  private static let size = VideoSize(width: 640, height: 480)
  /// Without a terminal it ends by itself.
  private static let duration = Duration.seconds(3)
  private let environment = ProcessInfo.processInfo.environment

  /// Counts pictures, and shows them where there is a terminal.
  private final class Viewer: VideoSink {
    let count = Lock(0)
    let display: CallDisplay?

    init(_ display: CallDisplay?) { self.display = display }

    func render(_ frame: VideoFrame) {
      count.withLock { $0 += 1 }
      display?.show(frame, from: .own)
    }
  }

  func run() async throws {
    let capabilities = TerminalCapabilities(environment: environment)
    let (leaving, leave) = AsyncStream.makeStream(of: Void.self)
    var display: CallDisplay?
    if isatty(STDIN_FILENO) == 1, isatty(STDOUT_FILENO) == 1, capabilities.addressable {
      display = CallDisplay(
        device: try TerminalDevice(), capabilities: capabilities,
        style: capabilities.unicode ? .symbols : .ascii, state: CallState(ownName: "device test")
      ) { command in
        if command == .quit || command == .interrupt { leave.yield() }
      }
    }
    defer { display?.stop() }
    let (noted, shown) = (NoticeList(), display)
    let notice: @Sendable (String) -> Void = { text in
      noted.add(text)
      shown?.send(.notice(text))
    }
    let viewer = Viewer(display)
    let pipeline = VideoPublishPipeline(
      source: try makeCamera(notice), size: Self.size, frameRate: 30, maximumBitrate: 1_000_000,
      output: { _ in })
    pipeline.setWatched(false)
    pipeline.setLocalRenderer(viewer)
    let engine = AudioEngine(
      source: try AudioSourceSpecification.automatic.makeSource(notice: notice), sink: nil, output: { _ in })
    var tone: TonePlayer?
    if let sink = try AudioSinkSpecification.automatic.makeSink(notice: notice) {
      tone = TonePlayer(sink: sink)
    }
    try pipeline.start()
    try engine.start()
    defer {
      tone?.stop()
      engine.stop()
      pipeline.stop()
    }
    display?.send(.connection(.connected))
    display?.send(.notice("every other second there should be a tone; q leaves"))
    let loudest = Lock(-127.0)
    let meter = Task { [display] in
      while (try? await Task.sleep(for: .milliseconds(200))) != nil {
        let level = engine.statistics.audioLevel
        loudest.withLock { $0 = max($0, level) }
        display?.send(.notice("microphone \(Self.bar(level))"))
      }
    }
    defer { meter.cancel() }
    let began = MonotonicClock.now()
    if display == nil {
      try await Task.sleep(for: Self.duration)
    } else {
      for await _ in leaving { break }
    }
    guard display == nil else { return }
    let seconds = (MonotonicClock.now() - began).seconds
    let rate = Double(viewer.count.withLock { $0 }) / seconds
    var lines = noted.texts
    lines.append("picture: \(pipeline.statistics.sourceName), \(rate.fixed(1)) a second")
    let level = loudest.withLock { $0 }
    lines.append("microphone: \(engine.statistics.sourceName), \(Self.bar(level)) at the loudest")
    lines.append(
      tone == nil ? "loudspeaker: none" : "loudspeaker: a tone of \(Int(TonePlayer.hertz)) Hz was played")
    Output.write(lines.map { $0 + "\n" }.joined())
  }

  private func makeCamera(_ notice: (String) -> Void) throws(SourceError) -> sending any VideoSource {
    let source = try VideoSourceSpecification.automatic.makeSource(
      size: Self.size, frameRate: 30, notice: notice)
    guard let source else { throw .noDevice(.camera, name: nil, choices: []) }
    return source
  }

  /// `######····  -23 dB`: a tenth for each 6 dB.
  static func bar(_ decibels: Double) -> String {
    let filled = min(max(Int(((decibels + 60) / 6).rounded()), 0), 10)
    let bar = String(repeating: "#", count: filled) + String(repeating: ".", count: 10 - filled)
    return "\(bar) \(Int(decibels.rounded())) dB"
  }
}

/// What became of devices while they were opened.
private final class NoticeList: Sendable {
  private let list = Lock<[String]>([])
  var texts: [String] { list.withLock { $0 } }
  func add(_ text: String) { list.withLock { $0.append(text) } }
}
