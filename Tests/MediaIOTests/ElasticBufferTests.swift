import Glibc
import Testing

@testable import MediaIO

@Suite struct ElasticBufferTests {
  /// A sine of amplitude 10000.
  private struct Tone {
    let hertz: Double
    var index = 0

    mutating func next(_ count: Int) -> [Int16] {
      defer { index += count }
      return (index..<index + count).map {
        Int16((10_000 * sin(2 * .pi * hertz * Double($0) / 48_000)).rounded())
      }
    }
  }

  private func read(_ buffer: ElasticBuffer, _ count: Int = 480) -> (heard: Bool, samples: [Int16]) {
    var samples = [Int16](repeating: 1, count: count)
    let heard = samples.withUnsafeMutableBufferPointer { buffer.read(into: $0) }
    return (heard, samples)
  }

  private func write(_ buffer: ElasticBuffer, _ samples: [Int16]) {
    samples.withUnsafeBufferPointer { buffer.write($0) }
  }

  /// A writer whose clock is `drift` faster than the reader's, for some seconds.
  private func run(_ buffer: ElasticBuffer, drift: Double, seconds: Int, hertz: Double = 440) -> [Int16] {
    var tone = Tone(hertz: hertz)
    var owed = 0.0
    var output: [Int16] = []
    for _ in 0..<seconds * 100 {
      owed += 1 + drift
      while owed >= 1 {
        write(buffer, tone.next(480))
        owed -= 1
      }
      output.append(contentsOf: read(buffer).samples)
    }
    return output
  }

  @Test func withEqualClocksSamplesStayWhatTheyAre() {
    let buffer = ElasticBuffer(channels: 1)
    let output = run(buffer, drift: 0, seconds: 5)
    var tone = Tone(hertz: 440)
    let sounding = Array(output.drop { $0 == 0 })
    #expect(sounding.count > 4 * 48_000)
    let expected = tone.next(sounding.count + 1_540)
    // What more than enough had gathered before the first read is left out.
    let left = (0..<1_440).first { Array(expected[$0..<$0 + 100]) == Array(sounding[..<100]) }
    // Not compared by #expect, which computes the difference of what is not equal, for minutes.
    #expect(
      left.map { offset in sounding.indices.allSatisfy { sounding[$0] == expected[$0 + offset] } } == true)
    #expect(buffer.statistics.underruns == 0)
    #expect(buffer.statistics.droppedFrames == 0)
  }

  @Test(arguments: [0.0003, -0.0003, 0.001, -0.001])
  func differentClocksAreFollowed(drift: Double) {
    let buffer = ElasticBuffer(channels: 1)
    let output = run(buffer, drift: drift, seconds: 40)
    let statistics = buffer.statistics
    #expect(statistics.underruns <= 1)
    #expect(statistics.droppedFrames == 0)
    // Without following, 40 s × 0.03 % are 576 frames and more.
    #expect(statistics.fill < 480 * 4)
    // What is heard of the tone is all there: next to nothing is left beside it.
    let tail = output.suffix(2_400).map(Double.init)
    #expect(purity(tail, near: 440 * (1 + drift)) > 0.999)
  }

  /// The share of a sound's energy that a sine of about this frequency explains.
  private func purity(_ samples: [Double], near hertz: Double) -> Double {
    let energy = samples.reduce(0) { $0 + $1 * $1 }
    return stride(from: hertz - 2.5, through: hertz + 2.5, by: 0.1).map { frequency in
      var (a, b, count) = (0.0, 0.0, Double(samples.count))
      for (index, sample) in samples.enumerated() {
        let angle = 2 * Double.pi * frequency * Double(index) / 48_000
        a += sample * cos(angle)
        b += sample * sin(angle)
      }
      count /= 2
      return (a * a + b * b) / count / energy
    }.max() ?? 0
  }

  @Test func tooLittleIsSilenceAndCounted() {
    let buffer = ElasticBuffer(channels: 1)
    var tone = Tone(hertz: 440)
    for _ in 0..<3 { write(buffer, tone.next(480)) }
    #expect(read(buffer).heard)
    #expect(buffer.statistics.underruns == 0)
    while read(buffer).heard {}
    #expect(buffer.statistics.underruns == 1)
    let starved = read(buffer)
    #expect(!starved.heard)
    #expect(starved.samples.allSatisfy { $0 == 0 })
    #expect(buffer.statistics.missingFrames >= 480)
    // It gathers a little more than before, and then it goes on.
    write(buffer, tone.next(480))
    #expect(!read(buffer).heard)
    for _ in 0..<3 { write(buffer, tone.next(480)) }
    #expect(read(buffer).heard)
    #expect(buffer.statistics.underruns == 1)
  }

  @Test func nothingIsMissingBeforeTheFirstSound() {
    let buffer = ElasticBuffer(channels: 2)
    for _ in 0..<100 { #expect(!read(buffer, 960).heard) }
    #expect(buffer.statistics == ElasticBuffer.Statistics())
  }

  @Test func farTooMuchIsLeftOut() {
    let buffer = ElasticBuffer(channels: 1)
    var tone = Tone(hertz: 440)
    write(buffer, tone.next(1_440))
    _ = read(buffer)
    write(buffer, tone.next(24_000))
    for _ in 0..<300 {
      write(buffer, tone.next(480))
      _ = read(buffer)
    }
    #expect(buffer.statistics.fill < 480 * 4)
    #expect(buffer.statistics.droppedFrames > 20_000)
    #expect(buffer.statistics.underruns == 0)
  }

  @Test func neverMoreThanASecondIsKept() {
    let buffer = ElasticBuffer(channels: 1)
    write(buffer, [Int16](repeating: 7, count: 100_000))
    _ = read(buffer)
    #expect(buffer.statistics.fill <= 48_000)
    #expect(buffer.statistics.droppedFrames >= 51_000)
  }

  @Test(arguments: [100.0, 1_000, 8_000, 16_000])
  func betweenSamplesTonesKeepTheirLevel(hertz: Double) {
    var tone = Tone(hertz: hertz)
    var input: [Int16] = []
    for _ in 0..<40 { input.append(contentsOf: tone.next(480)) }
    var output = [Int16](repeating: 0, count: 17_000)
    let end = input.withUnsafeBufferPointer { input in
      output.withUnsafeMutableBufferPointer { output in
        input.baseAddress.map {
          FractionalResampler.read($0, channels: 1, position: 0.25, step: 1.001, into: output)
        }
      }
    }
    #expect(abs((end ?? 0) - (0.25 + 17_000 * 1.001)) < 1e-6)
    let power = output.reduce(0.0) { $0 + Double($1) * Double($1) } / 17_000
    #expect(abs(10 * log10(power / 5e7)) < 0.2)
  }
}
