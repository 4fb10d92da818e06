import CVPX

/// Which VP8 reference buffers each picture reads and writes, so that a viewer with little bandwidth can be
/// left without the upper layers (RFC 7741, 4.2: TID, Y).
///
/// Two layers: 0 1 0 1; three: 0 2 1 2. Layer 0 lives in LAST, layer 1 in GOLDEN; the top layer is never
/// referred to.
struct TemporalLayers {
  struct Picture: Equatable {
    var identifier: UInt8
    /// Refers to layer 0 only.
    var isSync: Bool
    var flags: vpx_enc_frame_flags_t
  }

  let count: Int
  private var position = 0

  init(count: Int) { self.count = min(max(count, 1), 3) }

  /// The next picture's place; a key frame starts the pattern again.
  mutating func next(keyFrame: Bool) -> Picture {
    if count == 1 { return Picture(identifier: 0, isSync: false, flags: 0) }
    if keyFrame { position = 0 }
    let identifier: UInt8 = count == 2 ? [0, 1][position] : [0, 2, 1, 2][position]
    // The last picture of three layers' pattern may refer to layer 1's, in GOLDEN.
    let usesGolden = position == 3
    position = (position + 1) % (count == 2 ? 2 : 4)
    if keyFrame { return Picture(identifier: 0, isSync: false, flags: 0) }
    var flags = VP8_EFLAG_NO_REF_ARF | VP8_EFLAG_NO_UPD_ARF
    if !usesGolden { flags |= VP8_EFLAG_NO_REF_GF }
    switch identifier {
    case 0: flags |= VP8_EFLAG_NO_UPD_GF
    case 1 where count == 3: flags |= VP8_EFLAG_NO_UPD_LAST
    default: flags |= VP8_EFLAG_NO_UPD_LAST | VP8_EFLAG_NO_UPD_GF | VP8_EFLAG_NO_UPD_ENTROPY
    }
    return Picture(
      identifier: identifier, isSync: identifier > 0 && !usesGolden, flags: vpx_enc_frame_flags_t(flags))
  }

  func configure(_ settings: inout vpx_codec_enc_cfg_t) {
    settings.ts_number_layers = UInt32(count)
    switch count {
    case 2:
      settings.ts_periodicity = 2
      settings.ts_rate_decimator.0 = 2
      settings.ts_rate_decimator.1 = 1
      settings.ts_layer_id.0 = 0
      settings.ts_layer_id.1 = 1
    case 3:
      settings.ts_periodicity = 4
      settings.ts_rate_decimator.0 = 4
      settings.ts_rate_decimator.1 = 2
      settings.ts_rate_decimator.2 = 1
      settings.ts_layer_id.0 = 0
      settings.ts_layer_id.1 = 2
      settings.ts_layer_id.2 = 1
      settings.ts_layer_id.3 = 2
    default: break
    }
  }

  /// Cumulative shares of the layers: 60/100 %, and 40/60/100 %.
  func applyBitrate(_ settings: inout vpx_codec_enc_cfg_t) {
    let total = settings.rc_target_bitrate
    switch count {
    case 2:
      settings.ts_target_bitrate.0 = total * 60 / 100
      settings.ts_target_bitrate.1 = total
    case 3:
      settings.ts_target_bitrate.0 = total * 40 / 100
      settings.ts_target_bitrate.1 = total * 60 / 100
      settings.ts_target_bitrate.2 = total
    default: break
    }
  }
}
