import Base
import Codecs
import Glibc
import Testing

@testable import MediaIO

@Suite struct ExternalAudioTests {
  private static func source(rate: Int = 48_000, channels: Int) throws -> ExternalAudioSource {
    try ExternalAudioSource(
      name: "device", rate: rate, channels: channels, delay: { .zero }, switches: { _ in })
  }

  /// Writes and reads 10 ms in turn, as two threads would.
  private static func pump(
    _ source: ExternalAudioSource, rate: Int, channels: Int, reading: Int, times: Int, sample: (Int) -> Int16
  ) -> [Int16] {
    var heard: [Int16] = []
    var position = 0
    for _ in 0..<times {
      let chunk = (0..<rate / 100).flatMap { _ -> [Int16] in
        position += 1
        return [Int16](repeating: sample(position), count: channels)
      }
      _ = chunk.withUnsafeBufferPointer { source.write($0) }
      var samples = [Int16](repeating: 1, count: 480 * reading)
      samples.withUnsafeMutableBufferPointer { _ = source.read(into: $0, channels: reading, at: .zero) }
      heard += samples
    }
    return heard
  }

  @Test func whatIsWrittenBeforeItIsWantedIsNotTaken() throws {
    let source = try Self.source(channels: 1)
    let samples = [Int16](repeating: 5, count: 480)
    #expect(samples.withUnsafeBufferPointer { source.write($0) } == 0)
    source.start(at: .zero)
    #expect(samples.withUnsafeBufferPointer { source.write($0) } == 480)
    source.stop()
    #expect(samples.withUnsafeBufferPointer { source.write($0) } == 0)
  }

  @Test(arguments: [(1, 1), (1, 2), (2, 1), (2, 2)])
  func channelsAreFitted(_ device: Int, _ reading: Int) throws {
    let source = try Self.source(channels: device)
    source.start(at: .zero)
    let heard = Self.pump(source, rate: 48_000, channels: device, reading: reading, times: 50) { _ in 1000 }
    // After the first few, which are silence.
    #expect(heard.suffix(4800).allSatisfy { $0 == 1000 })
    #expect(heard.prefix(480).allSatisfy { $0 == 0 })
    #expect(source.statistics?.dropped == 0)
  }

  @Test func aFrameThatIsCutOffIsLeftOut() throws {
    let source = try Self.source(channels: 2)
    source.start(at: .zero)
    let samples: [Int16] = [1, 2, 3]
    #expect(samples.withUnsafeBufferPointer { source.write($0) } == 1)
    #expect([Int16]().withUnsafeBufferPointer { source.write($0) } == 0)
  }

  @Test func anotherRateIsConverted() throws {
    let source = try Self.source(rate: 16_000, channels: 1)
    source.start(at: .zero)
    // 1 kHz at 16 kHz.
    let heard = Self.pump(source, rate: 16_000, channels: 1, reading: 1, times: 100) {
      Int16(10_000 * ToneSine.of($0, hertz: 1000, rate: 16_000))
    }
    let last = heard.suffix(24_000)
    let crossings = zip(last, last.dropFirst()).count { $0 < 0 && $1 >= 0 }
    #expect((498...502).contains(crossings), "\(crossings)")
    #expect((9_500...10_500).contains(Int(last.max() ?? 0)))
  }

  @Test(arguments: [(48_000, 1), (48_000, 2), (44_100, 1)])
  func aDeviceReadsAtItsOwnPaceAndRate(_ rate: Int, _ channels: Int) throws {
    let sink = try ExternalAudioSink(
      name: "device", rate: rate, channels: channels, delay: { .milliseconds(20) }, switches: { _ in })
    let chunk = [Int16](repeating: 2000, count: 960)
    var heard: [Int16] = []
    for _ in 0..<100 {
      chunk.withUnsafeBufferPointer { sink.write($0) }
      // Not in step with the audio thread's chunks.
      for part in [7, rate / 100 - 7] {
        var samples = [Int16](repeating: 1, count: part * channels)
        samples.withUnsafeMutableBufferPointer { sink.read(into: $0) }
        heard += samples
      }
    }
    #expect(heard.count == rate * channels)
    #expect(heard.suffix(heard.count / 2).allSatisfy { abs(Int($0) - 2000) < 40 })
    #expect((sink.statistics?.delay ?? 0) >= 0.020)
  }

  @Test func whoReadsMoreThanThereIsGetsSilence() throws {
    let sink = try ExternalAudioSink(
      name: "device", rate: 48_000, channels: 2, delay: { .zero }, switches: { _ in })
    var samples = [Int16](repeating: 1, count: 100_001)
    samples.withUnsafeMutableBufferPointer { sink.read(into: $0) }
    #expect(samples.allSatisfy { $0 == 0 })
  }
}

private enum ToneSine {
  static func of(_ index: Int, hertz: Double, rate: Double) -> Double {
    sin(2 * .pi * hertz * Double(index) / rate)
  }
}
