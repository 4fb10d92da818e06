import Base
import Codecs
import Foundation
import Testing

@testable import MediaIO

private func fixture(_ name: String) throws -> String {
  try #require(Bundle.module.url(forResource: "Fixtures/\(name)", withExtension: nil)).path
}

@Suite struct FileSourceTests {
  private let size = VideoSize(width: 320, height: 240)

  private func source(_ name: String, once: Bool, size: VideoSize? = nil) throws -> FileVideoSource {
    try FileVideoSource(
      path: try fixture(name), once: once, size: size ?? self.size, frameRate: 30, timeline: MediaTimeline())
  }

  /// `isHeldUp` if the machine had so much else to do that the source may have left out late pictures.
  private func pictures(_ source: FileVideoSource, _ count: Int) -> (frames: [VideoFrame], isHeldUp: Bool) {
    var frames: [VideoFrame] = []
    var isHeldUp = false
    let deadline = MonotonicClock.now() + .seconds(60)
    var last = MonotonicClock.now()
    source.start(at: last)
    while frames.count < count, last < deadline {
      let output = source.next(until: deadline)
      let now = MonotonicClock.now()
      isHeldUp = isHeldUp || now - last > .milliseconds(180)
      last = now
      switch output {
      case .frame(let frame): frames.append(frame)
      case .notYet, .notice: continue
      case .ended, .failed: return (frames, isHeldUp)
      }
    }
    return (frames, isHeldUp)
  }

  private func luma(_ frame: VideoFrame, _ x: Int, _ y: Int) -> Int { Int(frame.y[y * frame.strideY + x]) }
  private func chroma(_ frame: VideoFrame, _ x: Int, _ y: Int) -> (u: Int, v: Int) {
    (Int(frame.u[y / 2 * frame.strideUV + x / 2]), Int(frame.v[y / 2 * frame.strideUV + x / 2]))
  }

  @Test func pictureIsLoopedAtItsPaceWithBars() throws {
    // 32x64 pixels, four pictures, ten a second.
    let (frames, isHeldUp) = pictures(try source("silent.mp4", once: false), 6)
    try #require(frames.count == 6)
    let steps = zip(frames, frames.dropFirst()).map { ($1.time - $0.time).milliseconds }
    #expect(steps.allSatisfy { abs($0.remainder(dividingBy: 100)) < 1 }, "\(steps)")
    #expect(isHeldUp || steps.allSatisfy { abs($0 - 100) < 1 }, "\(steps)")
    for frame in frames {
      #expect(frame.size == size)
      // 120 pixels wide, in the middle.
      #expect(luma(frame, 160, 120) > 60 && luma(frame, 104, 2) > 60 && luma(frame, 215, 237) > 60)
      #expect(luma(frame, 96, 120) == 16 && luma(frame, 223, 120) == 16)
      #expect(chroma(frame, 90, 120) == (128, 128))
    }
  }

  @Test func onceEnds() throws {
    let source = try source("silent.mp4", once: true)
    let (frames, isHeldUp) = pictures(source, 100)
    #expect(frames.count == 4 || isHeldUp && frames.count < 4)
    guard case .ended = source.next(until: MonotonicClock.now() + .seconds(60)) else {
      Issue.record("it goes on")
      return
    }
  }

  @Test(arguments: [false, true])
  func pictureJumpsOverAPause(once: Bool) throws {
    let source = try source("clip.webm", once: once)
    // As if it had begun long ago: 3.3 s into looped rounds of 1 s, or behind the end.
    let now = MonotonicClock.now()
    source.start(at: now - .milliseconds(3_300))
    source.start(at: now)
    let begin = MonotonicClock.now()
    guard case .frame(let frame) = source.next(until: begin + .seconds(60)) else {
      #expect(once)
      return
    }
    #expect(!once)
    #expect((begin - frame.time).milliseconds < 1_000)
  }

  @Test func coloursAndOddSizes() throws {
    for size in [
      VideoSize(width: 320, height: 240), VideoSize(width: 321, height: 239), .init(width: 64, height: 64),
    ] {
      let frame = try #require(try pictures(source("clip.webm", once: false, size: size), 2).frames.last)
      #expect(frame.size == size)
      let middle = size.height / 2
      let red = chroma(frame, size.width / 4, middle)
      let blue = chroma(frame, size.width * 3 / 4, middle)
      #expect(red.v > 200 && red.u < 120, "\(red)")
      #expect(blue.u > 200 && blue.v < 128, "\(blue)")
      #expect(luma(frame, size.width / 2, 2) == 16 && luma(frame, size.width / 2, size.height - 3) == 16)
    }
  }

  @Test func placesKeepTheShape() {
    let place = VideoScaler.place(width: 1920, height: 1080, aspect: .init(num: 0, den: 1), in: size)
    #expect(place == (0, 30, 320, 180))
    let anamorphic = VideoScaler.place(width: 720, height: 576, aspect: .init(num: 16, den: 15), in: size)
    #expect(anamorphic == (0, 0, 320, 240))
    let thin = VideoScaler.place(width: 1, height: 5000, aspect: .init(num: 1, den: 1), in: size)
    #expect(thin.width == 2 && thin.height == 240)
    let tiny = VideoScaler.place(
      width: 16, height: 9, aspect: .init(num: 1, den: 1), in: .init(width: 1, height: 1))
    #expect(tiny == (0, 0, 1, 1))
  }

  private func sound(_ name: String, once: Bool, seconds: Double, channels: Int = 1) throws -> (
    left: [Int16], ended: Int?
  ) {
    let source = try FileAudioSource(path: try fixture(name), once: once, timeline: MediaTimeline())
    source.start(at: .zero)
    var left: [Int16] = []
    var ended: Int?
    let buffer = UnsafeMutableBufferPointer<Int16>.allocate(capacity: 480 * channels)
    buffer.initialize(repeating: 0)
    defer { buffer.deallocate() }
    for tick in 0..<Int(seconds * 100) {
      let goesOn = source.read(into: buffer, channels: channels, at: .zero + .milliseconds(10 * tick))
      if !goesOn && ended == nil { ended = tick }
      left += stride(from: 0, to: buffer.count, by: channels).map { buffer[$0] }
    }
    return (left, ended)
  }

  @Test(arguments: [1, 2])
  func soundIsResampledAndLooped(channels: Int) throws {
    let sound = try sound("tone.wav", once: false, seconds: 2.2, channels: channels)
    #expect(sound.ended == nil)
    for start in stride(from: 2_400, to: 96_000, by: 24_000) {
      #expect(share(of: 900, in: sound.left[start..<start + 19_000]) > 0.95, "at \(start)")
    }
  }

  @Test func soundEndsOnce() throws {
    let sound = try sound("tone.wav", once: true, seconds: 1)
    #expect((50...52).contains(sound.ended ?? 0))
    #expect(share(of: 900, in: sound.left[2_400..<22_000]) > 0.95)
    #expect(sound.left[26_000...].allSatisfy { $0 == 0 })
  }

  @Test func soundOfAClip() throws {
    let sound = try sound("clip.webm", once: false, seconds: 1.8)
    #expect(share(of: 600, in: sound.left[4_800..<40_000]) > 0.95)
    #expect(share(of: 600, in: sound.left[56_000..<80_000]) > 0.9)
  }

  @Test func soundCatchesUpAfterAPause() throws {
    let source = try FileAudioSource(path: try fixture("tone.wav"), once: true, timeline: MediaTimeline())
    source.start(at: .zero)
    let buffer = UnsafeMutableBufferPointer<Int16>.allocate(capacity: 480)
    buffer.initialize(repeating: 0)
    defer { buffer.deallocate() }
    #expect(source.read(into: buffer, channels: 1, at: .zero))
    // 300 ms later there are 190 ms left.
    var left = 0
    while source.read(into: buffer, channels: 1, at: .zero + .milliseconds(310 + 10 * left)), left < 100 {
      left += 1
    }
    #expect((18...21).contains(left), "\(left)")
  }

  @Test func whatCannotBeUsedIsToldApart() throws {
    let directory = FileManager.default.temporaryDirectory.appendingPathComponent("otchat-\(getpid())")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let text = directory.appendingPathComponent("notes.mp4").path
    try Data("not a film".utf8).write(to: URL(fileURLWithPath: text))
    func error(_ path: String, _ kind: MediaFile.Kind) -> SourceError? {
      do {
        _ = try MediaFile(path: path, kind)
        return nil
      } catch { return error }
    }
    #expect(error("/nowhere.mp4", .video) == .fileMissing(path: "/nowhere.mp4"))
    guard case .notDecodable(text, _)? = error(text, .video) else {
      Issue.record("\(String(describing: error(text, .video)))")
      return
    }
    #expect(
      error(directory.path, .video)
        == .fileUnreadable(path: directory.path, reason: "it is no regular file"))
    let pipe = directory.appendingPathComponent("pipe.mp4").path
    #expect(mkfifo(pipe, 0o600) == 0)
    #expect(error(pipe, .video) == .fileUnreadable(path: pipe, reason: "it is no regular file"))
    let silent = try fixture("silent.mp4")
    #expect(error(silent, .audio) == .noAudio(path: silent))
    let tone = try fixture("tone.wav")
    #expect(error(tone, .video) == .noVideo(path: tone))
  }
}
