import CAV
import Codecs

/// Scales I420 pictures. Confined to one thread.
final class PlaneScaler {
  private var context: OpaquePointer?
  private let pool = VideoFramePool()

  deinit { sws_freeContext(context) }

  /// Nil if there is no memory.
  func scale(_ frame: VideoFrame, to size: VideoSize) -> VideoFrame? {
    if frame.size == size { return frame }
    context = sws_getCachedContext(
      context, Int32(frame.width), Int32(frame.height), AV_PIX_FMT_YUV420P, Int32(size.width),
      Int32(size.height), AV_PIX_FMT_YUV420P, SWS_BILINEAR, nil, nil, nil)
    guard let context else { return nil }
    return VideoFrame(width: size.width, height: size.height, time: frame.time, pool: pool) {
      y, u, v, strideY, strideUV in
      let source: [UnsafePointer<UInt8>?] = [frame.y, frame.u, frame.v]
      let sourceStrides = [Int32(frame.strideY), Int32(frame.strideUV), Int32(frame.strideUV)]
      let target: [UnsafeMutablePointer<UInt8>?] = [y, u, v]
      let targetStrides = [Int32(strideY), Int32(strideUV), Int32(strideUV)]
      _ = sws_scale(context, source, sourceStrides, 0, Int32(frame.height), target, targetStrides)
    }
  }
}
