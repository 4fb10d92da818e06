import Base
import Codecs
import RTP
import TestSupport
import Testing

@testable import OTKit

@Suite struct LayerSelectionTests {
  private typealias Share = EncodingAllocation.Share

  private static func picture(_ number: Int) -> VideoFrame {
    let time = Instant(nanoseconds: Int64(number) * 33_333_333)
    return VideoFrame(width: 96, height: 64, time: time) { y, u, v, strideY, strideUV in
      for row in 0..<64 {
        for column in 0..<96 {
          y[row * strideY + column] = UInt8(truncatingIfNeeded: (row + number * 3) * 5 ^ column)
        }
      }
      for row in 0..<32 {
        for column in 0..<48 {
          u[row * strideUV + column] = UInt8(truncatingIfNeeded: 100 + number)
          v[row * strideUV + column] = UInt8(truncatingIfNeeded: 90 + column)
        }
      }
    }
  }

  private static func encoder(layers: Int) throws -> VP8Encoder {
    var configuration = VP8Encoder.Configuration(
      size: VideoSize(width: 96, height: 64), bitrate: 300_000, frameRate: 30)
    configuration.temporalLayers = layers
    return try VP8Encoder(configuration)
  }

  /// Whoever gets a part of the layers decodes exactly what whoever gets all decodes.
  @Test(arguments: 1...6) func whatIsTakenCanBeDecodedWhateverIsWanted(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let encoders = [try Self.encoder(layers: 3), try Self.encoder(layers: 1)]
    let all = [try VP8Decoder(), try VP8Decoder()]
    let some = try VP8Decoder()
    var selection = LayerSelection()
    var taken = 0
    var last: Instant?
    for number in 0..<200 {
      if Int.random(in: 0..<8, using: &generator) == 0 {
        selection.wanted =
          [
            .whole, Share(encoding: 0, highestLayer: 1), Share(encoding: 0, highestLayer: 0),
            Share(encoding: 1, highestLayer: 2),
          ].randomElement(using: &generator) ?? .whole
      }
      let picture = Self.picture(number)
      for index in 0...1 {
        // A key frame is asked for, and comes some pictures later.
        let asked = selection.needsKeyFrame && selection.wanted.encoding == index && number % 5 == 0
        guard
          var frame = try encoders[index].encode(
            picture, capturedAt: picture.time + .microseconds(100) * index, keyFrame: asked)
        else { continue }
        frame.encoding = index
        let whole = try #require(try all[index].decode(frame.bytes, time: picture.time)?.copy())
        guard selection.takes(frame) else { continue }
        #expect(frame.temporalLayer <= selection.wanted.highestLayer || selection.needsKeyFrame)
        #expect(last.map { $0 < frame.captureTime } ?? true)
        last = frame.captureTime
        taken += 1
        let part = try #require(try some.decode(frame.bytes, time: picture.time)?.copy())
        #expect(pixels(part) == pixels(whole), "picture \(number) of encoding \(index)")
      }
    }
    #expect(taken > 60)
  }

  private func pixels(_ frame: VideoFrame) -> [UInt8] {
    (0..<frame.height).flatMap { row in
      UnsafeBufferPointer(start: frame.y + row * frame.strideY, count: frame.width)
    }
  }

  @Test func anUpperLayerComesAtAPictureThatNeedsTheBaseOnly() {
    func frame(_ layer: UInt8, sync: Bool = false, key: Bool = false, encoding: Int = 0) -> EncodedVideoFrame
    {
      var frame = EncodedVideoFrame(
        bytes: [], isKeyFrame: key, captureTime: .zero, width: 2, height: 2, temporalLayer: layer,
        layerSync: sync)
      frame.encoding = encoding
      return frame
    }
    var selection = LayerSelection()
    func takes(_ frame: EncodedVideoFrame) -> Bool { selection.takes(frame) }
    #expect(takes(frame(0, key: true)))
    selection.wanted = Share(encoding: 0, highestLayer: 0)
    #expect(!takes(frame(2, sync: true)))
    #expect(!takes(frame(1, sync: true)))
    selection.wanted = .whole
    #expect(!takes(frame(2)))
    #expect(takes(frame(1, sync: true)))
    #expect(!takes(frame(2)))
    #expect(takes(frame(2, sync: true)))
    selection.wanted = Share(encoding: 1, highestLayer: 2)
    #expect(selection.needsKeyFrame)
    #expect(takes(frame(0)) && !takes(frame(0, encoding: 1)))
    #expect(takes(frame(0, key: true)))
    #expect(takes(frame(0, key: true, encoding: 1)))
    #expect(!selection.needsKeyFrame && !takes(frame(0)))
  }
}
