import Base
import Glibc

/// Width and height of a picture in pixels; both at least 1.
package struct VideoSize: Hashable, Sendable, CustomStringConvertible {
  package var width: Int
  package var height: Int

  package init(width: Int, height: Int) {
    self.width = width
    self.height = height
  }

  package var pixels: Int { width * height }

  /// `640x480`.
  package var description: String { "\(width)x\(height)" }
}

extension VideoFrame {
  /// A picture without light.
  package static func black(_ size: VideoSize, time: Instant) -> VideoFrame {
    VideoFrame(width: size.width, height: size.height, time: time) { y, u, v, strideY, strideUV in
      memset(y, 16, strideY * size.height)
      memset(u, 128, strideUV * ((size.height + 1) / 2))
      memset(v, 128, strideUV * ((size.height + 1) / 2))
    }
  }
}
