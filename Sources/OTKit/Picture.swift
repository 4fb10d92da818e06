import Base
import Codecs
import MediaIO

/// A decoded picture: I420, 8 bits, BT.601 limited range. Cheap to keep and to share.
public struct Picture: Sendable {
  /// One plane, row after row, `stride` bytes apart.
  public struct Plane {
    public let bytes: UnsafeBufferPointer<UInt8>
    public let width: Int
    public let height: Int
    public let stride: Int
  }

  let frame: VideoFrame

  public var width: Int { frame.width }
  public var height: Int { frame.height }

  /// Luma and the two chroma planes, which have half as many points each way. Valid during the call only.
  public func withPlanes<Result>(_ body: (_ y: Plane, _ u: Plane, _ v: Plane) throws -> Result) rethrows
    -> Result
  {
    func plane(_ start: UnsafePointer<UInt8>, _ width: Int, _ height: Int, _ stride: Int) -> Plane {
      Plane(
        bytes: UnsafeBufferPointer(start: start, count: stride * height), width: width, height: height,
        stride: stride)
    }
    return try withExtendedLifetime(frame) {
      try body(
        plane(frame.y, frame.width, frame.height, frame.strideY),
        plane(frame.u, frame.chromaWidth, frame.chromaHeight, frame.strideUV),
        plane(frame.v, frame.chromaWidth, frame.chromaHeight, frame.strideUV))
    }
  }
}

extension Subscriber {
  /// Called with each picture when it is due, on the decoder's thread; must not block. Nil: none.
  public func onPicture(_ body: (@Sendable (Picture) -> Void)?) {
    setRenderer(body.map { PictureRenderer(body: $0) })
  }
}

extension Publisher {
  /// The self-view: called with each picture that is taken, on the encoder's thread; must not block.
  /// Nil: none.
  public func onPicture(_ body: (@Sendable (Picture) -> Void)?) async {
    await setRenderer(body.map { PictureRenderer(body: $0) })
  }
}

private struct PictureRenderer: VideoRenderer {
  let body: @Sendable (Picture) -> Void
  func render(_ frame: VideoFrame) { body(Picture(frame: frame)) }
}
