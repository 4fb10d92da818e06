import RTP

/// Chooses a subscriber's pictures out of a publisher's encodings and their temporal layers (RFC 7741, TID
/// and Y), so that what it gets can always be decoded: it comes into an encoding at a key frame, and up to a
/// layer at a picture that refers to the base layer only.
struct LayerSelection {
  /// What it shall get.
  var wanted = EncodingAllocation.Share.whole
  private var current = EncodingAllocation.Share.whole
  private var isInterrupted = false

  /// Whether a key frame of the wanted encoding is needed.
  var needsKeyFrame: Bool { isInterrupted || wanted.encoding != current.encoding }

  /// Pictures have been kept back: the next one has to be a key frame.
  mutating func interrupt() { isInterrupted = true }

  /// Whether the subscriber gets this picture; to be asked for each, in the order of encoding.
  mutating func takes(_ frame: EncodedVideoFrame) -> Bool {
    if frame.isKeyFrame, frame.encoding == wanted.encoding {
      current = wanted
      isInterrupted = false
    }
    guard !isInterrupted, frame.encoding == current.encoding else { return false }
    if current.encoding == wanted.encoding {
      current.highestLayer = min(current.highestLayer, wanted.highestLayer)
      if frame.layerSync, frame.temporalLayer <= wanted.highestLayer {
        current.highestLayer = max(current.highestLayer, frame.temporalLayer)
      }
    }
    return frame.temporalLayer <= current.highestLayer
  }
}
