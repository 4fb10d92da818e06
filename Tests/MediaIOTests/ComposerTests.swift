import Base
import CAV
import Codecs
import Foundation
import RTP
import TestSupport
import Testing

@testable import MediaIO

@Suite struct ComposerTests {
  private let path = NSTemporaryDirectory() + "otchat-composer-\(UUID().uuidString).mp4"
  private static let size = VideoSize(width: 640, height: 480)

  /// Media as it would arrive: pictures take 60 ms longer than the sound.
  private func feed(
    _ source: CompositionSource, from start: Instant, seconds: Double, tone: Double?, hasVideo: Bool = true
  ) throws {
    source.mediaBegan {}
    var encoder = try OpusEncoder()
    var samples = [Int16](repeating: 0, count: 960)
    for number in 0..<Int(seconds * 50) {
      for index in samples.indices {
        let sample = number * 960 + index
        // A tone, or a blip at each full second.
        let isLoud = tone != nil || sample % 48_000 < 2_880
        samples[index] = isLoud ? Int16(9_000 * sin(2 * .pi * (tone ?? 1_000) * Double(sample) / 48_000)) : 0
      }
      let bytes = try samples.withUnsafeBufferPointer { try encoder.encode($0) }
      let time = Duration.milliseconds(20 * number)
      source.receive(
        ReceivedAudioPacket(
          bytes: bytes, sequenceNumber: Int64(number), timestamp: Int64(number) * 960, arrival: start + time,
          captureTime: 9e8 + time.seconds))
    }
    guard hasVideo else { return }
    let pattern = TestPattern(size: Self.size, stream: 5)
    let pictures = try VP8Encoder(.init(size: Self.size, bitrate: 1_500_000, frameRate: 30))
    for number in 0..<Int(seconds * 30) {
      let time = Duration.nanoseconds(Int64(number) * 33_333_333)
      let picture = pattern.draw(
        number: UInt32(number), wallTime: time.nanoseconds / 1000, time: .zero + time)
      let encoded = try #require(try pictures.encode(picture))
      var frame = ReceivedVideoFrame(
        bytes: encoded.bytes, isKeyFrame: encoded.isKeyFrame, timestamp: time.nanoseconds * 9 / 100_000,
        arrival: start + time + .milliseconds(60), renderTime: .zero)
      frame.captureTime = 9e8 + time.seconds
      source.receive(frame)
    }
  }

  private func compose(
    seconds: Double, size: VideoSize = Self.size, _ prepare: (Composer) throws -> Void
  ) async throws -> Composer.Result {
    let result = Lock<Composer.Result?>(nil)
    let composer = try Composer(.init(path: path, size: size)) {
      Issue.record("\($0)")
    } ended: { value in
      result.withLock { $0 = value }
    }
    try prepare(composer)
    composer.stop(at: composer.start + .seconds(seconds))
    try await eventually("the file is complete") { result.withLock { $0 } != nil }
    return try #require(result.withLock { $0 })
  }

  private struct Reading {
    var pictures: [(time: Double, frame: VideoFrame)] = []
    var sound: [Float] = []
    var soundStart = 0.0
  }

  private func read(_ path: String, _ size: VideoSize = Self.size) throws -> Reading {
    var reading = Reading()
    let video = try MediaFile(path: path, .video)
    let scaler = VideoScaler(size: size)
    while let frame = video.next() {
      let time = try #require(video.time(of: frame)).seconds
      reading.pictures.append((time, try #require(scaler.scale(frame, time: .zero))))
    }
    let audio = try MediaFile(path: path, .audio)
    while let frame = audio.next() {
      if reading.sound.isEmpty { reading.soundStart = try #require(audio.time(of: frame)).seconds }
      let count = Int(frame.pointee.nb_samples)
      let data = try #require(frame.pointee.data.0)
      data.withMemoryRebound(to: Float.self, capacity: count) {
        reading.sound += UnsafeBufferPointer(start: $0, count: count)
      }
    }
    return reading
  }

  private func power(_ hertz: Double, _ samples: ArraySlice<Float>) -> Double {
    var (real, imaginary) = (0.0, 0.0)
    for (index, sample) in samples.enumerated() {
      real += Double(sample) * cos(2 * .pi * hertz * Double(index) / 48_000)
      imaginary += Double(sample) * sin(2 * .pi * hertz * Double(index) / 48_000)
    }
    return (real * real + imaginary * imaginary).squareRoot() / Double(samples.count)
  }

  @Test func soundAndPictureAreInTime() async throws {
    defer { unlink(path) }
    let result = try await compose(seconds: 2.5) { composer in
      let source = CompositionSource(streamID: "a", name: "ann", isScreen: false, hasVideo: true)
      composer.add(source)
      try feed(source, from: composer.start, seconds: 2.5, tone: nil)
    }
    #expect(result == Composer.Result(duration: .milliseconds(2500), failure: nil))
    for isComplete in [false, true] {
      if isComplete {
        try MediaRemuxer.remux(path, to: path + ".2", .mp4)
        unlink(path)
        rename(path + ".2", path)
      }
      let reading = try read(path)
      #expect(reading.pictures.count == 75)
      // A picture shows the moment of its time, in the file's own time.
      var offsets: [Double] = []
      for (time, frame) in reading.pictures {
        guard let strip = TestPatternStrip(reading: frame) else { continue }
        offsets.append(time - Double(strip.sendTime) / 1e6)
      }
      #expect(offsets.count >= 70)
      let loud = try #require(reading.sound.indices.dropFirst(30_000).first { abs(reading.sound[$0]) > 0.06 })
      let blip = reading.soundStart + Double(loud) / 48_000 - 1
      let picture = offsets.sorted()[offsets.count / 2]
      #expect(abs(blip - picture) < 0.025, "sound \(blip), picture \(picture)")
      #expect((offsets.max() ?? 1) - (offsets.min() ?? 0) < 0.040)
    }
  }

  @Test func streamsAreBesideEachOtherAndMixed() async throws {
    defer { unlink(path) }
    _ = try await compose(seconds: 1.5) { composer in
      for (name, tone) in [("ann", 440.0), ("ben", 880.0)] {
        let source = CompositionSource(streamID: name, name: name, isScreen: false, hasVideo: name == "ann")
        composer.add(source)
        try feed(source, from: composer.start, seconds: 1.5, tone: tone, hasVideo: name == "ann")
      }
    }
    let reading = try read(path)
    let sound = reading.sound[24_000..<48_000]
    #expect(power(440, sound) > 0.05 && power(880, sound) > 0.05 && power(660, sound) < 0.01)
    let frame = try #require(reading.pictures.last?.frame)
    func luma(_ x: Int, _ y: Int) -> Int { Int(frame.y[y * frame.strideY + x]) }
    // Ann's first colour bar, white at 75 %, on the left, above it black; Ben's plate on the right, with letters.
    #expect(luma(20, 130) > 150 && luma(20, 60) < 30)
    #expect((30...70).contains(luma(500, 60)))
    let letters = (330..<630).filter { x in (220..<260).contains { luma(x, $0) > 180 } }
    #expect(letters.count > 20)
  }

  /// A picture that is switched off is there until the moment when it was.
  @Test func aSwitchTakesPlaceAtItsTime() async throws {
    defer { unlink(path) }
    _ = try await compose(seconds: 2) { composer in
      let source = CompositionSource(streamID: "a", name: "ann", isScreen: false, hasVideo: true)
      composer.add(source)
      try feed(source, from: composer.start, seconds: 2, tone: 440)
      source.mailbox.put(.hasVideo(false, at: composer.start + .seconds(1)))
    }
    let seen = try read(path).pictures.filter { TestPatternStrip(reading: $0.frame) != nil }.map(\.time)
    #expect(seen.count >= 27 && (seen.max() ?? 0) < 1.05 && (seen.max() ?? 0) > 0.9, "\(seen)")
  }

  @Test func withoutAnybodyThereIsSilenceInTheDark() async throws {
    defer { unlink(path) }
    let portrait = VideoSize(width: 480, height: 640)
    let result = try await compose(seconds: 1, size: portrait) { _ in }
    #expect(result.duration == .seconds(1))
    let reading = try read(path, portrait)
    #expect(reading.pictures.count == 30 && reading.sound.allSatisfy { abs($0) < 0.001 })
    #expect(reading.pictures[15].frame.y[320 * reading.pictures[15].frame.strideY + 200] <= 18)
  }

  @Test func aLostPacketIsConcealed() async throws {
    defer { unlink(path) }
    _ = try await compose(seconds: 1.5) { composer in
      let source = CompositionSource(streamID: "a", name: "ann", isScreen: false, hasVideo: false)
      composer.add(source)
      var encoder = try OpusEncoder()
      let tone = ToneSource(hertz: 440)
      var samples = [Int16](repeating: 0, count: 960)
      for number in 0..<75 {
        samples.withUnsafeMutableBufferPointer { _ = tone.read(into: $0, channels: 1, at: .zero) }
        let bytes = try samples.withUnsafeBufferPointer { try encoder.encode($0) }
        guard number != 40, number != 50, number != 51 else { continue }
        source.receive(
          ReceivedAudioPacket(
            bytes: bytes, sequenceNumber: Int64(number), timestamp: Int64(number) * 960,
            arrival: composer.start + .milliseconds(20 * number)))
      }
    }
    let sound = try read(path).sound
    for number in [40, 50, 51] {
      let piece = sound[number * 960 + 400..<number * 960 + 1000]
      #expect((piece.map { abs($0) }.max() ?? 0) > 0.05, "packet \(number)")
    }
  }

  @Test func whatIsCutOffCanBePlayedAlmostToItsEnd() async throws {
    defer { unlink(path) }
    _ = try await compose(seconds: 4) { composer in
      let source = CompositionSource(streamID: "a", name: "ann", isScreen: false, hasVideo: true)
      composer.add(source)
      try feed(source, from: composer.start, seconds: 4, tone: 440)
    }
    // In the middle of the last fragment.
    truncate(path, off_t(fileSize(path)) * 9 / 10)
    let whole = path + ".whole"
    defer { unlink(whole) }
    let length = try MediaRemuxer.remux(path, to: whole, .mp4)
    #expect(length.seconds >= 3)
    #expect(abs(try MediaRemuxer.length(whole).seconds - length.seconds) < 0.05)
    #expect(try read(whole).pictures.count >= 90)
    truncate(path, 100)
    #expect(throws: SourceError.self) { try MediaRemuxer.remux(path, to: whole, .mp4) }
  }
}
