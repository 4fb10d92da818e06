/// What the first octets of a VP8 frame say (RFC 6386, 9.1).
package enum VP8Frame {
  /// Of a key frame, which alone tells it; nil for all else.
  package static func size(ofKeyFrame bytes: [UInt8]) -> VideoSize? {
    guard bytes.count >= 10, bytes[0] & 1 == 0, bytes[3] == 0x9D, bytes[4] == 0x01, bytes[5] == 0x2A else {
      return nil
    }
    let width = Int(bytes[6]) | Int(bytes[7] & 0x3F) << 8
    let height = Int(bytes[8]) | Int(bytes[9] & 0x3F) << 8
    return width > 0 && height > 0 ? VideoSize(width: width, height: height) : nil
  }
}
