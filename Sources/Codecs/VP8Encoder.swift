import Base
import CVPX
import RTP

/// Encodes pictures to VP8 (RFC 6386) in real time: constant bitrate, no look-ahead, key frames only when
/// asked for (and when the size changes). Confined to one thread.
package final class VP8Encoder {
  package struct Configuration: Sendable, Equatable {
    package var size: VideoSize
    /// Bits per second.
    package var bitrate: Int
    /// Pictures per second that the rate control expects.
    package var frameRate: Int
    /// libvpx's speed, negative so that it does not adapt to elapsed time: -1 (best) to -16 (fastest).
    /// At 640x480 and 0.5 Mb/s, -4 costs 3.2 ms a picture, -6 1.7, -8 1.6, -12 1.3; against -4, clips of
    /// three kinds lost 0.2 dB with -6, 0.2 to 0.7 dB with -8, 1.1 to 1.5 dB with -12.
    ///
    /// Text that scrolls by 39 points a picture is found by -4 and not by -6: at 1280x720 and 2.2 Mb/s all pictures are
    /// kept and sharp, for 7.2 ms each, instead of a third of them. What is left out makes the next step longer still.
    package var cpuUsed: Int
    /// 1 to 3 (RFC 7741, TID).
    package var temporalLayers = 1
    /// For text, blocks are searched for where a screen's windows move and scroll to.
    package let contentHint: ContentHint

    package init(size: VideoSize, bitrate: Int, frameRate: Int, contentHint: ContentHint = .motion) {
      self.contentHint = contentHint
      cpuUsed = contentHint == .text ? -4 : -6
      self.size = size
      self.bitrate = bitrate
      self.frameRate = frameRate
    }
  }

  /// A key frame after this time without pictures starts the rate control anew: at one picture a second it
  /// has got used to a second's bits for each, and would flood the network with the key frame.
  private static let pause = Duration.milliseconds(500)

  package private(set) var configuration: Configuration
  private var context = vpx_codec_ctx_t()  // libvpx keeps its address: only ever used as &context
  private var settings = vpx_codec_enc_cfg_t()
  private var isOpen = false
  private var layers: TemporalLayers
  private var firstCapture: Instant?
  private var lastCapture: Instant?
  private var lastSlot: Int64 = -1
  /// Of text.
  private var debt = BitDebt()

  package init(_ configuration: Configuration) throws(CodecError) {
    self.configuration = configuration
    layers = TemporalLayers(count: configuration.temporalLayers)
    try open()
  }

  deinit { close() }

  /// Takes effect with the next picture.
  package func setBitrate(_ bitrate: Int) throws(CodecError) {
    guard bitrate != configuration.bitrate else { return }
    configuration.bitrate = bitrate
    applyBitrate()
    let status = vpx_codec_enc_config_set(&context, &settings)
    guard status == VPX_CODEC_OK else { throw .encodingFailed(Self.text(status)) }
  }

  /// - Parameters:
  ///   - frame: of any size; another one than before's restarts the encoder, hence with a key frame.
  ///   - time: when it was taken, if not `frame.time` (a picture that is shown again).
  ///   - keyFrame: whether it has to be one.
  /// - Returns: nil if the rate control left this picture out.
  package func encode(_ frame: VideoFrame, capturedAt time: Instant? = nil, keyFrame: Bool = false)
    throws(CodecError) -> EncodedVideoFrame?
  {
    let time = time ?? frame.time
    let paused = lastCapture.map { time - $0 > Self.pause } ?? false
    lastCapture = time
    let isInDebt = debt.isTooHigh(at: time, bitrate: configuration.bitrate)
    if configuration.contentHint == .text, isInDebt, !keyFrame, frame.size == configuration.size {
      return nil
    }
    if frame.size != configuration.size || keyFrame && paused {
      configuration.size = frame.size
      close()
      try open()
    }
    let slot = nextSlot(time)
    let layer = layers.next(keyFrame: keyFrame || slot == 0)
    let flags = layer.flags | (keyFrame ? vpx_enc_frame_flags_t(VPX_EFLAG_FORCE_KF) : 0)
    if layers.count > 1 {
      vpx_codec_control_VP8E_SET_TEMPORAL_LAYER_ID(
        &context, Int32(VP8E_SET_TEMPORAL_LAYER_ID.rawValue), Int32(layer.identifier))
    }
    var image = Self.image(of: frame)
    let tick = Int64(90_000 / max(1, configuration.frameRate))
    let status = vpx_codec_encode(
      &context, &image, slot * tick, UInt(tick), flags, UInt(VPX_DL_REALTIME))
    guard status == VPX_CODEC_OK else { throw .encodingFailed(Self.text(status)) }

    var iterator: vpx_codec_iter_t?
    while let packet = vpx_codec_get_cx_data(&context, &iterator) {
      guard packet.pointee.kind == VPX_CODEC_CX_FRAME_PKT else { continue }
      let encoded = packet.pointee.data.frame
      debt.add(bytes: encoded.sz, bitrate: configuration.bitrate)
      let isKeyFrame = encoded.flags & UInt32(VPX_FRAME_IS_KEY) != 0
      return EncodedVideoFrame(
        bytes: Array(UnsafeRawBufferPointer(start: encoded.buf, count: encoded.sz)),
        isKeyFrame: isKeyFrame, captureTime: time, width: frame.width, height: frame.height,
        temporalLayer: isKeyFrame ? 0 : layer.identifier, layerSync: layer.isSync && !isKeyFrame)
    }
    return nil
  }

  /// Of the last encoded picture, 0 (finest) to 63.
  package var lastQuantizer: Int {
    var quantizer: Int32 = 0
    vpx_codec_control_VP8E_GET_LAST_QUANTIZER_64(
      &context, Int32(VP8E_GET_LAST_QUANTIZER_64.rawValue), &quantizer)
    return Int(quantizer)
  }

  /// The capture time in periods of the frame rate: the rate control sees pauses and skipped pictures, but
  /// not the jitter of the capturing thread.
  private func nextSlot(_ time: Instant) -> Int64 {
    let first = firstCapture ?? time
    firstCapture = first
    let period = 1_000_000_000 / Int64(max(1, configuration.frameRate))
    let slot = ((time - first).nanoseconds + period / 2) / period
    lastSlot = max(lastSlot + 1, slot)
    return lastSlot
  }

  private func open() throws(CodecError) {
    guard (1...16383).contains(configuration.size.width), (1...16383).contains(configuration.size.height)
    else { throw .unsupportedFormat("\(configuration.size)") }
    var status = vpx_codec_enc_config_default(vpx_codec_vp8_cx(), &settings, 0)
    guard status == VPX_CODEC_OK else { throw .unavailable(codec: "VP8", reason: Self.text(status)) }
    settings.g_w = UInt32(configuration.size.width)
    settings.g_h = UInt32(configuration.size.height)
    settings.g_threads = 1  // two gained little and sometimes spin
    settings.g_timebase = vpx_rational(num: 1, den: 90_000)
    settings.g_lag_in_frames = 0
    // Losses are repaired by retransmission, so contexts may depend on the frames before, which saves
    // bits; layers that may be left out need independent contexts.
    settings.g_error_resilient = layers.count > 1 ? UInt32(VPX_ERROR_RESILIENT_DEFAULT) : 0
    settings.rc_end_usage = VPX_CBR
    settings.rc_min_quantizer = 2
    // Text that moves may get coarser than a camera's picture before any is left out: it is sharp soon after it stops.
    // At 0.7 Mb/s, 73 of 76 pictures of a scrolling terminal of 1280x720 are kept, not 41.
    settings.rc_max_quantizer = configuration.contentHint == .text ? 63 : 56
    settings.rc_undershoot_pct = 100
    settings.rc_overshoot_pct = 15
    settings.rc_buf_initial_sz = 500
    settings.rc_buf_optimal_sz = 600
    settings.rc_buf_sz = 1000
    settings.rc_dropframe_thresh = configuration.contentHint == .text ? 0 : 30  // text: see `BitDebt`
    settings.kf_mode = VPX_KF_DISABLED
    layers.configure(&settings)
    applyBitrate()
    status = vpx_codec_enc_init_ver(
      &context, vpx_codec_vp8_cx(), &settings, 0, Int32(OTCHAT_VPX_ENCODER_ABI_VERSION))
    guard status == VPX_CODEC_OK else { throw .unavailable(codec: "VP8", reason: Self.text(status)) }
    isOpen = true
    firstCapture = nil
    lastSlot = -1
    vpx_codec_control_VP8E_SET_CPUUSED(
      &context, Int32(VP8E_SET_CPUUSED.rawValue), Int32(configuration.cpuUsed))
    vpx_codec_control_VP8E_SET_STATIC_THRESHOLD(
      &context, Int32(VP8E_SET_STATIC_THRESHOLD.rawValue), 1)
    vpx_codec_control_VP8E_SET_SCREEN_CONTENT_MODE(
      &context, Int32(VP8E_SET_SCREEN_CONTENT_MODE.rawValue), configuration.contentHint == .text ? 1 : 0)
    // A key frame may take this share of the mean frame, in percent: half of the rate control's buffer.
    let share = max(300, Int(settings.rc_buf_optimal_sz) * max(1, configuration.frameRate) / 20)
    vpx_codec_control_VP8E_SET_MAX_INTRA_BITRATE_PCT(
      &context, Int32(VP8E_SET_MAX_INTRA_BITRATE_PCT.rawValue), UInt32(share))
  }

  private func close() {
    if isOpen { vpx_codec_destroy(&context) }
    isOpen = false
  }

  private func applyBitrate() {
    settings.rc_target_bitrate = UInt32(min(max(configuration.bitrate / 1000, 10), 100_000))
    layers.applyBitrate(&settings)
  }

  /// libvpx's view of a frame's planes; it only reads them, although its type says otherwise.
  private static func image(of frame: VideoFrame) -> vpx_image_t {
    var image = vpx_image_t()
    vpx_img_wrap(
      &image, VPX_IMG_FMT_I420, UInt32(frame.width), UInt32(frame.height), 1,
      UnsafeMutablePointer(mutating: frame.y))
    image.planes.0 = UnsafeMutablePointer(mutating: frame.y)
    image.planes.1 = UnsafeMutablePointer(mutating: frame.u)
    image.planes.2 = UnsafeMutablePointer(mutating: frame.v)
    image.stride.0 = Int32(frame.strideY)
    image.stride.1 = Int32(frame.strideUV)
    image.stride.2 = Int32(frame.strideUV)
    return image
  }

  private static func text(_ status: vpx_codec_err_t) -> String {
    String(cString: vpx_codec_err_to_string(status))
  }
}
