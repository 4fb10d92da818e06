import Base
import CV4L2
import Codecs
import Glibc

/// An open camera: what it can, and the buffers that its pictures come in. Confined to one thread at a time.
final class V4L2Handle {
  /// A picture's bytes in the driver's memory, until it is given back.
  struct Picture {
    let index: UInt32
    let bytes: UnsafeRawBufferPointer
    /// When it was taken, if the driver says so.
    let time: Instant?
    let isDamaged: Bool
  }

  let path: String
  let name: String
  /// As the driver has set it; nil before `start`.
  private(set) var mode: CameraMode?
  /// Bytes from row to row of uncompressed pictures.
  private(set) var bytesPerLine = 0
  private let descriptor: Int32
  private var buffers: [UnsafeMutableRawBufferPointer] = []
  private var isStreaming = false

  private static let bufferCount: UInt32 = 4

  /// - Throws: `noDevice` for what is no camera.
  init(path: String) throws(SourceError) {
    self.path = path
    descriptor = Glibc.open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { throw Self.error(errno, path) }
    var capability = v4l2_capability()
    let isCamera =
      otchat_v4l2_querycap(descriptor, &capability) == 0
      && {
        let all = capability.capabilities
        let own = all & OTCHAT_V4L2_CAP_DEVICE_CAPS != 0 ? capability.device_caps : all
        let needed = UInt32(OTCHAT_V4L2_CAP_VIDEO_CAPTURE | OTCHAT_V4L2_CAP_STREAMING)
        return own & needed == needed
      }()
    guard isCamera else {
      close(descriptor)
      throw .noDevice(.camera, name: path, choices: [])
    }
    name = withUnsafeBytes(of: &capability.card) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
  }

  deinit {
    stop()
    close(descriptor)
  }

  // MARK: What it can

  /// - Parameter size: counts as one of the sizes where the camera takes any in a range.
  func modes(_ size: VideoSize = VideoSize(width: 640, height: 480)) -> [CameraMode] {
    var modes: [CameraMode] = []
    var description = v4l2_fmtdesc()
    description.type = V4L2_BUF_TYPE_VIDEO_CAPTURE.rawValue
    while description.index < 64, otchat_v4l2_enum_fmt(descriptor, &description) == 0 {
      description.index += 1
      guard let format = CameraFormat(fourcc: description.pixelformat) else { continue }
      for size in sizes(description.pixelformat, size) {
        modes.append(
          contentsOf: rates(description.pixelformat, size).map {
            CameraMode(format: format, fourcc: description.pixelformat, size: size, frameRate: $0)
          })
      }
    }
    return modes
  }

  private func sizes(_ fourcc: UInt32, _ wanted: VideoSize) -> [VideoSize] {
    var sizes: [VideoSize] = []
    var entry = v4l2_frmsizeenum()
    entry.pixel_format = fourcc
    while entry.index < 64, otchat_v4l2_enum_framesizes(descriptor, &entry) == 0 {
      entry.index += 1
      if entry.type == V4L2_FRMSIZE_TYPE_DISCRETE.rawValue {
        sizes.append(VideoSize(width: Int(entry.discrete.width), height: Int(entry.discrete.height)))
        continue
      }
      let range = entry.stepwise
      sizes.append(
        VideoSize(
          width: Self.step(wanted.width, range.min_width, range.max_width, range.step_width),
          height: Self.step(wanted.height, range.min_height, range.max_height, range.step_height)))
      break
    }
    return sizes.filter { (16...8192).contains($0.width) && (16...8192).contains($0.height) }
  }

  private static func step(_ wanted: Int, _ least: UInt32, _ most: UInt32, _ step: UInt32) -> Int {
    let (least, most, step) = (Int(least), Int(most), max(1, Int(step)))
    return min(max(wanted, least), max(least, most)) - max(0, min(wanted, most) - least) % step
  }

  private func rates(_ fourcc: UInt32, _ size: VideoSize) -> [Double] {
    var rates: [Double] = []
    var entry = v4l2_frmivalenum()
    entry.pixel_format = fourcc
    (entry.width, entry.height) = (UInt32(size.width), UInt32(size.height))
    while entry.index < 64, otchat_v4l2_enum_frameintervals(descriptor, &entry) == 0 {
      entry.index += 1
      if entry.type == V4L2_FRMIVAL_TYPE_DISCRETE.rawValue {
        rates.append(Self.rate(entry.discrete))
        continue
      }
      // Any rate in a range: its ends, and what people ask for.
      let ends = [Self.rate(entry.stepwise.max), Self.rate(entry.stepwise.min)]
      rates = ends + [15, 24, 25, 30, 60].filter { $0 > ends[0] && $0 < ends[1] }
      break
    }
    // Drivers need not say.
    return rates.isEmpty ? [30] : rates.filter { $0 > 0 }
  }

  private static func rate(_ interval: v4l2_fract) -> Double {
    interval.numerator == 0 ? 0 : Double(interval.denominator) / Double(interval.numerator)
  }

  // MARK: Streaming

  /// Sets the mode and takes the camera for ourselves; pictures do not flow yet.
  func configure(_ wanted: CameraMode) throws(SourceError) {
    var format = v4l2_format()
    format.type = V4L2_BUF_TYPE_VIDEO_CAPTURE.rawValue
    format.fmt.pix.width = UInt32(wanted.size.width)
    format.fmt.pix.height = UInt32(wanted.size.height)
    format.fmt.pix.pixelformat = wanted.fourcc
    format.fmt.pix.field = V4L2_FIELD_ANY.rawValue
    guard otchat_v4l2_s_fmt(descriptor, &format) == 0 else { throw Self.error(errno, path) }
    let pix = format.fmt.pix
    let (width, height) = (Int(pix.width), Int(pix.height))
    guard let set = CameraFormat(fourcc: pix.pixelformat), (16...8192).contains(width),
      (16...8192).contains(height)
    else { throw .deviceFailed(.camera, name: path, reason: "it hands out no format that can be read") }
    bytesPerLine = Int(pix.bytesperline)

    var parameters = v4l2_streamparm()
    parameters.type = V4L2_BUF_TYPE_VIDEO_CAPTURE.rawValue
    parameters.parm.capture.timeperframe = v4l2_fract(
      numerator: 1000, denominator: UInt32(min(max(wanted.frameRate, 1), 1000) * 1000))
    var rate = wanted.frameRate
    // Not every driver can.
    if otchat_v4l2_s_parm(descriptor, &parameters) == 0 {
      let given = Self.rate(parameters.parm.capture.timeperframe)
      if given > 0 { rate = given }
    }
    mode = CameraMode(
      format: set, fourcc: pix.pixelformat, size: VideoSize(width: width, height: height), frameRate: rate)
    try allocate()
  }

  private func allocate() throws(SourceError) {
    var request = v4l2_requestbuffers()
    request.type = V4L2_BUF_TYPE_VIDEO_CAPTURE.rawValue
    request.memory = V4L2_MEMORY_MMAP.rawValue
    request.count = Self.bufferCount
    guard otchat_v4l2_reqbufs(descriptor, &request) == 0 else { throw Self.error(errno, path) }
    for index in 0..<request.count {
      var buffer = Self.buffer(index)
      guard otchat_v4l2_querybuf(descriptor, &buffer) == 0 else { throw Self.error(errno, path) }
      let memory = mmap(
        nil, Int(buffer.length), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, off_t(buffer.m.offset))
      guard let memory, memory != MAP_FAILED else { throw Self.error(errno, path) }
      buffers.append(UnsafeMutableRawBufferPointer(start: memory, count: Int(buffer.length)))
    }
  }

  func start() throws(SourceError) {
    for index in buffers.indices { try give(back: UInt32(index)) }
    var type = Int32(V4L2_BUF_TYPE_VIDEO_CAPTURE.rawValue)
    guard otchat_v4l2_streamon(descriptor, &type) == 0 else { throw Self.error(errno, path) }
    isStreaming = true
  }

  /// Gives the camera back for others.
  func stop() {
    if isStreaming {
      var type = Int32(V4L2_BUF_TYPE_VIDEO_CAPTURE.rawValue)
      _ = otchat_v4l2_streamoff(descriptor, &type)
      isStreaming = false
    }
    guard !buffers.isEmpty else { return }
    for buffer in buffers { munmap(buffer.baseAddress, buffer.count) }
    buffers = []
    var request = v4l2_requestbuffers()
    request.type = V4L2_BUF_TYPE_VIDEO_CAPTURE.rawValue
    request.memory = V4L2_MEMORY_MMAP.rawValue
    _ = otchat_v4l2_reqbufs(descriptor, &request)
  }

  /// Whether a picture has come before the deadline (or the camera has gone, which `take` tells).
  func wait(until deadline: Instant) -> Bool {
    let left = (deadline - MonotonicClock.now()).milliseconds
    var poll = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return Glibc.poll(&poll, 1, Int32(min(max(left.rounded(.up), 0), 1000))) > 0
  }

  /// The oldest picture that waits; nil if there is none.
  func take() throws(SourceError) -> Picture? {
    var buffer = Self.buffer(0)
    guard otchat_v4l2_dqbuf(descriptor, &buffer) == 0 else {
      if errno == EAGAIN { return nil }
      throw Self.error(errno, path)
    }
    guard buffers.indices.contains(Int(buffer.index)) else { return nil }
    let memory = buffers[Int(buffer.index)]
    let isMonotonic =
      buffer.flags & UInt32(OTCHAT_V4L2_TIMESTAMP_MASK)
      == UInt32(OTCHAT_V4L2_TIMESTAMP_MONOTONIC)
    let stamp = buffer.timestamp
    let time = Instant(
      nanoseconds: Int64(stamp.tv_sec) &* 1_000_000_000 &+ Int64(stamp.tv_usec) &* 1000)
    return Picture(
      index: buffer.index,
      bytes: UnsafeRawBufferPointer(rebasing: memory[..<min(Int(buffer.bytesused), memory.count)]),
      time: isMonotonic ? time : nil,
      isDamaged: buffer.flags & UInt32(OTCHAT_V4L2_BUF_FLAG_ERROR) != 0)
  }

  func give(back index: UInt32) throws(SourceError) {
    var buffer = Self.buffer(index)
    guard otchat_v4l2_qbuf(descriptor, &buffer) == 0 else { throw Self.error(errno, path) }
  }

  private static func buffer(_ index: UInt32) -> v4l2_buffer {
    var buffer = v4l2_buffer()
    buffer.type = V4L2_BUF_TYPE_VIDEO_CAPTURE.rawValue
    buffer.memory = V4L2_MEMORY_MMAP.rawValue
    buffer.index = index
    return buffer
  }

  private static func error(_ number: Int32, _ path: String) -> SourceError {
    switch number {
    case ENOENT, ENODEV, ENXIO, ENOTTY: .noDevice(.camera, name: path, choices: [])
    case EBUSY: .deviceBusy(.camera, name: path)
    case EACCES, EPERM: .deviceForbidden(.camera, name: path)
    default: .deviceFailed(.camera, name: path, reason: String(cString: strerror(number)))
    }
  }
}
