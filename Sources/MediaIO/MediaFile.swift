import Base
import CAV
import Glibc

/// Decodes one stream, picture or sound, of a file in any format that libavformat reads. Confined to one
/// thread at a time.
final class MediaFile {
  enum Kind {
    case video, audio

    fileprivate var type: AVMediaType {
      self == .video ? AVMEDIA_TYPE_VIDEO : AVMEDIA_TYPE_AUDIO
    }
  }

  let path: String
  /// Length of the longest stream; nil if the file does not say.
  let duration: Duration?

  private let container: Container
  private let decoder: Decoder
  private var packet: UnsafeMutablePointer<AVPacket>?
  private var frame: UnsafeMutablePointer<AVFrame>?
  private let index: Int32
  private let timeBase: AVRational
  /// Where the file's time begins, in units of `timeBase`.
  private let startTime: Int64
  private var isDraining = false

  init(path: String, _ kind: Kind) throws(SourceError) {
    self.path = path
    // Answers the simple mistakes in the system's words, and keeps libavformat's protocols (http:, …) out.
    guard access(path, F_OK) == 0 else { throw .fileMissing(path: path) }
    guard access(path, R_OK) == 0 else {
      throw .fileUnreadable(path: path, reason: String(cString: strerror(errno)))
    }
    // A pipe would wait for its writer, for ever.
    var status = stat()
    guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      throw .fileUnreadable(path: path, reason: "it is no regular file")
    }
    if let reason = MediaLibrary.fault { throw .libraryMissing(reason: reason) }
    container = try Container(path: path)
    let format = container.handle

    var codec: UnsafePointer<AVCodec>?
    index = av_find_best_stream(format, kind.type, -1, -1, &codec, 0)
    if index == OTCHAT_AVERROR_DECODER_NOT_FOUND {
      throw .notDecodable(path: path, reason: "there is no decoder for it")
    }
    guard index >= 0, let stream = format.pointee.streams[Int(index)], let codec else {
      throw kind == .video ? .noVideo(path: path) : .noAudio(path: path)
    }
    timeBase = stream.pointee.time_base
    guard timeBase.num > 0, timeBase.den > 0 else { throw .notDecodable(path: path, reason: "no time base") }
    decoder = try Decoder(codec, stream.pointee.codecpar, path: path)

    let start = format.pointee.start_time
    startTime =
      start == OTCHAT_AV_NOPTS_VALUE
      ? 0 : av_rescale_q(start, AVRational(num: 1, den: Int32(AV_TIME_BASE)), timeBase)
    let length = format.pointee.duration
    duration = length == OTCHAT_AV_NOPTS_VALUE || length <= 0 ? nil : .microseconds(length)
    for other in 0..<Int(format.pointee.nb_streams) where other != Int(index) {
      format.pointee.streams[other]?.pointee.discard = AVDISCARD_ALL
    }
    // Not before here: an init that throws early does not run `deinit`.
    packet = av_packet_alloc()
    frame = av_frame_alloc()
  }

  deinit {
    av_frame_free(&frame)
    av_packet_free(&packet)
  }

  /// The next decoded frame, valid until the next call; nil at the end, or when nothing more can be
  /// decoded. Damaged packets are skipped.
  func next() -> UnsafeMutablePointer<AVFrame>? {
    guard let frame, let packet else { return nil }
    while true {
      let status = avcodec_receive_frame(decoder.handle, frame)
      if status == 0 { return frame }
      guard status == OTCHAT_AVERROR_EAGAIN, !isDraining else { return nil }
      let read = av_read_frame(container.handle, packet)
      if read < 0 {
        isDraining = true
        avcodec_send_packet(decoder.handle, nil)
        continue
      }
      if packet.pointee.stream_index == index { avcodec_send_packet(decoder.handle, packet) }
      av_packet_unref(packet)
    }
  }

  /// When a frame belongs, counted from the file's beginning; nil if it does not say.
  func time(of frame: UnsafeMutablePointer<AVFrame>) -> Duration? {
    let stamp = frame.pointee.best_effort_timestamp
    guard stamp != OTCHAT_AV_NOPTS_VALUE else { return nil }
    let (sinceStart, overflow) = stamp.subtractingReportingOverflow(startTime)
    guard !overflow else { return nil }
    return .nanoseconds(av_rescale_q(sinceStart, timeBase, AVRational(num: 1, den: 1_000_000_000)))
  }

  /// How long a frame lasts by the stream's mean frame rate.
  var meanFrameDuration: Duration {
    let rate =
      container.handle.pointee.streams[Int(index)]?.pointee.avg_frame_rate ?? AVRational(num: 0, den: 0)
    guard rate.num > 0, rate.den > 0 else { return .milliseconds(40) }
    return .nanoseconds(Int64(rate.den) * 1_000_000_000 / Int64(rate.num))
  }

  /// Back to the beginning. False if the file cannot do that.
  func rewind() -> Bool { seek(to: .zero) }

  /// To the last key frame that is not after `time`, counted from the file's beginning. False if the file
  /// cannot do that.
  func seek(to time: Duration) -> Bool {
    isDraining = false
    avcodec_flush_buffers(decoder.handle)
    let offset = av_rescale_q(time.nanoseconds, AVRational(num: 1, den: 1_000_000_000), timeBase)
    let (target, overflow) = startTime.addingReportingOverflow(offset)
    guard !overflow else { return false }
    return avformat_seek_file(container.handle, index, .min, target, target, 0) >= 0
      || av_seek_frame(container.handle, index, target, AVSEEK_FLAG_BACKWARD) >= 0
  }
}

extension MediaFile {
  private final class Container {
    let handle: UnsafeMutablePointer<AVFormatContext>

    init(path: String) throws(SourceError) {
      var format: UnsafeMutablePointer<AVFormatContext>?
      var status = avformat_open_input(&format, "file:" + path, nil, nil)
      guard status == 0, let opened = format else {
        throw .notDecodable(path: path, reason: MediaLibrary.text(of: status))
      }
      handle = opened
      status = avformat_find_stream_info(handle, nil)
      // A class's deinit runs from here on, also when its init throws.
      guard status >= 0 else { throw .notDecodable(path: path, reason: MediaLibrary.text(of: status)) }
    }

    deinit {
      var format: UnsafeMutablePointer<AVFormatContext>? = handle
      avformat_close_input(&format)
    }
  }

  private final class Decoder {
    let handle: UnsafeMutablePointer<AVCodecContext>

    init(
      _ codec: UnsafePointer<AVCodec>, _ parameters: UnsafeMutablePointer<AVCodecParameters>?, path: String
    ) throws(SourceError) {
      guard let context = avcodec_alloc_context3(codec) else {
        throw .notDecodable(path: path, reason: "out of memory")
      }
      handle = context
      avcodec_parameters_to_context(context, parameters)
      context.pointee.thread_count = 1
      let status = avcodec_open2(context, codec, nil)
      guard status == 0 else { throw .notDecodable(path: path, reason: MediaLibrary.text(of: status)) }
    }

    deinit {
      var context: UnsafeMutablePointer<AVCodecContext>? = handle
      avcodec_free_context(&context)
    }
  }
}
