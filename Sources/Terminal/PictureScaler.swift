import Codecs

/// A picture in packed RGB, 8 bits a channel, no padding.
struct RGBPicture {
  var width = 0
  var height = 0
  var bytes: [UInt8] = []
}

/// Shrinks I420 (BT.601, limited range) to RGB. Confined to one thread; keeps its memory between pictures.
struct PictureScaler {
  /// At most so many samples a side are averaged for a pixel.
  private static let maximumSamples = 4

  private(set) var picture = RGBPicture()
  private var columns: [Span] = []
  private var columnsKey = (0, 0)

  private struct Span {
    var start: Int
    var step: Int
    var count: Int
    /// The chroma sample in the middle.
    var chroma: Int

    init(_ index: Int, of target: Int, over source: Int) {
      start = index * source / target
      let length = max(1, (index + 1) * source / target - start)
      step = max(1, length / PictureScaler.maximumSamples)
      count = max(1, length / step)
      chroma = (start + length / 2) / 2
    }
  }

  /// - Parameter enlarges: else each side is at most the frame's.
  mutating func scale(
    _ frame: VideoFrame, width: Int, height: Int, filter: PictureFilter, enlarges: Bool = false
  ) {
    let width = enlarges ? max(1, width) : min(max(1, width), frame.width)
    let height = enlarges ? max(1, height) : min(max(1, height), frame.height)
    if picture.width != width || picture.height != height {
      picture = RGBPicture(
        width: width, height: height, bytes: [UInt8](repeating: 0, count: width * height * 3))
    }
    if columnsKey != (width, frame.width) {
      columns = (0..<width).map { Span($0, of: width, over: frame.width) }
      columnsKey = (width, frame.width)
    }
    columns.withUnsafeBufferPointer { columns in
      picture.bytes.withUnsafeMutableBufferPointer { output in
        var index = 0
        for line in 0..<height {
          let row = Span(line, of: height, over: frame.height)
          let chroma = min(row.chroma, frame.chromaHeight - 1) * frame.strideUV
          for column in columns {
            var sum = 0
            for y in 0..<row.count {
              let samples = frame.y + (row.start + y * row.step) * frame.strideY + column.start
              for x in 0..<column.count { sum &+= Int(samples[x &* column.step]) }
            }
            let luma = 298 &* (sum / (row.count &* column.count) &- 16)
            let place = chroma &+ min(column.chroma, frame.chromaWidth &- 1)
            let blue = Int(frame.u[place]) &- 128
            let red = Int(frame.v[place]) &- 128
            output[index] = Self.byte(luma &+ 409 &* red)
            output[index &+ 1] = Self.byte(luma &- 100 &* blue &- 208 &* red)
            output[index &+ 2] = Self.byte(luma &+ 516 &* blue)
            index &+= 3
          }
        }
      }
    }
    filter.apply(to: &picture)
  }

  /// - Parameter value: 256 times a channel.
  private static func byte(_ value: Int) -> UInt8 {
    UInt8(truncatingIfNeeded: min(255, max(0, (value &+ 128) >> 8)))
  }
}
