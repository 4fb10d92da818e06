/// What can go wrong in a codec. A peer's broken packet is `corruptPacket`: count it, drop it, go on.
package enum CodecError: Error, Equatable, Sendable {
  /// The library refused to make an encoder or decoder.
  case unavailable(codec: String, reason: String)
  /// The caller's samples or picture do not fit the encoder.
  case unsupportedFormat(String)
  case encodingFailed(String)
  /// The packet cannot be decoded, or only with damage.
  case corruptPacket
  /// The picture needs one that was never decoded: ask for a key frame.
  case keyFrameMissing
}
