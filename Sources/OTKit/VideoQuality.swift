import Glibc

/// How a viewer would judge a picture by its size and bitrate, as OpenTok's network test publishes it.
enum VideoQuality {
  /// Bits per second, below which no picture is worth looking at.
  static let minimumBitrate = 30_000.0

  /// - Parameter bitrate: bits per second.
  /// - Returns: 1 (bad) to 5 (as good as that many points can be); nil without a picture.
  static func score(bitrate: Double, pixels: Double) -> Double? {
    guard pixels >= 16 * 16, bitrate.isFinite else { return nil }
    let wanted = wantedBitrate(pixels: pixels)
    guard bitrate > minimumBitrate, wanted > minimumBitrate else { return bitrate >= wanted ? 5 : 1 }
    return 1 + 4 * min(1, log(bitrate / minimumBitrate) / log(wanted / minimumBitrate))
  }

  /// From here on more bits bring nothing: 1.0 Mb/s for 640x480, 2.1 Mb/s for 1280x720.
  static func wantedBitrate(pixels: Double) -> Double {
    pow(10, 2.069924867 * pow(log10(pixels), 0.6250223771))
  }
}
