import CV4L2
import Foundation
import OTKit
import Synchronization

/// A camera by the kernel's own interface (V4L2). All that touches it runs on one thread while it is captured.
final class CameraCapturer: VideoCapturer {
  private enum Phase { case stopped, running, stopping }

  struct Failure: Error, CustomStringConvertible {
    let description: String
    init(_ what: String) { description = "\(what) (\(String(cString: strerror(errno))))" }
  }

  let name: String
  private let camera: Int32
  let captureSettings: VideoFormat
  private let consumer = Mutex<VideoCaptureConsumer?>(nil)
  private let phase = Mutex(Phase.stopped)
  /// V4L2's name of "Y, U, Y, V for two points", which nearly every camera can.
  private static let yuyv = UInt32(0x5659_5559)

  init(path: String) throws {
    name = path
    camera = open(path, O_RDWR | O_CLOEXEC)
    guard camera >= 0 else { throw Failure("there is no camera \(path), or none for us") }
    var wanted = v4l2_format()
    wanted.type = V4L2_BUF_TYPE_VIDEO_CAPTURE.rawValue
    (wanted.fmt.pix.width, wanted.fmt.pix.height, wanted.fmt.pix.pixelformat) = (640, 480, Self.yuyv)
    guard otchat_v4l2_s_fmt(camera, &wanted) == 0, wanted.fmt.pix.pixelformat == Self.yuyv else {
      throw Failure("\(path) hands out no YUYV, as cameras do")
    }
    captureSettings = VideoFormat(.nv12, width: Int(wanted.fmt.pix.width), height: Int(wanted.fmt.pix.height))
  }

  deinit { if camera >= 0 { close(camera) } }

  var isCaptureStarted: Bool { phase.withLock { $0 == .running } }
  func initCapture(_ consumer: VideoCaptureConsumer) { self.consumer.withLock { $0 = consumer } }

  func startCapture() {
    guard let consumer = consumer.withLock({ $0 }) else { return }
    phase.withLock { $0 = .running }
    Thread.detachNewThread { [self] in
      do { try capture(consumer) } catch { consumer.fail("\(error)") }
      phase.withLock { $0 = .stopped }
    }
  }

  func stopCapture() {
    phase.withLock { if $0 == .running { $0 = .stopping } }
    // Whoever captures next needs what it uses.
    while phase.withLock({ $0 != .stopped }) { Thread.sleep(forTimeInterval: 0.005) }
  }

  private func capture(_ consumer: VideoCaptureConsumer) throws {
    var request = v4l2_requestbuffers()
    request.type = V4L2_BUF_TYPE_VIDEO_CAPTURE.rawValue
    (request.memory, request.count) = (V4L2_MEMORY_MMAP.rawValue, 4)
    guard otchat_v4l2_reqbufs(camera, &request) == 0 else { throw Failure("somebody else has the camera") }
    var memory: [UnsafeRawBufferPointer] = []
    var type = Int32(V4L2_BUF_TYPE_VIDEO_CAPTURE.rawValue)
    defer {
      _ = otchat_v4l2_streamoff(camera, &type)
      for each in memory { munmap(UnsafeMutableRawPointer(mutating: each.baseAddress), each.count) }
    }
    for index in 0..<request.count {
      var buffer = v4l2_buffer()
      (buffer.type, buffer.memory, buffer.index) = (request.type, request.memory, index)
      guard otchat_v4l2_querybuf(camera, &buffer) == 0,
        let mapped = mmap(nil, Int(buffer.length), PROT_READ, MAP_SHARED, camera, off_t(buffer.m.offset)),
        mapped != MAP_FAILED
      else { throw Failure("no memory to share") }
      memory.append(UnsafeRawBufferPointer(start: mapped, count: Int(buffer.length)))
      guard otchat_v4l2_qbuf(camera, &buffer) == 0 else { throw Failure("it takes no buffer") }
    }
    guard otchat_v4l2_streamon(camera, &type) == 0 else { throw Failure("it does not begin") }
    var picture = [UInt8](repeating: 0, count: captureSettings.width * captureSettings.height * 3 / 2)
    while isCaptureStarted {
      var events = pollfd(fd: camera, events: Int16(POLLIN), revents: 0)
      guard poll(&events, 1, 1000) > 0 else { continue }
      var buffer = v4l2_buffer()
      (buffer.type, buffer.memory) = (request.type, request.memory)
      guard otchat_v4l2_dqbuf(camera, &buffer) == 0 else { throw Failure("it is gone") }
      convert(memory[Int(buffer.index)], into: &picture)
      let taken = Duration.seconds(buffer.timestamp.tv_sec) + .microseconds(buffer.timestamp.tv_usec)
      try? consumer.consumeFrame(picture.span.bytes, format: captureSettings, timestamp: taken)
      guard otchat_v4l2_qbuf(camera, &buffer) == 0 else { throw Failure("it is gone") }
    }
  }

  /// Luma as it is; chroma of every other row. The camera's rows are taken to have no padding.
  private func convert(_ yuyv: UnsafeRawBufferPointer, into picture: inout [UInt8]) {
    let (width, height) = (captureSettings.width, captureSettings.height)
    guard yuyv.count >= 2 * width * height else { return }
    for index in 0..<width * height { picture[index] = yuyv[2 * index] }
    for index in 0..<width * height / 2 {
      picture[width * height + index] = yuyv[index / width * 4 * width + index % width * 2 + 1]
    }
  }
}

/// Publishes a camera: `swift run CameraCapturer http://127.0.0.1:8080 /dev/video0`.
@main
struct Example {
  static func main() async throws {
    let arguments = CommandLine.arguments
    guard arguments.count == 3 else { return print("CameraCapturer SERVER DEVICE") }
    let camera: CameraCapturer
    do { camera = try CameraCapturer(path: arguments[2]) } catch {
      print("CameraCapturer: \(error)")
      exit(66)
    }
    let credentials = try await Credentials.fetch(from: arguments[1])
    let session = Session(credentials)
    try await session.connect(token: credentials.token)
    try await session.publish(Publisher(.init(name: "Camera"), videoCapturer: camera))
    for await event in session.events { print(event) }
  }
}
