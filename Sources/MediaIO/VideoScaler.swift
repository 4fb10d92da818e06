import Base
import CAV
import Codecs

/// Brings decoded pictures of any size and pixel format to one size in I420, keeping their shape, with
/// black bars.
final class VideoScaler {
  private let size: VideoSize
  private var context: OpaquePointer?
  private let pool = VideoFramePool()

  init(size: VideoSize) { self.size = size }

  deinit { sws_freeContext(context) }

  /// Nil if the pixel format cannot be read.
  func scale(_ frame: UnsafeMutablePointer<AVFrame>, time: Instant) -> VideoFrame? {
    let (width, height) = (frame.pointee.width, frame.pointee.height)
    guard width > 0, height > 0 else { return nil }
    let target = Self.place(
      width: Int(width), height: Int(height), aspect: frame.pointee.sample_aspect_ratio, in: size)
    context = sws_getCachedContext(
      context, width, height, AVPixelFormat(frame.pointee.format), Int32(target.width), Int32(target.height),
      AV_PIX_FMT_YUV420P, SWS_BILINEAR, nil, nil, nil)
    guard let context else { return nil }
    return VideoFrame(width: size.width, height: size.height, time: time, pool: pool) {
      y, u, v, strideY, strideUV in
      let chroma = target.y / 2 * strideUV + target.x / 2
      var planes: [UnsafeMutablePointer<UInt8>?] = [
        y + target.y * strideY + target.x, u + chroma, v + chroma,
      ]
      var strides = [Int32(strideY), Int32(strideUV), Int32(strideUV)]
      withUnsafePointer(to: &frame.pointee.data) { data in
        withUnsafePointer(to: &frame.pointee.linesize) { lines in
          data.withMemoryRebound(to: UnsafePointer<UInt8>?.self, capacity: 8) { data in
            lines.withMemoryRebound(to: Int32.self, capacity: 8) { lines in
              _ = sws_scale(context, data, lines, 0, height, &planes, &strides)
            }
          }
        }
      }
      // After the picture, since scaling may write a little over its right edge.
      let canvas = Canvas(y: y, u: u, v: v, strideY: strideY, strideUV: strideUV, size: size)
      canvas.fill(x: 0, y: 0, width: size.width, height: target.y, .black)
      canvas.fill(x: 0, y: target.y + target.height, width: size.width, height: size.height, .black)
      canvas.fill(x: 0, y: 0, width: target.x, height: size.height, .black)
      canvas.fill(x: target.x + target.width, y: 0, width: size.width, height: size.height, .black)
    }
  }

  /// The largest place in `size` that has the picture's shape; at even positions, for the chroma.
  static func place(width: Int, height: Int, aspect: AVRational, in size: VideoSize)
    -> (x: Int, y: Int, width: Int, height: Int)
  {
    var shape = Double(width) / Double(height)
    if aspect.num > 0, aspect.den > 0 { shape *= Double(aspect.num) / Double(aspect.den) }
    shape = min(max(shape, 0.01), 100)
    var (targetWidth, targetHeight) = (size.width, size.height)
    if shape * Double(size.height) < Double(size.width) {
      targetWidth = Int((shape * Double(size.height)).rounded())
    } else {
      targetHeight = Int((Double(size.width) / shape).rounded())
    }
    // A bar of less than two pixels is not worth it.
    targetWidth = size.width - targetWidth < 4 ? size.width : max(2, targetWidth & ~1)
    targetHeight = size.height - targetHeight < 4 ? size.height : max(2, targetHeight & ~1)
    targetWidth = min(targetWidth, size.width)
    targetHeight = min(targetHeight, size.height)
    return (
      (size.width - targetWidth) / 2 & ~1, (size.height - targetHeight) / 2 & ~1, targetWidth, targetHeight
    )
  }
}
