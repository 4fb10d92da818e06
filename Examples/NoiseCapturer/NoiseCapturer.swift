import Foundation
import OTKit
import Synchronization

/// Pictures of random colours, fifteen a second. Small ones, as noise is what encoders are worst at.
final class NoiseCapturer: VideoCapturer {
  let captureSettings = VideoFormat(.argb, width: 128, height: 96, framesPerSecond: 15)
  private let consumer = Mutex<VideoCaptureConsumer?>(nil)
  /// Which thread it is that captures; nil: none.
  private let current = Mutex<UUID?>(nil)

  var isCaptureStarted: Bool { current.withLock { $0 != nil } }

  func initCapture(_ consumer: VideoCaptureConsumer) {
    self.consumer.withLock { $0 = consumer }
  }

  func startCapture() {
    let identifier = UUID()
    current.withLock { $0 = identifier }
    Thread.detachNewThread { [self] in capture(as: identifier) }
  }

  func stopCapture() {
    current.withLock { $0 = nil }
  }

  func releaseCapture() {
    consumer.withLock { $0 = nil }
  }

  private func capture(as identifier: UUID) {
    guard let consumer = consumer.withLock({ $0 }) else { return }
    let format = captureSettings
    var pixels = [UInt32](repeating: 0, count: format.width * format.height)
    var state: UInt32 = 1
    var due = Date()
    while current.withLock({ $0 == identifier }) {
      for index in pixels.indices {
        // Marsaglia's xorshift: good enough for the eye, and fast.
        state ^= state << 13
        state ^= state >> 17
        state ^= state << 5
        pixels[index] = state
      }
      // It is refused when it comes after `stopCapture`, which does no harm.
      try? consumer.consumeFrame(pixels.span.bytes, format: format)
      due = max(due + 1 / Double(format.framesPerSecond), Date())
      Thread.sleep(until: due)
    }
  }
}

/// Publishes random pixels to a session.
///
///     otchat serve &
///     swift run NoiseCapturer http://127.0.0.1:8080
@main
struct Example {
  static func main() async throws {
    let server = CommandLine.arguments.dropFirst().first ?? "http://127.0.0.1:8080"
    let credentials = try await Credentials.fetch(from: server)
    let session = Session(credentials)
    try await session.connect(token: credentials.token)
    let publisher = try Publisher(.init(name: "Noise", audioSource: "none"), videoCapturer: NoiseCapturer())
    try await session.publish(publisher)
    for await event in session.events { print(event) }
  }
}
