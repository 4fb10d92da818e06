import Base
import Codecs

/// A picture in somebody else's memory: planes with any distance between their rows, in one of three formats,
/// with its top at any edge. Good for as long as that memory is.
///
/// Who makes one has checked that every plane holds its rows: see `VideoFormat` in OTKit.
package struct RawPicture {
  package enum Format: Sendable {
    /// Planes Y, U and V; chroma has half as many points each way, rounded up.
    case i420
    /// Planes Y and UV, the latter with U and V in turn.
    case nv12
    /// One plane of 32-bit little-endian words 0xAARRGGBB; alpha is not looked at.
    case argb
  }

  /// By how much the picture has to be turned clockwise to stand upright.
  package enum Turn: Sendable {
    case none, quarter, half, threeQuarters

    var swapsSides: Bool { self == .quarter || self == .threeQuarters }
  }

  package struct Plane {
    let bytes: UnsafePointer<UInt8>
    let bytesPerRow: Int

    package init(bytes: UnsafePointer<UInt8>, bytesPerRow: Int) {
      self.bytes = bytes
      self.bytesPerRow = bytesPerRow
    }
  }

  let format: Format
  let size: VideoSize
  /// As many as the format has; the others are not looked at.
  let planes: (Plane, Plane, Plane)

  package init(format: Format, size: VideoSize, planes: (Plane, Plane, Plane)) {
    self.format = format
    self.size = size
    self.planes = planes
  }

  /// The picture as it is encoded: I420, upright.
  package func frame(turned turn: Turn, time: Instant, pool: VideoFramePool) -> VideoFrame {
    let width = turn.swapsSides ? size.height : size.width
    let height = turn.swapsSides ? size.width : size.height
    return VideoFrame(width: width, height: height, time: time, pool: pool) { y, u, v, strideY, strideUV in
      let luma = Target(bytes: y, bytesPerRow: strideY, width: width, height: height)
      let (half, rows) = ((width + 1) / 2, (height + 1) / 2)
      let chromaU = Target(bytes: u, bytesPerRow: strideUV, width: half, height: rows)
      let chromaV = Target(bytes: v, bytesPerRow: strideUV, width: half, height: rows)
      switch format {
      case .i420:
        walk(planes.0, turn).copy(to: luma)
        walk(planes.1, turn, isChroma: true).copy(to: chromaU)
        walk(planes.2, turn, isChroma: true).copy(to: chromaV)
      case .nv12:
        walk(planes.0, turn).copy(to: luma)
        let pairs = walk(planes.1, turn, pixel: 2, isChroma: true)
        pairs.copy(to: chromaU)
        pairs.moved(by: 1).copy(to: chromaV)
      case .argb:
        let pixels = walk(planes.0, turn, pixel: 4)
        pixels.luma(to: luma)
        pixels.chroma(of: luma, to: chromaU, chromaV)
      }
    }
  }

  /// - Parameter pixel: bytes from one point to the next.
  private func walk(_ plane: Plane, _ turn: Turn, pixel: Int = 1, isChroma: Bool = false) -> Walk {
    let width = isChroma ? (size.width + 1) / 2 : size.width
    let height = isChroma ? (size.height + 1) / 2 : size.height
    let (stride, right, bottom) = (plane.bytesPerRow, (width - 1) * pixel, (height - 1) * plane.bytesPerRow)
    return switch turn {
    case .none: Walk(start: plane.bytes, column: pixel, row: stride)
    case .quarter: Walk(start: plane.bytes + bottom, column: -stride, row: pixel)
    case .half: Walk(start: plane.bytes + bottom + right, column: -pixel, row: -stride)
    case .threeQuarters: Walk(start: plane.bytes + right, column: stride, row: -pixel)
    }
  }
}

/// A plane of the picture that is made.
private struct Target {
  let bytes: UnsafeMutablePointer<UInt8>
  let bytesPerRow: Int
  let width: Int
  let height: Int
}

/// How to get through a plane in the order in which an upright picture has its points.
private struct Walk {
  let start: UnsafePointer<UInt8>
  /// Bytes to the next point of a row, and to the first one of the next row.
  let column: Int
  let row: Int

  func moved(by bytes: Int) -> Walk { Walk(start: start + bytes, column: column, row: row) }

  func copy(to target: Target) {
    for line in 0..<target.height {
      let (from, to) = (start + line * row, target.bytes + line * target.bytesPerRow)
      if column == 1 {
        to.update(from: from, count: target.width)
      } else {
        for index in 0..<target.width { to[index] = from[index &* column] }
      }
    }
  }

  /// Of pixels B, G, R, A: BT.601, limited range.
  func luma(to target: Target) {
    for line in 0..<target.height {
      let (from, to) = (start + line * row, target.bytes + line * target.bytesPerRow)
      for index in 0..<target.width {
        let pixel = from + index &* column
        let sum = 25 &* Int32(pixel[0]) &+ 129 &* Int32(pixel[1]) &+ 66 &* Int32(pixel[2])
        to[index] = UInt8(truncatingIfNeeded: (sum &+ 128) >> 8 &+ 16)
      }
    }
  }

  /// Of the mean of up to four pixels.
  func chroma(of luma: Target, to u: Target, _ v: Target) {
    for line in 0..<u.height {
      let upper = start + 2 * line * row
      let below = 2 * line + 1 < luma.height ? row : 0
      let (toU, toV) = (u.bytes + line * u.bytesPerRow, v.bytes + line * v.bytesPerRow)
      for index in 0..<u.width {
        let first = upper + 2 &* index &* column
        let beside = 2 &* index &+ 1 < luma.width ? column : 0
        @inline(__always) func sum(_ channel: Int) -> Int32 {
          Int32(first[channel]) &+ Int32(first[beside &+ channel]) &+ Int32(first[below &+ channel])
            &+ Int32(first[below &+ beside &+ channel])
        }
        let (blue, green, red) = (sum(0), sum(1), sum(2))
        let (difference, other) = (
          112 &* blue &- 74 &* green &- 38 &* red, 112 &* red &- 94 &* green &- 18 &* blue
        )
        toU[index] = UInt8(truncatingIfNeeded: (difference &+ 512) >> 10 &+ 128)
        toV[index] = UInt8(truncatingIfNeeded: (other &+ 512) >> 10 &+ 128)
      }
    }
  }
}
