/// What is done to a picture before it is shown: pure functions over its pixels.
package enum PictureFilter: String, CaseIterable, Sendable {
  case none
  /// Shades of grey.
  case mono
  /// Bright lines where the picture changes.
  case edges
  /// Ten colours that people with any kind of colour vision tell apart.
  case palette
  case negative

  package var next: PictureFilter {
    let all = Self.allCases
    return all[((all.firstIndex(of: self) ?? 0) + 1) % all.count]
  }

  /// What it does, for the command line's help.
  package var summary: String {
    switch self {
    case .none: "the picture as it is"
    case .mono: "shades of grey"
    case .edges: "bright lines where the picture changes"
    case .palette: "ten colours that everybody can tell apart"
    case .negative: "light is dark and dark is light"
    }
  }

  func apply(to picture: inout RGBPicture) {
    switch self {
    case .none: break
    case .mono: Self.mono(&picture.bytes)
    case .edges: Self.edges(&picture)
    case .palette: Self.palette(&picture.bytes)
    case .negative: for index in picture.bytes.indices { picture.bytes[index] = ~picture.bytes[index] }
    }
  }

  /// BT.601 luma of an RGB pixel.
  @inline(__always)
  private static func luma(_ bytes: UnsafeBufferPointer<UInt8>, _ index: Int) -> Int {
    (77 &* Int(bytes[index]) &+ 150 &* Int(bytes[index &+ 1]) &+ 29 &* Int(bytes[index &+ 2]) &+ 128) >> 8
  }

  private static func mono(_ bytes: inout [UInt8]) {
    bytes.withUnsafeMutableBufferPointer { bytes in
      for index in stride(from: 0, to: bytes.count - 2, by: 3) {
        let grey = UInt8(truncatingIfNeeded: luma(UnsafeBufferPointer(bytes), index))
        (bytes[index], bytes[index + 1], bytes[index + 2]) = (grey, grey, grey)
      }
    }
  }

  /// Sobel's operator on the luma; beyond the edge of the picture its edge goes on.
  private static func edges(_ picture: inout RGBPicture) {
    let (width, height) = (picture.width, picture.height)
    let grey = picture.bytes.withUnsafeBufferPointer { bytes in
      (0..<width * height).map { luma(bytes, $0 * 3) }
    }
    grey.withUnsafeBufferPointer { grey in
      picture.bytes.withUnsafeMutableBufferPointer { bytes in
        for row in 0..<height {
          let (above, here, below) = (max(0, row - 1) * width, row * width, min(height - 1, row + 1) * width)
          for column in 0..<width {
            let (left, right) = (max(0, column - 1), min(width - 1, column + 1))
            let across =
              grey[above &+ right] &+ 2 &* grey[here &+ right] &+ grey[below &+ right]
              &- grey[above &+ left] &- 2 &* grey[here &+ left] &- grey[below &+ left]
            let down =
              grey[below &+ left] &+ 2 &* grey[below &+ column] &+ grey[below &+ right]
              &- grey[above &+ left] &- 2 &* grey[above &+ column] &- grey[above &+ right]
            let strength = UInt8(truncatingIfNeeded: min(255, abs(across) &+ abs(down)))
            let index = (here &+ column) &* 3
            (bytes[index], bytes[index + 1], bytes[index + 2]) = (strength, strength, strength)
          }
        }
      }
    }
  }

  /// Okabe's and Ito's colours for everybody, with white and a grey.
  static let colors: [(red: Int, green: Int, blue: Int)] = [
    (0, 0, 0), (230, 159, 0), (86, 180, 233), (0, 158, 115), (240, 228, 66), (0, 114, 178), (213, 94, 0),
    (204, 121, 167), (255, 255, 255), (128, 128, 128),
  ]

  private static func palette(_ bytes: inout [UInt8]) {
    bytes.withUnsafeMutableBufferPointer { bytes in
      for index in stride(from: 0, to: bytes.count - 2, by: 3) {
        let (red, green, blue) = (Int(bytes[index]), Int(bytes[index + 1]), Int(bytes[index + 2]))
        var best = (distance: Int.max, color: colors[0])
        for color in colors {
          let (dr, dg, db) = (red &- color.red, green &- color.green, blue &- color.blue)
          // The eye's weights, roughly.
          let distance = 3 &* dr &* dr &+ 6 &* dg &* dg &+ 2 &* db &* db
          if distance < best.distance { best = (distance, color) }
        }
        bytes[index] = UInt8(best.color.red)
        bytes[index + 1] = UInt8(best.color.green)
        bytes[index + 2] = UInt8(best.color.blue)
      }
    }
  }
}
