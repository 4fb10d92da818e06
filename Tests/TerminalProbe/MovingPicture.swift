import Base
import Codecs

/// A bright disc that wanders over a coloured ground.
func movingPicture(_ number: Int, width: Int = 320, height: Int = 240) -> VideoFrame {
  let centre = (x: width / 4 + number * 3 % (width / 2), y: height / 2)
  let radius = height / 4
  return VideoFrame(width: width, height: height, time: MonotonicClock.now()) { y, u, v, strideY, strideUV in
    for row in 0..<height {
      let line = y + row * strideY
      for column in 0..<width {
        let (dx, dy) = (column - centre.x, row - centre.y)
        let inside = dx * dx + dy * dy < radius * radius
        line[column] = inside ? 220 : UInt8(truncatingIfNeeded: 40 + column * 80 / width)
      }
    }
    for row in 0..<(height + 1) / 2 {
      for column in 0..<(width + 1) / 2 {
        u[row * strideUV + column] = UInt8(truncatingIfNeeded: 64 + column * 256 / width)
        v[row * strideUV + column] = UInt8(truncatingIfNeeded: 64 + row * 256 / height)
      }
    }
  }
}
