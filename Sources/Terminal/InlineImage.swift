import Base

/// Pictures as inline images, iTerm2's own way (iterm2.com/documentation-images.html): each is an image file within
/// a control string. Here it is a PNG (RFC 2083) that is not compressed, which would take longer than to send it; so not by `PNGImage`.
enum InlineImage {
  /// Draws a picture from the cursor on, stretched to so many cells.
  static func draw(_ picture: RGBPicture, columns: Int, rows: Int) -> [UInt8] {
    let file = png(picture)
    let head =
      "\u{1B}]1337;File=inline=1;size=\(file.count);width=\(columns);height=\(rows);preserveAspectRatio=0:"
    return Array(head.utf8) + KittyGraphics.base64(file) + [0x1B, 0x5C]
  }

  static func png(_ picture: RGBPicture) -> [UInt8] {
    var file: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
    file.reserveCapacity(picture.bytes.count + picture.height + picture.bytes.count / 8_000 + 256)
    // 8 bits a channel, red, green and blue.
    let header = bigEndian(UInt32(picture.width)) + bigEndian(UInt32(picture.height)) + [8, 2, 0, 0, 0]
    append("IHDR", header, to: &file)
    append("IDAT", stored(lines(of: picture)), to: &file)
    append("IEND", [], to: &file)
    return file
  }

  /// Each line with the filter's number before it: none.
  private static func lines(of picture: RGBPicture) -> [UInt8] {
    var lines: [UInt8] = []
    lines.reserveCapacity(picture.bytes.count + picture.height)
    for row in 0..<picture.height {
      lines.append(0)
      lines.append(contentsOf: picture.bytes[row * picture.width * 3..<(row + 1) * picture.width * 3])
    }
    return lines
  }

  /// As a stream of zlib's (RFC 1950) in blocks that are stored (RFC 1951, 3.2.4).
  private static func stored(_ bytes: [UInt8]) -> [UInt8] {
    var stream: [UInt8] = [0x78, 0x01]
    stream.reserveCapacity(bytes.count + bytes.count / 8_000 + 16)
    var start = 0
    repeat {
      let end = min(bytes.count, start + 65_535)
      let length = UInt16(end - start)
      stream.append(end == bytes.count ? 1 : 0)
      for value in [length, ~length] {
        stream.append(UInt8(value & 0xFF))
        stream.append(UInt8(value >> 8))
      }
      stream.append(contentsOf: bytes[start..<end])
      start = end
    } while start < bytes.count
    return stream + bigEndian(adler32(bytes))
  }

  private static func append(_ kind: String, _ content: [UInt8], to file: inout [UInt8]) {
    file.append(contentsOf: bigEndian(UInt32(content.count)))
    let start = file.count
    file.append(contentsOf: kind.utf8)
    file.append(contentsOf: content)
    var checksum = CRC32()
    checksum.add(file[start...])
    file.append(contentsOf: bigEndian(checksum.value))
  }

  private static func bigEndian(_ value: UInt32) -> [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
  }

  /// RFC 1950, section 8.2.
  static func adler32(_ bytes: [UInt8]) -> UInt32 {
    var (low, high): (UInt32, UInt32) = (1, 0)
    bytes.withUnsafeBufferPointer { bytes in
      for start in stride(from: 0, to: bytes.count, by: 5_000) {
        // So many can be added before a sum outgrows its 32 bits.
        for index in start..<min(bytes.count, start + 5_000) {
          low &+= UInt32(bytes[index])
          high &+= low
        }
        low %= 65_521
        high %= 65_521
      }
    }
    return high << 16 | low
  }
}
