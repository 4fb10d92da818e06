import CVPX

/// libvpx's decoder and nothing around it: the measure for `VP8Decoder` in benchmarks. For frames of our
/// own only.
package final class BareVP8Decoder {
  private var context = vpx_codec_ctx_t()  // libvpx keeps its address: only ever used as &context

  package init() throws(CodecError) {
    var configuration = vpx_codec_dec_cfg_t(threads: 1, w: 0, h: 0)
    let status = vpx_codec_dec_init_ver(
      &context, vpx_codec_vp8_dx(), &configuration, 0, Int32(VPX_DECODER_ABI_VERSION))
    guard status == VPX_CODEC_OK else {
      throw .unavailable(codec: "VP8", reason: String(cString: vpx_codec_err_to_string(status)))
    }
  }

  deinit { vpx_codec_destroy(&context) }

  /// Decodes the frame and lets libvpx hand out its picture.
  package func decode(_ bytes: [UInt8]) {
    bytes.withUnsafeBufferPointer {
      _ = vpx_codec_decode(&context, $0.baseAddress, UInt32($0.count), nil, 0)
    }
    var iterator: vpx_codec_iter_t?
    _ = vpx_codec_get_frame(&context, &iterator)
  }
}
