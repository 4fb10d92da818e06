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

  /// When it is due (of a subscriber) or was taken (of a publisher), on CLOCK_MONOTONIC.
  public var timestamp: Duration { .nanoseconds(frame.time.nanoseconds) }

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

/// A renderer of your own: `subscriber.setVideoRenderer(…)`, `publisher.setVideoRenderer(…)`.
public protocol VideoRenderer: AnyObject, Sendable {
  /// Shows a picture that is due now; it is always upright. Called on the subscriber's decoder thread (of a
  /// publisher: its encoder thread), one call after the other. It must not block: whatever takes long is for another
  /// thread, to which a picture may be handed, as it stays as it is for as long as somebody keeps it. Meanwhile
  /// no other picture of that stream is shown; all else in the call goes on.
  func renderVideoFrame(_ frame: Picture)
}

extension Subscriber {
  /// In place of the one before, and of `onPicture`. Nil: none.
  public func setVideoRenderer(_ renderer: (any VideoRenderer)?) {
    setRenderer(renderer.map { RendererSink(renderer: $0) })
  }

  /// Called with each picture when it is due, on the decoder's thread; must not block. Nil: none.
  public func onPicture(_ body: (@Sendable (Picture) -> Void)?) {
    setRenderer(body.map { PictureSink(body: $0) })
  }
}

extension Publisher {
  /// The self-view, in place of the one before, and of `onPicture`. Nil: none.
  public func setVideoRenderer(_ renderer: (any VideoRenderer)?) async {
    await setRenderer(renderer.map { RendererSink(renderer: $0) })
  }

  /// The self-view: called with each picture that is taken, on the encoder's thread; must not block.
  /// Nil: none.
  public func onPicture(_ body: (@Sendable (Picture) -> Void)?) async {
    await setRenderer(body.map { PictureSink(body: $0) })
  }
}

private struct PictureSink: VideoSink {
  let body: @Sendable (Picture) -> Void
  func render(_ frame: VideoFrame) { body(Picture(frame: frame)) }
}

private struct RendererSink: VideoSink {
  let renderer: any VideoRenderer
  func render(_ frame: VideoFrame) { renderer.renderVideoFrame(Picture(frame: frame)) }
}
