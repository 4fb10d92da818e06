import Base
import Codecs

/// A bright disc that wanders over a coloured ground. Row by row, as it is made in real time and without
/// optimization.
func movingPicture(_ number: Int, width: Int = 320, height: Int = 240) -> VideoFrame {
  let centre = (x: width / 4 + number * 3 % (width / 2), y: height / 2)
  let radius = Double(height / 4)
  let ground = (0..<width).map { UInt8(truncatingIfNeeded: 40 + $0 * 80 / width) }
  let blue = (0..<(width + 1) / 2).map { UInt8(truncatingIfNeeded: 64 + $0 * 256 / width) }
  return VideoFrame(width: width, height: height, time: MonotonicClock.now()) { y, u, v, strideY, strideUV in
    for row in 0..<height {
      let line = y + row * strideY
      line.update(from: ground, count: width)
      let distance = Double(row - centre.y)
      guard abs(distance) < radius else { continue }
      let half = Int((radius * radius - distance * distance).squareRoot())
      let (left, right) = (max(0, centre.x - half), min(width, centre.x + half + 1))
      (line + left).update(repeating: 220, count: right - left)
    }
    for row in 0..<(height + 1) / 2 {
      (u + row * strideUV).update(from: blue, count: blue.count)
      (v + row * strideUV).update(
        repeating: UInt8(truncatingIfNeeded: 64 + row * 256 / height), count: blue.count)
    }
  }
}
