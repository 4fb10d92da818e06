import Base
import CAV
import Codecs
import Foundation
import RTP
import TestSupport
import Testing

@testable import MediaIO

@Suite struct StreamRecorderTests {
  private let directory: String

  init() throws {
    directory = NSTemporaryDirectory() + "otchat-recorder-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
  }

  /// Seconds of test pattern, 30 a second, of these sizes one after the other.
  private func pictures(_ sizes: [VideoSize], seconds: Double) throws -> [EncodedVideoFrame] {
    let encoder = try VP8Encoder(.init(size: sizes[0], bitrate: 1_000_000, frameRate: 30))
    var frames: [EncodedVideoFrame] = []
    for size in sizes {
      let pattern = TestPattern(size: size, stream: 3)
      for _ in 0..<Int(seconds * 30) {
        let time = Instant(nanoseconds: Int64(frames.count) * 33_333_333)
        let picture = pattern.draw(
          number: UInt32(frames.count), wallTime: time.nanoseconds / 1000, time: time)
        frames.append(try #require(try encoder.encode(picture)))
      }
    }
    return frames
  }

  private func sound(seconds: Double) throws -> [[UInt8]] {
    var encoder = try OpusEncoder()
    let tone = ToneSource(hertz: 440)
    var samples = [Int16](repeating: 0, count: 960)
    return try (0..<Int(seconds * 50)).map { _ in
      try samples.withUnsafeMutableBufferPointer { buffer in
        _ = tone.read(into: buffer, channels: 1, at: .zero)
        return try encoder.encode(UnsafeBufferPointer(buffer))
      }
    }
  }

  /// As if it arrived now; the recorder's own clock goes on meanwhile.
  private func feed(
    _ recorder: StreamRecorder, _ frames: [EncodedVideoFrame], _ packets: [[UInt8]],
    without gap: Range<Int> = 0..<0
  ) {
    let start = MonotonicClock.now() - .seconds(60)
    recorder.mediaBegan {}
    for (number, bytes) in packets.enumerated() where !gap.contains(number) {
      let time = Duration.milliseconds(20 * number)
      recorder.receive(
        ReceivedAudioPacket(
          bytes: bytes, sequenceNumber: Int64(number), timestamp: Int64(number) * 960,
          arrival: start + time, captureTime: 3e9 + time.seconds))
    }
    for frame in frames {
      let time = Duration.nanoseconds(frame.captureTime.nanoseconds)
      var received = ReceivedVideoFrame(
        bytes: frame.bytes, isKeyFrame: frame.isKeyFrame,
        timestamp: frame.captureTime.nanoseconds * 9 / 100_000,
        arrival: start + time + .milliseconds(90), renderTime: .zero)
      received.captureTime = 3e9 + time.seconds
      recorder.receive(received)
    }
  }

  private func record(
    _ name: String, hasVideo: Bool = true, _ frames: [EncodedVideoFrame], _ packets: [[UInt8]],
    without gap: Range<Int> = 0..<0
  ) async throws -> StreamRecorder.Summary {
    let summary = Lock<StreamRecorder.Summary?>(nil)
    let failures = Lock<[SourceError]>([])
    let recorder = try StreamRecorder(
      .init(path: directory + "/" + name, hasAudio: true, hasVideo: hasVideo)
    ) { event in
      if case .finished(let value) = event { summary.withLock { $0 = value } }
      if case .failed(let error) = event { failures.withLock { $0.append(error) } }
    }
    feed(recorder, frames, packets, without: gap)
    recorder.mediaEnded()
    try await eventually("the file is complete") { summary.withLock { $0 } != nil }
    #expect(failures.withLock { $0 } == [])
    return try #require(summary.withLock { $0 })
  }

  private func frames(_ path: String) throws -> [(time: Double, size: VideoSize)] {
    let file = try MediaFile(path: path, .video)
    var found: [(Double, VideoSize)] = []
    while let frame = file.next() {
      found.append(
        (
          try #require(file.time(of: frame)).seconds,
          VideoSize(width: Int(frame.pointee.width), height: Int(frame.pointee.height))
        ))
    }
    return found
  }

  @Test func soundAndPictureComeBackWithTheirTimes() async throws {
    let summary = try await record("a.webm", try pictures([testSize], seconds: 2), try sound(seconds: 2))
    #expect(summary.videoFrames == 60 && summary.audioPackets == 100)
    #expect(summary.bytes == fileSize(summary.path) && summary.bytes > 10_000)
    let file = try MediaFile(path: summary.path, .audio)
    #expect(abs((file.duration ?? .zero).seconds - 2) < 0.05)
    let pictures = try frames(summary.path)
    #expect(pictures.count == 60)
    // The picture came 90 ms later, but was captured with the sound.
    for (index, picture) in pictures.enumerated() {
      #expect(abs(picture.time - Double(index) / 30) < 0.002)
      #expect(picture.size == testSize)
    }
    var samples = 0
    while let frame = file.next() { samples += Int(frame.pointee.nb_samples) }
    #expect(samples == 96_000)
  }

  @Test func aChangeOfSizeAndAGapSurvive() async throws {
    let large = VideoSize(width: 640, height: 360)
    let summary = try await record(
      "b.webm", try pictures([testSize, large], seconds: 1), try sound(seconds: 2), without: 30..<60)
    let pictures = try frames(summary.path)
    #expect(
      pictures.map(\.size) == Array(repeating: testSize, count: 30) + Array(repeating: large, count: 30))
    let file = try MediaFile(path: summary.path, .audio)
    var times: [Double] = []
    while let frame = file.next() { times.append(try #require(file.time(of: frame)).seconds) }
    #expect(times.count == 70)
    #expect(zip(times, times.dropFirst()).map { $1 - $0 }.filter { $0 > 0.03 }.count == 1)
    #expect(abs(times[30] - 1.2) < 0.002)
  }

  @Test func picturesBeginWithAKeyFrame() async throws {
    let all = try pictures([testSize], seconds: 1)
    let summary = try await record("c.webm", Array(all.dropFirst(3)), try sound(seconds: 1))
    #expect(summary.videoFrames == 0 && summary.audioPackets == 50)
    #expect(try MediaFile(path: summary.path, .audio).duration != nil)
  }

  @Test func whatAKilledProcessLeavesCanBePlayed() async throws {
    let path = directory + "/d.webm"
    let recorder = try StreamRecorder(.init(path: path, hasAudio: true, hasVideo: true)) { _ in }
    defer { recorder.mediaEnded() }
    feed(recorder, try pictures([testSize], seconds: 2), try sound(seconds: 2))
    // Everything is due since long; it is written at once, and flushed within half a second.
    let copy = directory + "/copy.webm"
    try await eventually("the file holds all") {
      try? FileManager.default.removeItem(atPath: copy)
      guard (try? FileManager.default.copyItem(atPath: path, toPath: copy)) != nil else { return false }
      return (try? frames(copy).count) ?? 0 >= 59
    }
  }

  @Test func aFileThatCannotBeMadeIsToldOnce() async throws {
    let failures = Lock<[SourceError]>([])
    let isFinished = Lock(false)
    let recorder = try StreamRecorder(
      .init(path: directory + "/missing/e.webm", hasAudio: true, hasVideo: false)
    ) { event in
      if case .failed(let error) = event { failures.withLock { $0.append(error) } }
      if case .finished = event { isFinished.withLock { $0 = true } }
    }
    feed(recorder, [], try sound(seconds: 2))
    recorder.mediaEnded()
    try await eventually("the end is told") { isFinished.withLock { $0 } }
    #expect(failures.withLock { $0.count } == 1)
    guard case .cannotWrite(_, let reason) = failures.withLock({ $0.first }) else {
      Issue.record("no failure")
      return
    }
    #expect(reason == "No such file or directory")
  }

  /// Nothing is mapped at the low addresses that a file begins with: writing there fails, as on a full disk.
  @Test func aFileThatTakesNothingEndsTheRecordingWithItsReason() async throws {
    let path = "/proc/self/mem"
    let failures = Lock<[SourceError]>([])
    let isFinished = Lock(false)
    let recorder = try StreamRecorder(.init(path: path, hasAudio: true, hasVideo: true)) { event in
      if case .failed(let error) = event { failures.withLock { $0.append(error) } }
      if case .finished = event { isFinished.withLock { $0 = true } }
    }
    feed(recorder, try pictures([testSize], seconds: 1), try sound(seconds: 1))
    recorder.mediaEnded()
    try await eventually("the end is told") { isFinished.withLock { $0 } }
    #expect(failures.withLock { $0 } == [.cannotWrite(path: path, reason: "Input/output error")])
  }

  @Test func namesOfStrangersAreMadeSafe() throws {
    let names: [(String, String)] = [
      ("alice", "alice"), ("../../etc/passwd", "etc-passwd"), ("", "stream"), ("/", "stream"),
      (".hidden", "hidden"), ("a b\u{0}c\n$(rm)", "a-b-c-rm"), ("grüß dich", "grüß-dich"), ("-rf", "rf"),
      ("\u{202E}gnp.exe", "gnp.exe"), ("👋", "stream"),
    ]
    for (name, expected) in names { #expect(RecordingDirectory.fileName(name) == expected) }
    #expect(RecordingDirectory.fileName(String(repeating: "é", count: 500)).utf8.count <= 80)
    let recordings = RecordingDirectory(path: directory + "/new")
    try recordings.prepare()
    let first = try recordings.reserve(name: "x", at: 1_796_050_000)
    let second = try recordings.reserve(name: "x", at: 1_796_050_000)
    #expect(first.hasPrefix(directory + "/new/x-2026") && first.hasSuffix(".webm"))
    #expect(second == first.dropLast(5) + "-2.webm")
    #expect(throws: SourceError.self) { try RecordingDirectory(path: "/proc/none").prepare() }
  }
}
