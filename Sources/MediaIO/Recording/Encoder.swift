import CAV

/// One of libavcodec's encoders. Confined to one thread.
final class Encoder {
  let context: UnsafeMutablePointer<AVCodecContext>
  private var packet: UnsafeMutablePointer<AVPacket>?

  /// - Parameters:
  ///   - name: libavcodec's.
  ///   - configure: sets what the encoder has to know.
  init(
    _ name: String, options: [String: String], configure: (UnsafeMutablePointer<AVCodecContext>) -> Void
  ) throws(SourceError) {
    guard let codec = avcodec_find_encoder_by_name(name), let context = avcodec_alloc_context3(codec) else {
      throw .libraryMissing(reason: "libavcodec has no encoder \(name)")
    }
    self.context = context
    configure(context)
    // Extradata goes to the file's beginning.
    context.pointee.flags |= AV_CODEC_FLAG_GLOBAL_HEADER
    var dictionary: OpaquePointer?
    for (key, value) in options { av_dict_set(&dictionary, key, value, 0) }
    // A class's deinit runs from here on, also when its init throws.
    let status = avcodec_open2(context, codec, &dictionary)
    av_dict_free(&dictionary)
    guard status == 0 else {
      throw .libraryMissing(reason: "\(name): \(MediaLibrary.text(of: status))")
    }
    packet = av_packet_alloc()
  }

  deinit {
    av_packet_free(&packet)
    var context: UnsafeMutablePointer<AVCodecContext>? = context
    avcodec_free_context(&context)
  }

  /// - Parameters:
  ///   - frame: nil at the end, for what is held back.
  ///   - output: takes each packet that comes of it.
  func encode(
    _ frame: UnsafeMutablePointer<AVFrame>?,
    output: (UnsafeMutablePointer<AVPacket>) throws(SourceError) -> Void
  ) throws(SourceError) {
    guard let packet, avcodec_send_frame(context, frame) >= 0 else { return }
    while avcodec_receive_packet(context, packet) == 0 { try output(packet) }
  }
}
