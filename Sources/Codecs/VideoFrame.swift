import Base

/// A picture in I420 (planes Y, U, V; 8 bits; BT.601 limited range), immutable once shared.
///
/// One allocation holds the three planes; rows are `stride` bytes apart, a multiple of 32 so that SIMD
/// code may run over their ends. Odd sizes: chroma planes are rounded up.
package final class VideoFrame: I420Picture, @unchecked Sendable {
  // Safe to share: it is filled before it leaves the thread that made it (`fill`), and read-only then.
  package let width: Int
  package let height: Int
  package let strideY: Int
  package let strideUV: Int
  /// When the picture was taken (capture), or when it should be shown (playback).
  package let time: Instant
  private let memory: UnsafeMutableRawPointer
  private let byteCount: Int
  private let pool: VideoFramePool?

  /// - Parameters:
  ///   - pool: where its memory comes from and goes to, for whoever makes many of one size.
  ///   - fill: writes every visible byte of the three planes, with the strides above.
  package init(
    width: Int, height: Int, time: Instant, pool: VideoFramePool? = nil,
    fill: (
      _ y: UnsafeMutablePointer<UInt8>, _ u: UnsafeMutablePointer<UInt8>, _ v: UnsafeMutablePointer<UInt8>,
      _ strideY: Int, _ strideUV: Int
    ) -> Void
  ) {
    precondition(width > 0 && height > 0 && width <= 16384 && height <= 16384)
    self.width = width
    self.height = height
    self.time = time
    strideY = (width + 31) & ~31
    strideUV = ((width + 1) / 2 + 31) & ~31
    let chroma = strideUV * ((height + 1) / 2)
    byteCount = strideY * height + 2 * chroma
    self.pool = pool
    memory = pool?.take(byteCount) ?? .allocate(byteCount: byteCount, alignment: VideoFramePool.alignment)
    let y = memory.assumingMemoryBound(to: UInt8.self)
    fill(y, y + strideY * height, y + strideY * height + chroma, strideY, strideUV)
  }

  /// The same picture at another time, in memory of its own.
  package convenience init(_ other: VideoFrame, time: Instant, pool: VideoFramePool? = nil) {
    self.init(width: other.width, height: other.height, time: time, pool: pool) { y, _, _, _, _ in
      UnsafeMutableRawPointer(y).copyMemory(from: other.memory, byteCount: other.byteCount)
    }
  }

  deinit {
    if let pool { pool.give(back: memory, byteCount) } else { memory.deallocate() }
  }

  package var y: UnsafePointer<UInt8> { UnsafePointer(memory.assumingMemoryBound(to: UInt8.self)) }
  package var u: UnsafePointer<UInt8> { y + strideY * height }
  package var v: UnsafePointer<UInt8> { u + strideUV * chromaHeight }
}
