/// How red, green and blue become luma and chroma.
enum ColourConversion: CaseIterable, Sendable {
  /// BT.601 in limited range, as VP8 in WebRTC has it by convention.
  case standard
  case standardFull
  /// BT.709: what Chromium makes of a canvas is that, in full range.
  case highDefinition
  case highDefinitionFull

  private var isFull: Bool { self == .standardFull || self == .highDefinitionFull }

  /// The shares of red and of blue in luma.
  private var shares: (red: Double, blue: Double) {
    switch self {
    case .standard, .standardFull: (0.299, 0.114)
    case .highDefinition, .highDefinitionFull: (0.2126, 0.0722)
    }
  }

  /// - Parameters: 0 to 1.
  func colour(red: Double, green: Double, blue: Double) -> Colour {
    let (kr, kb) = shares
    let luma = kr * red + (1 - kr - kb) * green + kb * blue
    return Colour(
      y: Self.byte(isFull ? 255 * luma : 16 + 219 * luma),
      u: Self.byte(128 + (isFull ? 255 : 224) * (blue - luma) / (2 - 2 * kb)),
      v: Self.byte(128 + (isFull ? 255 : 224) * (red - luma) / (2 - 2 * kr)))
  }

  private static func byte(_ value: Double) -> UInt8 { UInt8(min(255, max(0, value)).rounded()) }
}
