import CAV
import Codecs

package enum PNGError: Error, Equatable {
  /// libavcodec cannot be had, or has no encoder for PNG.
  case unavailable(String)
  /// libavcodec refuses the picture.
  case refused
}

/// Pictures as PNG files (RGB, 8 bits a channel), by libavcodec.
package enum PNGImage {
  /// The whole picture in its full size. Takes some ten milliseconds; not from two threads at once.
  package static func encode(_ picture: VideoFrame) throws(PNGError) -> [UInt8] {
    if let fault = MediaLibrary.fault { throw .unavailable(fault) }
    guard let codec = avcodec_find_encoder(AV_CODEC_ID_PNG) else { throw .unavailable("no encoder for PNG") }
    var context = avcodec_alloc_context3(codec)
    var frame = av_frame_alloc()
    var packet = av_packet_alloc()
    defer {
      av_packet_free(&packet)
      av_frame_free(&frame)
      avcodec_free_context(&context)
    }
    guard let context, let frame, let packet else { throw .refused }
    let (width, height) = (Int32(picture.width), Int32(picture.height))
    context.pointee.width = width
    context.pointee.height = height
    context.pointee.pix_fmt = AV_PIX_FMT_RGB24
    context.pointee.time_base = AVRational(num: 1, den: 1)
    frame.pointee.width = width
    frame.pointee.height = height
    frame.pointee.format = AV_PIX_FMT_RGB24.rawValue
    guard avcodec_open2(context, codec, nil) == 0, av_frame_get_buffer(frame, 0) == 0 else { throw .refused }
    try fill(frame, from: picture)
    guard avcodec_send_frame(context, frame) == 0, avcodec_receive_packet(context, packet) == 0,
      let data = packet.pointee.data
    else { throw .refused }
    return Array(UnsafeBufferPointer(start: data, count: Int(packet.pointee.size)))
  }

  private static func fill(
    _ frame: UnsafeMutablePointer<AVFrame>, from picture: VideoFrame
  ) throws(PNGError) {
    let (width, height) = (Int32(picture.width), Int32(picture.height))
    // Exact rounding and a colour for each pixel: this picture is looked at, and compared.
    let scaling = SWS_BICUBIC | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT
    let context = sws_getCachedContext(
      nil, width, height, AV_PIX_FMT_YUV420P, width, height, AV_PIX_FMT_RGB24, scaling, nil, nil, nil)
    guard let context else { throw .refused }
    defer { sws_freeContext(context) }
    let planes: [UnsafePointer<UInt8>?] = [picture.y, picture.u, picture.v, nil]
    let strides = [Int32(picture.strideY), Int32(picture.strideUV), Int32(picture.strideUV), 0]
    var output: [UnsafeMutablePointer<UInt8>?] = [frame.pointee.data.0, nil, nil, nil]
    var lines = [frame.pointee.linesize.0, 0, 0, 0]
    guard sws_scale(context, planes, strides, 0, height, &output, &lines) == height else { throw .refused }
  }
}
