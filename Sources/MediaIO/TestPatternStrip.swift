import Codecs
import Glibc

/// The machine-readable strip at the foot of the test pattern: 4 rows of 32 black or white cells over the
/// whole width and a tenth of the height, whatever the size, so that it survives scaling and low bitrates.
///
///     row 0: frame number (32 bits)
///     row 1: send time, upper 32 of 56 bits (µs since the Unix epoch)
///     row 2: send time, lower 24 bits; stream, upper 8 of 16 bits
///     row 3: stream, lower 8 bits; CRC-24 of all that (RFC 9580, 6.1)
///
/// The stream's highest bit says that the picture above is not what `TestPattern` draws. Our page draws that, too.
package struct TestPatternStrip: Equatable, Sendable {
  package var frameNumber: UInt32
  /// Microseconds since the Unix epoch.
  package var sendTime: Int64
  /// Which stream it belongs to.
  package var stream: UInt16

  package init(frameNumber: UInt32, sendTime: Int64, stream: UInt16) {
    self.frameNumber = frameNumber
    self.sendTime = sendTime
    self.stream = stream
  }

  /// Whether the rest of the picture is what `TestPattern` draws.
  var isOurDrawing: Bool { stream & 0x8000 == 0 }

  static let columns = 32
  static let rowCount = 4
  /// The strip's height is the picture's divided by this.
  static let heightDivisor = 10

  private static let threshold = 126

  // MARK: Bits

  var rows: [UInt32] {
    let time = UInt64(bitPattern: sendTime) & 0xFF_FFFF_FFFF_FFFF
    var rows = [
      frameNumber, UInt32(truncatingIfNeeded: time >> 24),
      UInt32(truncatingIfNeeded: time & 0xFF_FFFF) << 8 | UInt32(stream >> 8), UInt32(stream & 0xFF) << 24,
    ]
    rows[3] |= Self.checksum(rows)
    return rows
  }

  /// Nil if the checksum is wrong.
  init?(rows: [UInt32]) {
    guard rows.count == Self.rowCount, rows[3] & 0xFF_FFFF == Self.checksum(rows) else { return nil }
    frameNumber = rows[0]
    sendTime = Int64(rows[1]) << 24 | Int64(rows[2] >> 8)
    stream = UInt16(rows[2] & 0xFF) << 8 | UInt16(rows[3] >> 24)
  }

  private static func checksum(_ rows: [UInt32]) -> UInt32 {
    var crc: UInt32 = 0xB7_04CE
    for index in 0..<13 {
      let byte = rows[index / 4] >> UInt32(24 - index % 4 * 8) & 0xFF
      crc ^= byte << 16
      for _ in 0..<8 {
        crc <<= 1
        if crc & 0x100_0000 != 0 { crc ^= 0x186_4CFB }
      }
    }
    return crc & 0xFF_FFFF
  }

  // MARK: Pixels

  /// Draws it into a luma plane; the chroma below it should be neutral.
  ///
  /// - Parameters:
  ///   - black: luma.
  ///   - white: luma.
  func draw(
    _ y: UnsafeMutablePointer<UInt8>, stride: Int, size: VideoSize, black: UInt8 = 16, white: UInt8 = 235
  ) {
    let top = size.height - size.height / Self.heightDivisor
    let height = size.height - top
    for (row, bits) in rows.enumerated() {
      let first = top + row * height / Self.rowCount
      let last = top + (row + 1) * height / Self.rowCount
      guard first < last else { continue }
      let line = y + first * stride
      for column in 0..<Self.columns {
        let left = column * size.width / Self.columns
        let right = (column + 1) * size.width / Self.columns
        let isSet = bits >> UInt32(Self.columns - 1 - column) & 1 == 1
        memset(line + left, Int32(isSet ? white : black), right - left)
      }
      for other in first + 1..<max(first + 1, last) { memcpy(y + other * stride, line, size.width) }
    }
  }

  /// What a decoded picture says; nil if it is not our pattern or too damaged.
  package init?(reading frame: some I420Picture) {
    let size = frame.size
    let top = size.height - size.height / Self.heightDivisor
    let height = size.height - top
    guard height >= Self.rowCount, size.width >= Self.columns else { return nil }
    // Asked once: there are thousands of pixels.
    let (luma, stride) = (frame.y, frame.strideY)
    var rows: [UInt32] = []
    for row in 0..<Self.rowCount {
      var bits: UInt32 = 0
      let centre = top + (2 * row + 1) * height / (2 * Self.rowCount)
      for column in 0..<Self.columns {
        let middle = (2 * column + 1) * size.width / (2 * Self.columns)
        bits = bits << 1 | (Self.mean(luma, stride, size, middle, centre) > Self.threshold ? 1 : 0)
      }
      rows.append(bits)
    }
    self.init(rows: rows)
  }

  /// Mean of the pixels around a cell's centre.
  private static func mean(
    _ luma: UnsafePointer<UInt8>, _ stride: Int, _ size: VideoSize, _ x: Int, _ y: Int
  ) -> Int {
    let reach = min(2, size.width / columns / 4, size.height / heightDivisor / rowCount / 4)
    var sum = 0
    var count = 0
    for row in max(0, y - reach)...min(size.height - 1, y + reach) {
      for column in max(0, x - reach)...min(size.width - 1, x + reach) {
        sum += Int(luma[row * stride + column])
        count += 1
      }
    }
    return sum / count
  }
}
