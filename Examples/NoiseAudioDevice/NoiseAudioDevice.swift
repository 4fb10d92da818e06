import Foundation
import OTKit
import Synchronization

/// A microphone that hears white noise, and a loudspeaker that writes to a WAV file.
final class NoiseAudioDevice: AudioDevice {
  private struct State {
    var bus: AudioBus?
    /// Which threads they are that capture and play; nil: none.
    var capture: UUID?
    var rendering: UUID?
  }

  let captureFormat = AudioDeviceFormat(sampleRate: 48_000, channels: 1)
  let renderFormat = AudioDeviceFormat(sampleRate: 48_000, channels: 1)
  let captureIsAvailable = true
  let renderingIsAvailable = true
  private let file: FileHandle
  private let state = Mutex(State())

  init(path: String) throws {
    guard FileManager.default.createFile(atPath: path, contents: Self.header),
      let file = FileHandle(forWritingAtPath: path)
    else { throw CocoaError(.fileWriteUnknown) }
    try file.seekToEnd()
    self.file = file
  }

  func setAudioBus(_ bus: AudioBus?) { state.withLock { $0.bus = bus } }

  func startCapture() {
    start(\.capture) { bus in
      // 10 ms at -17 dBFS.
      let noise = (0..<480).map { _ in Int16.random(in: -8192...8192) }
      bus.writeCaptureData(noise.span)
    }
  }

  func stopCapture() { stop(\.capture) }

  func startRendering() {
    start(\.rendering) { [file] bus in
      var samples = [Int16](repeating: 0, count: 480)
      var span = samples.mutableSpan
      bus.readRenderData(&span)
      try? file.write(contentsOf: samples.withUnsafeBytes { Data($0) })
    }
  }

  func stopRendering() { stop(\.rendering) }

  /// Has a thread do something every 10 ms, until it is not the one any more.
  private func start(
    _ which: WritableKeyPath<State, UUID?> & Sendable, _ body: @escaping @Sendable (AudioBus) -> Void
  ) {
    let identifier = UUID()
    state.withLock { $0[keyPath: which] = identifier }
    Thread.detachNewThread { [self] in
      var due = Date()
      while let bus = state.withLock({ $0[keyPath: which] == identifier ? $0.bus : nil }) {
        body(bus)
        due += 0.010
        Thread.sleep(until: due)
      }
    }
  }

  private func stop(_ which: WritableKeyPath<State, UUID?> & Sendable) {
    state.withLock { $0[keyPath: which] = nil }
  }

  /// Of a WAV file whose length is not known yet: 16 bits, 48 kHz, one channel.
  private static let header: Data = {
    var header = Data("RIFF".utf8)
    func add(_ values: UInt32...) { for value in values { header.append(contentsOf: value.bytes) } }
    add(.max)
    header.append(contentsOf: "WAVEfmt ".utf8)
    add(16, 1 | 1 << 16, 48_000, 96_000, 2 | 16 << 16)
    header.append(contentsOf: "data".utf8)
    add(.max)
    return header
  }()
}

extension UInt32 {
  fileprivate var bytes: [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: self >> ($0 * 8)) } }
}

/// Publishes white noise, and saves all that is said in the session.
///
///     otchat serve &
///     swift run NoiseAudioDevice http://127.0.0.1:8080 heard.wav
@main
struct Example {
  static func main() async throws {
    let arguments = CommandLine.arguments
    guard arguments.count == 3 else { return print("NoiseAudioDevice SERVER FILE.wav") }
    let credentials = try await Credentials.fetch(from: arguments[1])
    let device = try NoiseAudioDevice(path: arguments[2])
    let session = Session(credentials, configuration: .init(audioDevice: device))
    try await session.connect(token: credentials.token)
    try await session.publish(Publisher(.init(name: "White noise", videoSources: [])))
    for await event in session.events {
      print(event)
      if case .streamCreated(let stream) = event, stream.hasAudio {
        try await session.subscribe(to: stream)
      }
    }
  }
}
