import Base

/// Three planes of 8 bits, wherever they lie. Odd sizes: chroma planes are rounded up.
package protocol I420Picture {
  var width: Int { get }
  var height: Int { get }
  var y: UnsafePointer<UInt8> { get }
  var u: UnsafePointer<UInt8> { get }
  var v: UnsafePointer<UInt8> { get }
  /// Bytes from one row to the next.
  var strideY: Int { get }
  var strideUV: Int { get }
}

extension I420Picture {
  package var size: VideoSize { VideoSize(width: width, height: height) }
  package var chromaWidth: Int { (width + 1) / 2 }
  package var chromaHeight: Int { (height + 1) / 2 }
}

/// A picture in its decoder's own memory: to be looked at, or copied, before the decoder goes on.
package struct DecodedPicture: I420Picture {
  package let width: Int
  package let height: Int
  package let y: UnsafePointer<UInt8>
  package let u: UnsafePointer<UInt8>
  package let v: UnsafePointer<UInt8>
  package let strideY: Int
  package let strideUV: Int
  package let time: Instant
  let pool: VideoFramePool

  /// A picture that stays.
  package func copy() -> VideoFrame {
    VideoFrame(width: width, height: height, time: time, pool: pool) { toY, toU, toV, toStrideY, toStrideUV in
      Self.copy(y, strideY, toY, toStrideY, width, height)
      Self.copy(u, strideUV, toU, toStrideUV, chromaWidth, chromaHeight)
      Self.copy(v, strideUV, toV, toStrideUV, chromaWidth, chromaHeight)
    }
  }

  private static func copy(
    _ source: UnsafePointer<UInt8>, _ sourceStride: Int, _ target: UnsafeMutablePointer<UInt8>,
    _ targetStride: Int, _ width: Int, _ height: Int
  ) {
    for row in 0..<height {
      (target + row * targetStride).update(from: source + row * sourceStride, count: width)
    }
  }
}
