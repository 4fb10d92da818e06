/// What a stream carries.
package enum MediaKind: String, Sendable, Hashable {
  case audio, video

  /// RTP clock rate in Hz of the codecs we use: Opus (RFC 7587, 4.1), VP8 (RFC 7741, 4.1).
  package var clockRate: Int {
    switch self {
    case .audio: 48_000
    case .video: 90_000
    }
  }
}
