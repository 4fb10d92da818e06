/// One of the encodings that a publisher makes of each picture; the first is the full one.
package struct VideoEncoding: Hashable, Sendable {
  package static let maximumCount = 2

  /// Bits per second.
  package var bitrate: Int
  /// VP8 temporal layers, 1 to 3: a viewer with less bandwidth may be left without the upper ones.
  package var temporalLayers: Int
  /// Half as wide and half as high.
  package var isHalved: Bool

  package init(bitrate: Int, temporalLayers: Int = 1, isHalved: Bool = false) {
    self.bitrate = bitrate
    self.temporalLayers = temporalLayers
    self.isHalved = isHalved
  }
}
