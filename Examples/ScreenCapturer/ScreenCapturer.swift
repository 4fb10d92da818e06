import CAV
import Foundation
import OTKit
import Synchronization

struct Failure: Error, CustomStringConvertible { let description: String }

/// An X11 screen, by libavdevice: pixels are handed on where they lie, in the form in which X11 has them.
final class ScreenCapturer: VideoCapturer {
  private enum Phase { case stopped, running, stopping }

  /// All that one thread at a time uses.
  private final class Grabber: @unchecked Sendable {
    // Safe to send: made on the capturer's thread in `initCapture`, then used by the capturing thread alone, which
    // has ended when the next one begins.
    var input: UnsafeMutablePointer<AVFormatContext>?
    var format: VideoFormat

    init(_ display: String, framesPerSecond: Int) throws {
      if let reason = otchat_av_load() ?? otchat_avdevice_load() {
        throw Failure(description: "screens need ffmpeg's libraries: \(String(cString: reason))")
      }
      var options: OpaquePointer?
      defer { av_dict_free(&options) }
      av_dict_set(&options, "framerate", String(framesPerSecond), 0)
      guard avformat_open_input(&input, display, av_find_input_format("x11grab"), &options) == 0,
        let screen = input?.pointee.streams?.pointee?.pointee.codecpar?.pointee
      else {
        throw Failure(description: "there is no X11 screen \"\(display)\"; DISPLAY names it, such as :0")
      }
      let (width, height) = (Int(screen.width), Int(screen.height))
      format = VideoFormat(.argb, width: width, height: height, framesPerSecond: framesPerSecond)
    }

    deinit { avformat_close_input(&input) }

    /// Waits until the next picture is due.
    func next(_ packet: UnsafeMutablePointer<AVPacket>?, _ consumer: VideoCaptureConsumer) throws {
      guard let packet, av_read_frame(input, packet) >= 0 else {
        throw Failure(description: "the screen is gone")
      }
      defer { av_packet_unref(packet) }
      let pixels = UnsafeRawBufferPointer(start: packet.pointee.data, count: Int(packet.pointee.size))
      try? consumer.consumeFrame(pixels.bytes, format: format)
    }
  }

  private struct Capture {
    let grabber: Grabber
    let consumer: VideoCaptureConsumer
  }

  private let display: String
  private let capture = Mutex<Capture?>(nil)
  private let phase = Mutex(Phase.stopped)

  init(display: String) { self.display = display }

  var captureSettings: VideoFormat {
    capture.withLock { $0?.grabber.format } ?? VideoFormat(.argb, width: 640, height: 480)
  }
  var isCaptureStarted: Bool { phase.withLock { $0 == .running } }

  func initCapture(_ consumer: VideoCaptureConsumer) throws {
    let new = Capture(grabber: try Grabber(display, framesPerSecond: 15), consumer: consumer)
    capture.withLock { $0 = new }
  }

  func startCapture() {
    phase.withLock { $0 = .running }
    Thread.detachNewThread { [self] in
      run()
      phase.withLock { $0 = .stopped }
    }
  }

  private func run() {
    guard let capture = capture.withLock({ $0 }) else { return }
    var packet = av_packet_alloc()
    defer { av_packet_free(&packet) }
    do {
      while isCaptureStarted { try capture.grabber.next(packet, capture.consumer) }
    } catch { capture.consumer.fail("\(error)") }
  }

  func stopCapture() {
    phase.withLock { if $0 == .running { $0 = .stopping } }
    // Whoever captures next needs what it uses.
    while phase.withLock({ $0 != .stopped }) { Thread.sleep(forTimeInterval: 0.005) }
  }

  func releaseCapture() { capture.withLock { $0 = nil } }
}

/// Publishes an X11 screen: `swift run ScreenCapturer http://127.0.0.1:8080 [:0]`.
@main
struct Example {
  static func main() async throws {
    let arguments = CommandLine.arguments
    guard arguments.count >= 2 else { return print("ScreenCapturer SERVER [DISPLAY]") }
    let display = arguments.count > 2 ? arguments[2] : ProcessInfo.processInfo.environment["DISPLAY"] ?? ""
    let credentials = try await Credentials.fetch(from: arguments[1])
    let session = Session(credentials)
    try await session.connect(token: credentials.token)
    do {
      try await session.publish(
        Publisher(
          .init(name: "Screen", audioSource: "none", videoType: .screen),
          videoCapturer: ScreenCapturer(display: display)))
    } catch {
      await session.disconnect()
      print("ScreenCapturer: \(error.message)")
      exit(error.exitCode.rawValue)
    }
    for await event in session.events { print(event) }
  }
}
