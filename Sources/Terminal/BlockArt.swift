/// Block symbols in 24-bit colour: of all ways to cut a cell in two, the one that leaves least of the picture
/// out.
///
/// libchafa does the same and more, for 3.7 µs a cell: at 160x44 cells and 30 pictures a second that is 80 %
/// of a core. This takes less than a tenth of it, for quadrants, halves and quarter lines.
enum BlockArt {
  /// Pixels of a cell: square ones, as a cell is about twice as high as wide.
  static let columns = 2
  static let rows = 4

  struct Block: Equatable {
    /// A code point.
    var code: UInt32
    /// 0xRRGGBB.
    var foreground: UInt32
    var background: UInt32
  }

  /// Below this the halves of a cell differ by a shade that nobody sees: 8 pixels' squared distance from
  /// their mean, on three channels.
  private static let leastContrast: Int32 = 8 * 3 * 6

  /// - Parameters:
  ///   - pixels: the cell's top left pixel; RGB, 8 bits a channel.
  ///   - stride: bytes from one row of pixels to the next.
  @inline(__always)
  static func block(_ pixels: UnsafePointer<UInt8>, stride: Int) -> Block {
    let (a0, b0) = (pixel(pixels), pixel(pixels + 3))
    let (a1, b1) = (pixel(pixels + stride), pixel(pixels + stride + 3))
    let (a2, b2) = (pixel(pixels + 2 * stride), pixel(pixels + 2 * stride + 3))
    let (a3, b3) = (pixel(pixels + 3 * stride), pixel(pixels + 3 * stride + 3))
    let (upperLeft, upperRight, lowerLeft, lowerRight) = (a0 &+ a1, b0 &+ b1, a2 &+ a3, b2 &+ b3)
    let bottom = a3 &+ b3
    let all = upperLeft &+ upperRight &+ lowerLeft &+ lowerRight

    var best = (gain: Int32.min, foreground: all, code: UInt32(0x20), count: Int32(0))
    // What a cut explains of the picture: |S1|²/n1 + |S2|²/n2, times 24.
    @inline(__always) func consider(_ sum: SIMD4<Int32>, _ code: UInt32, _ count: Int32) {
      let rest = all &- sum
      let gain =
        (sum &* sum).wrappedSum() &* (24 / count) &+ (rest &* rest).wrappedSum() &* (24 / (8 - count))
      if gain > best.gain { best = (gain, sum, code, count) }
    }
    consider(upperLeft &+ upperRight, 0x2580, 4)
    consider(upperLeft &+ lowerLeft, 0x258C, 4)
    consider(upperLeft &+ lowerRight, 0x259A, 4)
    consider(upperLeft, 0x2598, 2)
    consider(upperRight, 0x259D, 2)
    consider(lowerLeft, 0x2596, 2)
    consider(lowerRight, 0x2597, 2)
    consider(bottom, 0x2582, 2)
    consider(all &- (a0 &+ b0), 0x2586, 6)
    guard best.gain &- (all &* all).wrappedSum() &* 3 >= leastContrast &* 24 else {
      let color = packed(all, 8)
      return Block(code: 0x20, foreground: color, background: color)
    }
    return Block(
      code: best.code, foreground: packed(best.foreground, best.count),
      background: packed(all &- best.foreground, 8 - best.count))
  }

  @inline(__always)
  private static func pixel(_ bytes: UnsafePointer<UInt8>) -> SIMD4<Int32> {
    SIMD4(Int32(bytes[0]), Int32(bytes[1]), Int32(bytes[2]), 0)
  }

  @inline(__always)
  private static func packed(_ sum: SIMD4<Int32>, _ count: Int32) -> UInt32 {
    let half = count / 2
    let (red, green, blue) = ((sum.x + half) / count, (sum.y + half) / count, (sum.z + half) / count)
    return UInt32(truncatingIfNeeded: red << 16 | green << 8 | blue)
  }
}
