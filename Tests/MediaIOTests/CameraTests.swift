import Base
import Codecs
import Foundation
import Testing

@testable import MediaIO

@Suite struct CameraTests {
  private static func mode(_ format: CameraFormat, _ width: Int, _ height: Int, _ rate: Double) -> CameraMode
  {
    CameraMode(format: format, size: VideoSize(width: width, height: height), frameRate: rate)
  }

  /// A usual web camera: uncompressed it is slow where it is large.
  private static let webcam = [
    mode(.yuyv, 640, 480, 30), mode(.yuyv, 640, 480, 15), mode(.yuyv, 320, 240, 30),
    mode(.yuyv, 1280, 720, 10), mode(.yuyv, 1920, 1080, 5),
    mode(.mjpeg, 640, 480, 30), mode(.mjpeg, 1280, 720, 30), mode(.mjpeg, 1920, 1080, 30),
  ]

  private struct Wish: Sendable {
    let width: Int
    let height: Int
    let rate: Int
    let modes: [CameraMode]
    let expected: CameraMode
  }

  private static let wishes = [
    // What is cheapest to take, if it is just what is wanted.
    Wish(width: 640, height: 480, rate: 30, modes: webcam, expected: mode(.yuyv, 640, 480, 30)),
    Wish(width: 640, height: 480, rate: 15, modes: webcam, expected: mode(.yuyv, 640, 480, 15)),
    Wish(width: 1280, height: 720, rate: 30, modes: webcam, expected: mode(.mjpeg, 1280, 720, 30)),
    // A rate above the wish, where there is no other: some pictures are left out.
    Wish(width: 1280, height: 720, rate: 20, modes: webcam, expected: mode(.mjpeg, 1280, 720, 30)),
    Wish(width: 640, height: 480, rate: 25, modes: webcam, expected: mode(.yuyv, 640, 480, 30)),
    // The nearest size; larger rather than smaller.
    Wish(width: 1024, height: 576, rate: 30, modes: webcam, expected: mode(.mjpeg, 1280, 720, 30)),
    Wish(width: 160, height: 120, rate: 30, modes: webcam, expected: mode(.yuyv, 320, 240, 30)),
    // Never the rate at any price: thirty small pictures are worth less than fifteen that can be seen.
    Wish(
      width: 640, height: 480, rate: 30, modes: [mode(.yuyv, 160, 120, 30), mode(.yuyv, 640, 480, 15)],
      expected: mode(.yuyv, 640, 480, 15)),
    Wish(
      width: 1280, height: 720, rate: 30, modes: [mode(.yuyv, 640, 480, 30), mode(.yuyv, 1280, 720, 10)],
      expected: mode(.yuyv, 640, 480, 30)),
    // 29.97 is 30.
    Wish(
      width: 640, height: 480, rate: 30, modes: [mode(.mjpeg, 640, 480, 60), mode(.mjpeg, 640, 480, 29.97)],
      expected: mode(.mjpeg, 640, 480, 29.97)),
    Wish(
      width: 640, height: 480, rate: 30, modes: [mode(.h264, 1280, 720, 30)],
      expected: mode(.h264, 1280, 720, 30)),
  ]

  @Test(arguments: wishes)
  private func theBestModeIsChosen(wish: Wish) {
    let size = VideoSize(width: wish.width, height: wish.height)
    #expect(CameraMode.best(of: wish.modes, size: size, frameRate: wish.rate) == wish.expected)
    #expect(CameraMode.best(of: wish.modes.reversed(), size: size, frameRate: wish.rate) == wish.expected)
  }

  @Test func withoutModesThereIsNone() {
    #expect(CameraMode.best(of: [], size: VideoSize(width: 640, height: 480), frameRate: 30) == nil)
  }

  @Test func formatsHaveTheirCodes() {
    #expect(CameraFormat.yuyv.fourcc == 0x5659_5559)
    for format in CameraFormat.allCases { #expect(CameraFormat(fourcc: format.fourcc) == format) }
    #expect(CameraFormat(fourcc: 0x4745_504A) == .mjpeg)
    #expect(CameraFormat(fourcc: 0) == nil)
  }

  /// Y, U and V in the middle of the left and of the right half.
  private func halves(_ frame: VideoFrame) -> [[UInt8]] {
    [frame.width / 4, frame.width * 3 / 4].map { x in
      let chroma = frame.height / 4 * frame.strideUV + x / 2
      return [frame.y[frame.height / 2 * frame.strideY + x], frame.u[chroma], frame.v[chroma]]
    }
  }

  /// 64x48, (81, 90, 240) on the left and (145, 54, 34) on the right, with eight bytes beside each row.
  private func bytes(_ format: CameraFormat) -> (bytes: [UInt8], bytesPerLine: Int) {
    let (left, right): ([UInt8], [UInt8]) = ([81, 90, 240], [145, 54, 34])
    func row(_ pixels: (Bool) -> [UInt8], _ count: Int, padding: Int) -> [UInt8] {
      (0..<count).flatMap { pixels($0 < count / 2) } + [UInt8](repeating: 255, count: padding)
    }
    func rows(_ count: Int, _ row: [UInt8]) -> [UInt8] { (0..<count).flatMap { _ in row } }
    func color(_ isLeft: Bool) -> [UInt8] { isLeft ? left : right }
    switch format {
    case .yuyv:
      let line = row({ [color($0)[0], color($0)[1], color($0)[0], color($0)[2]] }, 32, padding: 8)
      return (rows(48, line), 136)
    case .uyvy:
      let line = row({ [color($0)[1], color($0)[0], color($0)[2], color($0)[0]] }, 32, padding: 8)
      return (rows(48, line), 136)
    case .nv12:
      let luma = row({ [color($0)[0]] }, 64, padding: 8)
      let chroma = row({ [color($0)[1], color($0)[2]] }, 32, padding: 8)
      return (rows(48, luma) + rows(24, chroma), 72)
    default:
      let luma = row({ [color($0)[0]] }, 64, padding: 8)
      let (u, v) = (row({ [color($0)[1]] }, 32, padding: 4), row({ [color($0)[2]] }, 32, padding: 4))
      return (rows(48, luma) + rows(24, u) + rows(24, v), 72)
    }
  }

  @Test(arguments: [CameraFormat.yuyv, .uyvy, .nv12, .i420])
  func uncompressedPicturesKeepTheirColours(format: CameraFormat) throws {
    let size = VideoSize(width: 64, height: 48)
    let (bytes, bytesPerLine) = bytes(format)
    let mode = CameraMode(format: format, size: size, frameRate: 30)
    let decoder = try PictureDecoder(mode, bytesPerLine: bytesPerLine, size: size)
    let time = Instant(nanoseconds: 5)
    let frame = try #require(bytes.withUnsafeBytes { decoder.picture($0, time: time) })
    #expect(frame.width == 64 && frame.height == 48)
    #expect(frame.time == time)
    let expected: [[UInt8]] = [[81, 90, 240], [145, 54, 34]]
    for (half, wanted) in zip(halves(frame), expected) {
      for (value, wish) in zip(half, wanted) { #expect(abs(Int(value) - Int(wish)) <= 2) }
    }
    // Cut short by a byte there is no picture, and nothing is read that is not there.
    #expect(bytes.dropLast(9).withUnsafeBytes { decoder.picture($0, time: time) } == nil)
  }

  @Test(arguments: [("blue.jpg", CameraFormat.mjpeg), ("blue.h264", .h264)])
  func compressedPicturesAreDecoded(file: String, format: CameraFormat) throws {
    let url = try #require(Bundle.module.url(forResource: "Fixtures/" + file, withExtension: nil))
    let bytes = [UInt8](try Data(contentsOf: url))
    let mode = CameraMode(format: format, size: VideoSize(width: 64, height: 48), frameRate: 30)
    let decoder = try PictureDecoder(mode, bytesPerLine: 0, size: VideoSize(width: 128, height: 96))
    let frame = try #require(bytes.withUnsafeBytes { decoder.picture($0, time: .zero) })
    #expect(frame.width == 128 && frame.height == 96)
    // 0x2040C0 in BT.601, limited range.
    for half in halves(frame) {
      for (value, wish) in zip(half, [75, 189, 105]) { #expect(abs(Int(value) - wish) <= 6, "\(half)") }
    }
    // What is no picture is none.
    #expect([UInt8](repeating: 7, count: 500).withUnsafeBytes { decoder.picture($0, time: .zero) } == nil)
    #expect([UInt8]().withUnsafeBytes { decoder.picture($0, time: .zero) } == nil)
  }

  @Test func errorsSayWhatToDo() {
    let path = "/dev/video0"
    #expect(SourceError.deviceBusy(.camera, name: path).hint?.contains("fuser -v /dev/video0") == true)
    #expect(SourceError.deviceForbidden(.camera, name: path).hint?.contains("group 'video'") == true)
    #expect(SourceError.deviceForbidden(.microphone, name: "default").hint?.contains("group 'audio'") == true)
    let unknown = SourceError.noDevice(.camera, name: "Front", choices: ["Rear Camera"])
    #expect(unknown.notice == "there is no camera \"Front\" (there is: Rear Camera)")
  }
}
