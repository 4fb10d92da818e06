import Codecs
import MediaIO

/// How a capturer's pictures lie in memory.
public struct VideoFormat: Sendable, Hashable {
  /// 8 bits a value; BT.601, limited range, where it is YUV.
  public enum PixelFormat: Sendable, Hashable {
    /// Three planes: Y, U, V. Chroma has half as many points each way, rounded up.
    case i420
    /// Two planes: Y, and U and V in turn.
    case nv12
    /// One plane of 32-bit little-endian words 0xAARRGGBB, which are the bytes B, G, R, A, as X11, Cairo and
    /// libyuv have them. Alpha is not looked at.
    case argb

    public var planeCount: Int {
      switch self {
      case .i420: 3
      case .nv12: 2
      case .argb: 1
      }
    }
  }

  public var pixelFormat: PixelFormat
  /// Points, 16 to 4096 each way.
  public var width: Int
  public var height: Int
  /// From the beginning of a row to that of the next, for each plane; at least `minimumBytesPerRow`.
  public var bytesPerRow: [Int]
  /// Pictures a second, as far as that is known.
  public var framesPerSecond: Int

  /// - Parameter bytesPerRow: for each plane; nil: rows follow each other without a gap.
  public init(
    _ pixelFormat: PixelFormat, width: Int, height: Int, bytesPerRow: [Int]? = nil, framesPerSecond: Int = 30
  ) {
    self.pixelFormat = pixelFormat
    self.width = width
    self.height = height
    self.framesPerSecond = framesPerSecond
    self.bytesPerRow = []
    self.bytesPerRow =
      bytesPerRow ?? (0..<pixelFormat.planeCount).map { minimumBytesPerRow(ofPlane: $0) }
  }

  /// What a plane's row holds, without any padding.
  public func minimumBytesPerRow(ofPlane plane: Int) -> Int {
    switch (pixelFormat, plane) {
    case (.argb, _): width &* 4
    case (_, 0): width
    case (.i420, _): width / 2 &+ width % 2
    case (.nv12, _): (width / 2 &+ width % 2) &* 2
    }
  }

  /// Bytes of a plane, from its first row's beginning to its last row's end; padding behind that is not
  /// needed. Nil if the format makes no sense.
  public func byteCount(ofPlane plane: Int) -> Int? {
    guard isSensible, bytesPerRow.indices.contains(plane) else { return nil }
    return (rows(ofPlane: plane) - 1) * bytesPerRow[plane] + minimumBytesPerRow(ofPlane: plane)
  }

  func rows(ofPlane plane: Int) -> Int { plane == 0 ? height : height / 2 + height % 2 }

  /// Points each way that can be encoded and sent.
  static let sizes = 16...4096
  /// More is no row, and could overflow a sum.
  static let longestRow = 1 << 20

  var isSensible: Bool { fault == nil }

  /// What is wrong with it.
  var fault: VideoCaptureError? {
    guard Self.sizes.contains(width), Self.sizes.contains(height) else {
      return .unsupportedSize(width: width, height: height)
    }
    guard bytesPerRow.count == pixelFormat.planeCount else {
      return .wrongPlaneCount(bytesPerRow.count, needed: pixelFormat.planeCount)
    }
    for (plane, bytes) in bytesPerRow.enumerated() {
      let least = minimumBytesPerRow(ofPlane: plane)
      guard (least...Self.longestRow).contains(bytes) else {
        return .wrongBytesPerRow(bytes, plane: plane, minimum: least)
      }
    }
    return nil
  }

  var size: VideoSize { VideoSize(width: width, height: height) }
}

/// Where in memory the top of a picture is. What is sent stands upright, whatever this says.
public enum VideoOrientation: Sendable, Hashable {
  /// Its top is the first row.
  case up
  /// The last row: it is turned by 180 degrees.
  case down
  /// The left edge: it is turned clockwise by 90 degrees, and gets as wide as it was high.
  case left
  /// The right edge: it is turned clockwise by 270 degrees.
  case right

  var turn: RawPicture.Turn {
    switch self {
    case .up: .none
    case .left: .quarter
    case .down: .half
    case .right: .threeQuarters
    }
  }
}

/// Why a captured picture was not taken. The call goes on without it.
public enum VideoCaptureError: Error, Sendable, Hashable {
  /// Pictures have 16 to 4096 points each way.
  case unsupportedSize(width: Int, height: Int)
  case wrongPlaneCount(Int, needed: Int)
  /// Shorter than a row is, or negative, or senselessly long.
  case wrongBytesPerRow(Int, plane: Int, minimum: Int)
  /// The memory ends before the picture does.
  case planeTooShort(Int, plane: Int, needed: Int)
  /// Before `startCapture`, or after `stopCapture` was called.
  case notCapturing
}
