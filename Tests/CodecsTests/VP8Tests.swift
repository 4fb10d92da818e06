import Base
import RTP
import Testing

@testable import Codecs

@Suite struct VP8Tests {
  private func time(_ frame: Int) -> Instant { Instant(nanoseconds: Int64(frame) * 33_333_333) }

  private func encoder(_ width: Int, _ height: Int, bitrate: Int, layers: Int = 1) throws -> VP8Encoder {
    var configuration = VP8Encoder.Configuration(
      size: VideoSize(width: width, height: height), bitrate: bitrate, frameRate: 30)
    configuration.temporalLayers = layers
    return try VP8Encoder(configuration)
  }

  @Test func pictureSurvives() throws {
    let encoder = try encoder(640, 480, bitrate: 1_000_000)
    let decoder = try VP8Decoder()
    var worst = 100.0
    for frame in 0..<30 {
      let picture = movingPicture(640, 480, step: 0, time: time(frame))
      let encoded = try #require(try encoder.encode(picture))
      #expect(encoded.isKeyFrame == (frame == 0))
      #expect(encoded.captureTime == picture.time)
      let decoded = try #require(try decoder.decode(encoded.bytes, time: picture.time)?.copy())
      #expect(decoded.size == picture.size)
      #expect(decoded.time == picture.time)
      if frame % 10 == 9 { worst = min(worst, luminancePSNR(picture, decoded)) }
    }
    #expect(worst >= 35)
  }

  @Test func keyFramesComeOnlyOnRequest() throws {
    let encoder = try encoder(320, 240, bitrate: 500_000)
    var keys: [Int] = []
    for frame in 0..<60 {
      // A hard cut in the middle is no reason for one either.
      let picture = movingPicture(320, 240, step: frame < 30 ? 0 : 77, time: time(frame))
      let encoded = try encoder.encode(picture, keyFrame: frame == 40)
      if encoded?.isKeyFrame == true { keys.append(frame) }
    }
    #expect(keys == [0, 40])
  }

  @Test func bitrateIsFollowed() throws {
    let encoder = try encoder(320, 240, bitrate: 800_000)
    var generator = SeededGenerator(seed: 2)
    var rates: [Int] = []
    var frame = 0
    for bitrate in [800_000, 200_000] {
      try encoder.setBitrate(bitrate)
      var bytes = 0
      for index in 0..<90 {
        // Random steps: more motion than any prediction can follow.
        let step = Int.random(in: 0..<10_000, using: &generator)
        let encoded = try encoder.encode(movingPicture(320, 240, step: step, time: time(frame)))
        frame += 1
        if index >= 30 { bytes += encoded?.bytes.count ?? 0 }
      }
      rates.append(bytes * 8 / 2)
    }
    #expect((500_000...1_000_000).contains(rates[0]))
    #expect((120_000...260_000).contains(rates[1]))
  }

  @Test func sizeChangesMidStreamWithAKeyFrame() throws {
    let encoder = try encoder(320, 240, bitrate: 500_000)
    let decoder = try VP8Decoder()
    var frame = 0
    for size in [(320, 240), (641, 479), (1, 1), (17, 33), (320, 240)] {
      for index in 0..<3 {
        let picture = movingPicture(size.0, size.1, step: frame, time: time(frame))
        let encoded = try #require(try encoder.encode(picture))
        #expect(encoded.isKeyFrame == (index == 0))
        #expect(encoded.width == size.0 && encoded.height == size.1)
        let decoded = try #require(try decoder.decode(encoded.bytes, time: picture.time)?.copy())
        #expect(decoded.size == VideoSize(width: size.0, height: size.1))
        frame += 1
      }
    }
  }

  @Test(arguments: [(2, [0, 1, 0, 1, 0, 1, 0, 1]), (3, [0, 2, 1, 2, 0, 2, 1, 2])])
  func upperLayersCanBeLeftOut(count: Int, expected: [UInt8]) throws {
    let encoder = try encoder(320, 240, bitrate: 500_000, layers: count)
    let all = try VP8Decoder()
    let base = try VP8Decoder()
    var identifiers: [UInt8] = []
    for frame in 0..<24 {
      let picture = movingPicture(320, 240, step: frame / 4, time: time(frame))
      guard let encoded = try encoder.encode(picture) else { continue }
      identifiers.append(encoded.temporalLayer)
      let full = try #require(try all.decode(encoded.bytes, time: picture.time)?.copy())
      guard encoded.temporalLayer == 0 else { continue }
      let alone = try #require(try base.decode(encoded.bytes, time: picture.time)?.copy())
      #expect(luminancePSNR(full, alone) == 100, "layer 0 refers to an upper layer")
    }
    #expect(Array(identifiers.prefix(8)) == expected)
  }

  @Test func damageAsksForAKeyFrameAndEndsWithOne() throws {
    let encoder = try encoder(320, 240, bitrate: 500_000)
    let decoder = try VP8Decoder()
    func next(_ frame: Int, key: Bool = false) throws -> [UInt8] {
      try #require(try encoder.encode(movingPicture(320, 240, step: frame, time: time(frame)), keyFrame: key))
        .bytes
    }
    let key = try next(0)
    let delta = try next(1)
    #expect(throws: CodecError.keyFrameMissing) { try decoder.decode(delta, time: .zero) }
    #expect(try decoder.decode(key, time: .zero) != nil)
    #expect(throws: CodecError.corruptPacket) { try decoder.decode(Array(delta.prefix(2)), time: .zero) }
    #expect(throws: CodecError.keyFrameMissing) { try decoder.decode(delta, time: .zero) }
    #expect(try decoder.decode(try next(2, key: true), time: .zero) != nil)
  }

  @Test func anyShortPayloadIsRefused() throws {
    let decoder = try VP8Decoder()
    let encoder = try encoder(64, 48, bitrate: 100_000)
    let key = try #require(try encoder.encode(movingPicture(64, 48, step: 0, time: .zero)))
    for first in UInt8.min...UInt8.max {
      _ = try decoder.decode(key.bytes, time: .zero)
      for payload in [[], [first], [first, 0], [first, 0xFF], [first, 0, 0]] {
        #expect(throws: CodecError.self) { try decoder.decode(payload, time: .zero) }
      }
    }
    #expect(try decoder.decode(key.bytes, time: .zero)?.size == VideoSize(width: 64, height: 48))
  }

  @Test func noiseAndTruncationNeverTrap() throws {
    let decoder = try VP8Decoder()
    let encoder = try encoder(176, 144, bitrate: 200_000)
    let key = try #require(try encoder.encode(movingPicture(176, 144, step: 0, time: .zero))).bytes
    var generator = SeededGenerator(seed: 3)
    var refused = 0
    for round in 0..<300 {
      var bytes = key
      if round % 3 == 0 { bytes = Array(bytes.prefix(Int.random(in: 0..<key.count, using: &generator))) }
      for _ in 0..<Int.random(in: 1...20, using: &generator) where !bytes.isEmpty {
        bytes[Int.random(in: 0..<bytes.count, using: &generator)] = UInt8.random(
          in: 0...255, using: &generator)
      }
      do { _ = try decoder.decode(bytes, time: .zero) } catch { refused += 1 }
    }
    #expect(refused > 0)
    // A header that claims 16383x16383 is refused before anything is allocated.
    var huge = key
    huge.replaceSubrange(6..<10, with: [0xFF, 0x3F, 0xFF, 0x3F])
    #expect(throws: CodecError.corruptPacket) { try decoder.decode(huge, time: .zero) }
    #expect(try decoder.decode(key, time: .zero)?.size == VideoSize(width: 176, height: 144))
  }

  @Test func blackCostsNearlyNothing() throws {
    let encoder = try encoder(640, 480, bitrate: 1_000_000)
    var bytes = 0
    for frame in 0..<30 {
      let black = VideoFrame.black(VideoSize(width: 640, height: 480), time: time(frame))
      bytes += try encoder.encode(black)?.bytes.count ?? 0
    }
    #expect(bytes < 5_000)
  }
}

@Suite struct HalvingTests {
  @Test(arguments: [(4, 4), (5, 3), (1, 1), (6, 2)])
  func eachPixelIsTheMeanOfFour(width: Int, height: Int) {
    let frame = VideoFrame(width: width, height: height, time: .zero) { y, u, v, strideY, strideUV in
      for row in 0..<height {
        for column in 0..<width { y[row * strideY + column] = UInt8(10 * row + column) }
      }
      for row in 0..<(height + 1) / 2 {
        for column in 0..<(width + 1) / 2 {
          u[row * strideUV + column] = 7
          v[row * strideUV + column] = 255
        }
      }
    }
    let half = frame.halved()
    #expect(half.width == (width + 1) / 2 && half.height == (height + 1) / 2)
    for row in 0..<half.height {
      for column in 0..<half.width {
        let rows = [2 * row, min(2 * row + 1, height - 1)]
        let columns = [2 * column, min(2 * column + 1, width - 1)]
        let sum = rows.flatMap { row in columns.map { 10 * row + $0 } }.reduce(0, +)
        #expect(Int(half.y[row * half.strideY + column]) == (sum + 2) / 4)
      }
    }
    for row in 0..<half.chromaHeight {
      for column in 0..<half.chromaWidth {
        #expect(half.u[row * half.strideUV + column] == 7 && half.v[row * half.strideUV + column] == 255)
      }
    }
  }
}
