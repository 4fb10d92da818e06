import Codecs
import Glibc

/// How a camera hands out pictures.
package enum CameraFormat: String, Sendable, CaseIterable {
  // Cheapest to take first.
  case i420, nv12, yuyv, uyvy, mjpeg, h264

  /// V4L2's code for it: four characters, the first in the lowest byte.
  var fourcc: UInt32 {
    let text: StaticString =
      switch self {
      case .i420: "YU12"
      case .nv12: "NV12"
      case .yuyv: "YUYV"
      case .uyvy: "UYVY"
      case .mjpeg: "MJPG"
      case .h264: "H264"
      }
    return text.withUTF8Buffer { $0.reversed().reduce(0) { $0 << 8 | UInt32($1) } }
  }

  /// Beside MJPG, some cameras say JPEG.
  init?(fourcc: UInt32) {
    let jpeg: UInt32 = 0x4745_504A
    if fourcc == jpeg {
      self = .mjpeg
    } else if let format = Self.allCases.first(where: { $0.fourcc == fourcc }) {
      self = format
    } else {
      return nil
    }
  }
}

/// One way in which a camera can be run.
package struct CameraMode: Sendable, Equatable {
  package var format: CameraFormat
  /// V4L2's code, of which a format may have two.
  package var fourcc: UInt32
  package var size: VideoSize
  /// Pictures a second.
  package var frameRate: Double

  package init(format: CameraFormat, fourcc: UInt32? = nil, size: VideoSize, frameRate: Double) {
    self.format = format
    self.fourcc = fourcc ?? format.fourcc
    self.size = size
    self.frameRate = frameRate
  }

  /// The mode to run a camera in: the highest rate not above the wish and the nearest size. Where there is not
  /// both, a picture of half the points weighs as much as two thirds of the rate; pictures that are too
  /// large cost only their scaling, and surplus ones are left out.
  ///
  /// - Parameter modes: as the camera lists them.
  package static func best(of modes: [CameraMode], size: VideoSize, frameRate: Int) -> CameraMode? {
    modes.min { $0.cost(size, frameRate) < $1.cost(size, frameRate) }
  }

  private func cost(_ wanted: VideoSize, _ wantedRate: Int) -> Double {
    let rates = log2(max(frameRate, 0.01) / Double(max(1, wantedRate)))
    // 29.97 is as good as 30.
    let rateCost = abs(rates) < 0.02 ? 0 : rates < 0 ? -1.7 * rates : 0.3 + 0.1 * rates
    let (points, wish) = (size.width * size.height, wanted.width * wanted.height)
    let sizes = log2(Double(max(1, points)) / Double(max(1, wish)))
    var sizeCost = sizes < 0 ? -sizes : 0.5 * sizes
    // Another shape means black bars.
    let shapes = Double(size.width * wanted.height) / Double(max(1, size.height * wanted.width))
    sizeCost += 0.5 * abs(log2(max(shapes, 0.01)))
    let formatCost = Double(CameraFormat.allCases.firstIndex(of: format) ?? 0) * 0.001
    return rateCost + sizeCost + formatCost
  }
}
