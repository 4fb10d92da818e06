import Base
import CVPX

/// Decodes VP8 (RFC 6386). Confined to one thread. Whatever a peer sends is decoded or refused; it never
/// traps, and no packet makes it allocate more than a picture of `maximumPixels` needs.
package final class VP8Decoder {
  /// Larger pictures are refused: 4096x2304.
  package static let maximumPixels = 4096 * 2304

  private var context = vpx_codec_ctx_t()  // libvpx keeps its address: only ever used as &context
  private var needsKeyFrame = true
  private let pool = VideoFramePool()

  package init() throws(CodecError) {
    var configuration = vpx_codec_dec_cfg_t(threads: 1, w: 0, h: 0)
    let status = vpx_codec_dec_init_ver(
      &context, vpx_codec_vp8_dx(), &configuration, 0, Int32(VPX_DECODER_ABI_VERSION))
    guard status == VPX_CODEC_OK else {
      throw .unavailable(codec: "VP8", reason: String(cString: vpx_codec_err_to_string(status)))
    }
  }

  deinit { vpx_codec_destroy(&context) }

  /// - Parameters:
  ///   - bytes: one whole frame.
  ///   - time: becomes the picture's `time`.
  /// - Returns: nil if the frame is not meant to be shown. Valid until the next call.
  /// - Throws: `corruptPacket` or `keyFrameMissing`; from then on only a key frame is taken.
  package func decode(_ bytes: [UInt8], time: Instant) throws(CodecError) -> DecodedPicture? {
    guard bytes.count > 3 else { throw fail(.corruptPacket) }
    // RFC 6386, 9.1: the lowest bit is 0 for a key frame, whose size follows the start code.
    if bytes[0] & 1 == 0 {
      guard let size = VP8Frame.size(ofKeyFrame: bytes), size.pixels <= Self.maximumPixels else {
        throw fail(.corruptPacket)
      }
    } else if needsKeyFrame {
      throw .keyFrameMissing
    }
    let status = bytes.withUnsafeBufferPointer {
      vpx_codec_decode(&context, $0.baseAddress, UInt32($0.count), nil, 0)
    }
    guard status == VPX_CODEC_OK else { throw fail(.corruptPacket) }
    var damaged: Int32 = 0
    vpx_codec_control_VP8D_GET_FRAME_CORRUPTED(
      &context, Int32(VP8D_GET_FRAME_CORRUPTED.rawValue), &damaged)
    guard damaged == 0 else { throw fail(.corruptPacket) }
    needsKeyFrame = false

    var iterator: vpx_codec_iter_t?
    guard let image = vpx_codec_get_frame(&context, &iterator) else { return nil }
    return picture(image.pointee, time)
  }

  private func fail(_ error: CodecError) -> CodecError {
    needsKeyFrame = true
    return error
  }

  private func picture(_ image: vpx_image_t, _ time: Instant) -> DecodedPicture? {
    let (width, height) = (Int(image.d_w), Int(image.d_h))
    // VP8's chroma planes have one stride (RFC 6386 knows I420 only).
    guard width > 0, height > 0, let y = image.planes.0, let u = image.planes.1, let v = image.planes.2,
      image.stride.1 == image.stride.2
    else { return nil }
    return DecodedPicture(
      width: width, height: height, y: y, u: u, v: v, strideY: Int(image.stride.0),
      strideUV: Int(image.stride.1), time: time, pool: pool)
  }
}
