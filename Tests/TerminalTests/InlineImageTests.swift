import Base
import Foundation
import Testing

@testable import Terminal

struct InlineImageTests {
  @Test func sumsAreThoseOfTheSpecification() {
    #expect(InlineImage.adler32(Array("Wikipedia".utf8)) == 0x11E6_0398)
    // Longer than what is added up at once, and of the largest values.
    #expect(InlineImage.adler32(Array(repeating: 255, count: 100_000)) == 0x149A_302C)
  }

  /// What a terminal makes of it: size in cells, and the file.
  private func parse(_ bytes: [UInt8]) throws -> (columns: Int, rows: Int, file: [UInt8]) {
    let text = String(decoding: bytes, as: UTF8.self)
    let match = try #require(
      text.wholeMatch(
        of:
          /\x1B]1337;File=inline=1;size=(\d+);width=(\d+);height=(\d+);preserveAspectRatio=0:([A-Za-z0-9+\/=]+)\x1B\\/
      ))
    let file = Array(try #require(Data(base64Encoded: String(match.4))))
    #expect(Int(match.1) == file.count)
    return (try #require(Int(match.2)), try #require(Int(match.3)), file)
  }

  /// Lengths of one block of zlib's, and of several.
  @Test(arguments: [(1, 1), (7, 5), (200, 150)]) func thePictureIsInTheFile(width: Int, height: Int) throws {
    let pixels = (0..<width * height * 3).map { UInt8(truncatingIfNeeded: $0 * 37 / 11) }
    let picture = RGBPicture(width: width, height: height, bytes: pixels)
    let (columns, rows, file) = try parse(InlineImage.draw(picture, columns: 12, rows: 5))
    #expect(columns == 12 && rows == 5)
    func number(_ bytes: ArraySlice<UInt8>) -> Int { bytes.reduce(0) { $0 << 8 | Int($1) } }
    #expect(Array(file.prefix(8)) == [0x89] + Array("PNG\r\n\u{1A}\n".utf8))
    var chunks: [String: [UInt8]] = [:]
    var offset = 8
    while offset < file.count {
      let length = number(file[offset..<offset + 4])
      let body = offset + 4..<offset + 8 + length
      chunks[String(decoding: file[body.prefix(4)], as: UTF8.self)] = Array(file[body.dropFirst(4)])
      let sum = number(file[body.upperBound..<body.upperBound + 4])
      var checksum = CRC32()
      checksum.add(file[body])
      #expect(sum == Int(checksum.value))
      offset = body.upperBound + 4
    }
    let header = try #require(chunks["IHDR"])
    #expect(number(header[0..<4]) == width)
    #expect(number(header[4..<8]) == height)
    #expect(Array(header.dropFirst(8)) == [8, 2, 0, 0, 0] as [UInt8])
    #expect(chunks["IEND"]?.isEmpty == true)
    let stream = try #require(chunks["IDAT"])
    #expect(number(stream[0..<2]) % 31 == 0)
    var lines: [UInt8] = []
    offset = 2
    var isLast = false
    while !isLast {
      isLast = stream[offset] == 1
      let length = Int(stream[offset + 1]) | Int(stream[offset + 2]) << 8
      let complement = Int(stream[offset + 3]) | Int(stream[offset + 4]) << 8
      #expect(length ^ 0xFFFF == complement)
      lines += stream[offset + 5..<offset + 5 + length]
      offset += 5 + length
    }
    let sum = number(stream[offset...])
    #expect(offset + 4 == stream.count && sum == Int(InlineImage.adler32(lines)))
    let stride = 3 * width + 1
    var found: [UInt8] = []
    for row in 0..<height { found += lines[row * stride + 1..<(row + 1) * stride] }
    let isSame = found == pixels
    #expect(isSame)
  }
}
