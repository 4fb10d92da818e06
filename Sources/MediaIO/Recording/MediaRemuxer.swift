import CAV
import Glibc

/// Makes a complete file, with an index, of one that was written bit by bit or is cut off.
package enum MediaRemuxer {
  package enum Format: String, Sendable {
    /// Its index at the beginning.
    case mp4
    case webm
  }

  /// - Returns: how long it is.
  /// - Throws: also if nothing in `source` can be played.
  @discardableResult
  package static func remux(_ source: String, to target: String, _ format: Format) throws(SourceError)
    -> Duration
  {
    let input = try Input(source)
    defer { withExtendedLifetime(input) {} }
    let output = try MediaOutput(path: target, format: format.rawValue)
    var streams: [Int32: (index: Int32, timeBase: AVRational)] = [:]
    for index in 0..<Int(input.format.pointee.nb_streams) {
      guard let stream = input.format.pointee.streams[index] else { continue }
      let copy = output.addStream { copy in
        avcodec_parameters_copy(copy.pointee.codecpar, stream.pointee.codecpar)
        copy.pointee.time_base = stream.pointee.time_base
        copy.pointee.codecpar.pointee.codec_tag = 0
      }
      if let copy { streams[Int32(index)] = (copy, stream.pointee.time_base) }
    }
    try output.writeHeader(format == .mp4 ? ["movflags": "faststart"] : [:])
    var packet = av_packet_alloc()
    defer { av_packet_free(&packet) }
    guard let packet else { throw .libraryMissing(reason: "out of memory") }
    var (count, end) = (0, Int64(0))
    while av_read_frame(input.format, packet) >= 0 {
      guard let stream = streams[packet.pointee.stream_index], packet.pointee.size > 0,
        packet.pointee.flags & AV_PKT_FLAG_CORRUPT == 0
      else {
        av_packet_unref(packet)
        continue
      }
      count += 1
      end = max(
        end,
        av_rescale_q(
          packet.pointee.pts &+ packet.pointee.duration, stream.timeBase, AVRational(num: 1, den: 1000)))
      try output.write(packet, stream: stream.index, timeBase: stream.timeBase)
    }
    guard count > 0 else { throw .notDecodable(path: source, reason: "there is nothing in it") }
    try output.finish()
    return .milliseconds(end)
  }

  /// How long a complete file is; zero if it does not say.
  package static func length(_ path: String) throws(SourceError) -> Duration {
    let input = try Input(path)
    // What `format` points to ends with the input, and Swift ends that after its last use.
    let length = withExtendedLifetime(input) { input.format.pointee.duration }
    return length == OTCHAT_AV_NOPTS_VALUE ? .zero : .microseconds(max(0, length))
  }

  private final class Input {
    let format: UnsafeMutablePointer<AVFormatContext>

    init(_ path: String) throws(SourceError) {
      if let reason = MediaLibrary.fault { throw .libraryMissing(reason: reason) }
      guard access(path, F_OK) == 0 else { throw .fileMissing(path: path) }
      var context: UnsafeMutablePointer<AVFormatContext>?
      let status = avformat_open_input(&context, "file:" + path, nil, nil)
      guard status == 0, let opened = context else {
        throw .notDecodable(path: path, reason: MediaLibrary.text(of: status))
      }
      format = opened
      let found = avformat_find_stream_info(format, nil)
      guard found >= 0 else { throw .notDecodable(path: path, reason: MediaLibrary.text(of: found)) }
    }

    deinit {
      var context: UnsafeMutablePointer<AVFormatContext>? = format
      avformat_close_input(&context)
    }
  }
}
