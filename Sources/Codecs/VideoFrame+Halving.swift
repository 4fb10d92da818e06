extension VideoFrame {
  /// Half as wide and half as high, each pixel the mean of four; odd sizes are rounded up.
  package func halved() -> VideoFrame {
    VideoFrame(width: (width + 1) / 2, height: (height + 1) / 2, time: time) { y, u, v, strideY, strideUV in
      Self.halve(self.y, width, height, self.strideY, to: y, strideY)
      Self.halve(self.u, chromaWidth, chromaHeight, self.strideUV, to: u, strideUV)
      Self.halve(self.v, chromaWidth, chromaHeight, self.strideUV, to: v, strideUV)
    }
  }

  private static func halve(
    _ source: UnsafePointer<UInt8>, _ width: Int, _ height: Int, _ stride: Int,
    to target: UnsafeMutablePointer<UInt8>, _ targetStride: Int
  ) {
    for row in 0..<(height + 1) / 2 {
      let upper = source + 2 * row * stride
      let lower = 2 * row + 1 < height ? upper + stride : upper
      let line = target + row * targetStride
      for column in 0..<width / 2 {
        let sum =
          UInt16(upper[2 * column]) &+ UInt16(upper[2 * column &+ 1])
          &+ UInt16(lower[2 * column]) &+ UInt16(lower[2 * column &+ 1])
        line[column] = UInt8(truncatingIfNeeded: (sum &+ 2) >> 2)
      }
      if width % 2 == 1 {
        let sum = UInt16(upper[width - 1]) + UInt16(lower[width - 1])
        line[width / 2] = UInt8(truncatingIfNeeded: (sum + 1) >> 1)
      }
    }
  }
}
