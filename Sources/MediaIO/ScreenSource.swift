import Base
import CAV
import Codecs
import Glibc

/// `screen[:DISPLAY]`: a whole X11 screen with its cursor, through libavdevice (XCB, shared memory).
///
/// A screen that stands still costs next to nothing: unchanged pictures go on for a second, in which the
/// encoder makes them sharp, and then once a second.
final class ScreenSource: VideoSource {
  /// Pictures a second, at most.
  static let maximumFrameRate = 15

  let name: String
  private let display: String
  private let frameRate: Int
  private let scaler: VideoScaler
  private var container: UnsafeMutablePointer<AVFormatContext>?
  private var packet: UnsafeMutablePointer<AVPacket>?
  private var frame: UnsafeMutablePointer<AVFrame>?
  private var last: [UInt8] = []
  private var lastChange = Instant.zero
  private var lastShown = Instant.zero

  private static let sharpening = Duration.seconds(1)
  private static let stillInterval = Duration.seconds(1)

  /// Opens the screen.
  /// - Parameter display: as in `DISPLAY`; nil: that one.
  init(_ display: String?, size: VideoSize, frameRate: Int) throws(SourceError) {
    guard let display = display ?? Self.defaultDisplay else {
      throw .noDevice(.screen, name: nil, choices: [])
    }
    self.display = display
    self.frameRate = min(max(frameRate, 1), Self.maximumFrameRate)
    name = "screen \(display)"
    scaler = VideoScaler(size: size)
    if let reason = MediaLibrary.fault ?? Self.libraryFault { throw .libraryMissing(reason: reason) }
    packet = av_packet_alloc()
    frame = av_frame_alloc()
    try open()
  }

  deinit {
    guard MediaLibrary.fault == nil else { return }
    stop()
    av_packet_free(&packet)
    av_frame_free(&frame)
  }

  static var defaultDisplay: String? {
    getenv("DISPLAY").map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
  }

  /// Loads libavdevice with the first screen; nil if that worked.
  private static let libraryFault: String? = otchat_avdevice_load().map { String(cString: $0) }

  private func open() throws(SourceError) {
    var options: OpaquePointer?
    defer { av_dict_free(&options) }
    av_dict_set(&options, "framerate", String(frameRate), 0)
    av_dict_set(&options, "draw_mouse", "1", 0)
    guard let format = av_find_input_format("x11grab") else {
      throw .libraryMissing(reason: "libavdevice knows no X11 screens")
    }
    let status = avformat_open_input(&container, display, format, &options)
    guard status == 0 else {
      container = nil
      throw .noDevice(.screen, name: display, choices: Screens.list().map(\.display))
    }
  }

  func start(at now: Instant) throws(SourceError) { if container == nil { try open() } }

  func stop() { if container != nil { avformat_close_input(&container) } }

  func next(until deadline: Instant) -> VideoSourceOutput {
    guard let container, let packet, let frame, let stream = container.pointee.streams?.pointee,
      let parameters = stream.pointee.codecpar
    else { return .ended }
    // Waits for the next picture's time, at most a fifteenth of a second.
    guard av_read_frame(container, packet) >= 0 else {
      return .failed(.deviceFailed(.screen, name: display, reason: "it is gone"))
    }
    defer { av_packet_unref(packet) }
    let now = MonotonicClock.now()
    let (width, height) = (Int(parameters.pointee.width), Int(parameters.pointee.height))
    let size = Int(packet.pointee.size)
    guard let data = packet.pointee.data, width > 0, height > 0, size >= 4 * width * height else {
      return .failed(.deviceFailed(.screen, name: display, reason: "it has no 24-bit colours"))
    }
    if last.count != size || memcmp(last, data, size) != 0 {
      last = [UInt8](UnsafeBufferPointer(start: data, count: size))
      lastChange = now
    }
    guard now - lastChange < Self.sharpening || now - lastShown >= Self.stillInterval else { return .notYet }
    lastShown = now
    frame.pointee.format = AV_PIX_FMT_BGR0.rawValue
    frame.pointee.width = Int32(width)
    frame.pointee.height = Int32(height)
    frame.pointee.data.0 = data
    frame.pointee.linesize.0 = Int32(size / height)
    defer { frame.pointee.data.0 = nil }
    guard let picture = scaler.scale(frame, time: now) else {
      return .failed(.deviceFailed(.screen, name: display, reason: "it has no 24-bit colours"))
    }
    return .frame(picture)
  }
}

/// The X11 screens of this machine.
package enum Screens {
  package struct Screen: Sendable, Equatable {
    /// As in `DISPLAY`.
    package var display: String
    /// Whether `DISPLAY` names it.
    package var isDefault: Bool
  }

  package static func list() -> [Screen] {
    let own = ScreenSource.defaultDisplay
    var displays: [String] = []
    if let directory = opendir("/tmp/.X11-unix") {
      defer { closedir(directory) }
      while let entry = readdir(directory) {
        let name = withUnsafeBytes(of: &entry.pointee.d_name) {
          String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
        }
        if name.hasPrefix("X"), let number = UInt16(name.dropFirst()) { displays.append(":\(number)") }
      }
    }
    displays.sort { ($0.count, $0) < ($1.count, $1) }
    if let own, !displays.contains(own) { displays.insert(own, at: 0) }
    return displays.map { Screen(display: $0, isDefault: $0 == own) }
  }
}
