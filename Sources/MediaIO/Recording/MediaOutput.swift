import Base
import CAV

/// A file that libavformat writes. Confined to one thread at a time.
final class MediaOutput {
  let path: String
  private let format: UnsafeMutablePointer<AVFormatContext>
  private var packet: UnsafeMutablePointer<AVPacket>?
  private var hasHeader = false

  /// - Parameter name: libavformat's, such as `webm`.
  init(path: String, format name: String) throws(SourceError) {
    if let reason = MediaLibrary.fault { throw .libraryMissing(reason: reason) }
    self.path = path
    var context: UnsafeMutablePointer<AVFormatContext>?
    let status = avformat_alloc_output_context2(&context, nil, name, "file:" + path)
    guard status >= 0, let context else {
      throw .cannotWrite(path: path, reason: MediaLibrary.text(of: status))
    }
    format = context
    // What has been handed over is to survive this process.
    format.pointee.flags |= AVFMT_FLAG_FLUSH_PACKETS
    // A class's deinit runs from here on, also when its init throws.
    let opened = avio_open(&format.pointee.pb, "file:" + path, AVIO_FLAG_WRITE)
    guard opened >= 0 else { throw .cannotWrite(path: path, reason: MediaLibrary.text(of: opened)) }
    packet = av_packet_alloc()
  }

  deinit {
    av_packet_free(&packet)
    if format.pointee.pb != nil { avio_closep(&format.pointee.pb) }
    avformat_free_context(format)
  }

  /// - Parameter configure: fills in the codec's parameters.
  /// - Returns: its number; nil if there is no memory.
  func addStream(_ configure: (UnsafeMutablePointer<AVStream>) -> Void) -> Int32? {
    guard let stream = avformat_new_stream(format, nil) else { return nil }
    configure(stream)
    return stream.pointee.index
  }

  /// Before the first packet.
  func writeHeader(_ options: [String: String] = [:]) throws(SourceError) {
    var dictionary: OpaquePointer?
    for (key, value) in options { av_dict_set(&dictionary, key, value, 0) }
    let status = avformat_write_header(format, &dictionary)
    av_dict_free(&dictionary)
    try check(status)
    hasHeader = true
  }

  /// - Parameter time: in milliseconds; not before the last one of that stream.
  func write(
    _ bytes: [UInt8], stream: Int32, time: Int64, duration: Int64, isKeyFrame: Bool
  ) throws(SourceError) {
    guard let packet, let target = format.pointee.streams[Int(stream)], bytes.count < Int(Int32.max) else {
      return
    }
    let status = bytes.withUnsafeBufferPointer { buffer -> Int32 in
      // libavformat copies what it keeps and writes to nothing.
      packet.pointee.data = UnsafeMutablePointer(mutating: buffer.baseAddress)
      packet.pointee.size = Int32(buffer.count)
      packet.pointee.stream_index = stream
      packet.pointee.pts = time
      packet.pointee.dts = time
      packet.pointee.duration = duration
      packet.pointee.flags = isKeyFrame ? AV_PKT_FLAG_KEY : 0
      av_packet_rescale_ts(packet, AVRational(num: 1, den: 1000), target.pointee.time_base)
      let status = av_write_frame(format, packet)
      av_packet_unref(packet)
      return status
    }
    try check(status)
  }

  /// - Parameters:
  ///   - packet: is emptied.
  ///   - timeBase: of the packet's times.
  func write(
    _ packet: UnsafeMutablePointer<AVPacket>, stream: Int32, timeBase: AVRational
  ) throws(SourceError) {
    guard let target = format.pointee.streams[Int(stream)] else { return }
    packet.pointee.stream_index = stream
    av_packet_rescale_ts(packet, timeBase, target.pointee.time_base)
    let status = av_write_frame(format, packet)
    av_packet_unref(packet)
    try check(status)
  }

  /// Everything so far goes into the file: ends a cluster, or a fragment.
  func flush() throws(SourceError) {
    let status = av_write_frame(format, nil)
    try check(min(status, 0))
  }

  /// Completes the file.
  ///
  /// - Returns: its size in bytes.
  @discardableResult
  func finish() throws(SourceError) -> Int64 {
    var status: Int32 = 0
    if hasHeader { status = av_write_trailer(format) }
    hasHeader = false
    let closed = avio_closep(&format.pointee.pb)
    try check(status < 0 ? status : closed)
    return fileSize(path)
  }

  private func check(_ status: Int32) throws(SourceError) {
    guard status < 0 else { return }
    throw .cannotWrite(path: path, reason: MediaLibrary.text(of: status))
  }
}
