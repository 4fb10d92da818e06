import Base
import CAV
import Codecs
import Foundation
import TestSupport
import Testing

@testable import MediaIO

struct PNGImageTests {
  private func halves(width: Int, height: Int) -> VideoFrame {
    VideoFrame(width: width, height: height, time: .zero) { y, u, v, strideY, strideUV in
      for row in 0..<height {
        for column in 0..<width { y[row * strideY + column] = column < width / 2 ? 81 : 145 }
      }
      for row in 0..<(height + 1) / 2 {
        for column in 0..<(width + 1) / 2 {
          u[row * strideUV + column] = column < width / 4 ? 90 : 54
          v[row * strideUV + column] = column < width / 4 ? 240 : 34
        }
      }
    }
  }

  /// Big-endian, as in the header (PNG specification, 11.2.2).
  private func number(_ bytes: ArraySlice<UInt8>) -> Int { bytes.reduce(0) { $0 << 8 | Int($1) } }

  @Test(arguments: [(640, 480), (1, 1), (7, 5), (90, 160)]) func headerTellsTheSize(width: Int, height: Int)
    throws
  {
    let bytes = try PNGImage.encode(halves(width: width, height: height))
    #expect(Array(bytes[..<8]) == [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])
    #expect(number(bytes[16..<20]) == width && number(bytes[20..<24]) == height)
    #expect(bytes[24] == 8 && bytes[25] == 2, "RGB, 8 bits")
    #expect(bytes.suffix(8).prefix(4) == Array("IEND".utf8)[...])
  }

  @Test func coloursComeBack() throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).png")
    defer { try? FileManager.default.removeItem(at: path) }
    try Data(PNGImage.encode(halves(width: 64, height: 48))).write(to: path)
    let file = try MediaFile(path: path.path, .video)
    let frame = try #require(file.next())
    #expect(frame.pointee.width == 64 && frame.pointee.height == 48)
    let line = try #require(frame.pointee.data.0) + 24 * Int(frame.pointee.linesize.0)
    for (column, color) in [(8, [255, 0, 0]), (56, [0, 255, 0])] {
      for channel in 0..<3 {
        let difference = Int(line[column * 3 + channel]) - color[channel]
        #expect(abs(difference) <= 3)
      }
    }
  }
}
