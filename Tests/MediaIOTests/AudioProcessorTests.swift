import Base
import Glibc
import Testing

@testable import MediaIO

@Suite struct AudioProcessorTests {
  /// Something like a voice: harmonics of a pitch that wanders, in syllables.
  private struct Voice {
    private var phase = 0.0
    private var pitch: Double
    private var time = 0
    private var generator: SeededGenerator
    private var syllable = (amplitude: 0.0, length: 0, brightness: 0.5)
    private var left = 0

    init(pitch: Double, seed: UInt64) {
      self.pitch = pitch
      generator = SeededGenerator(seed: seed)
    }

    mutating func next(_ count: Int) -> [Double] {
      (0..<count).map { _ in
        if left == 0 {
          let isPause = Double.random(in: 0...1, using: &generator) < 0.3
          let length = Int.random(in: 4_800...14_400, using: &generator)
          syllable = (
            isPause ? 0 : Double.random(in: 0.1...0.25, using: &generator), length,
            Double.random(in: 0.5...0.9, using: &generator)
          )
          pitch *= Double.random(in: 0.85...1.18, using: &generator)
          pitch = min(max(pitch, 90), 260)
          left = length
        }
        left -= 1
        let envelope = sin(.pi * Double(left) / Double(syllable.length))
        phase += 2 * .pi * pitch / 48_000
        var sample = 0.0
        var strength = 1.0
        for harmonic in 1...8 {
          sample += strength * sin(phase * Double(harmonic))
          strength *= syllable.brightness
        }
        let breath = Double.random(in: -1...1, using: &generator) * 0.05
        return syllable.amplitude * envelope * (sample / 2 + breath)
      }
    }
  }

  /// The room: what is played comes back later, quieter, and once more from a wall.
  private struct Room {
    private var past = [Double](repeating: 0, count: 48_000)

    mutating func echo(of played: [Double], delay: Int) -> [Double] {
      past.removeFirst(played.count)
      past.append(contentsOf: played)
      let begin = past.count - played.count - delay
      return (0..<played.count).map { 0.4 * past[begin + $0] + 0.15 * past[begin + $0 - 1_300] }
    }
  }

  private func power(_ samples: some Sequence<Double>) -> Double { samples.reduce(0) { $0 + $1 * $1 } }

  private func samples(_ values: [Double]) -> [Int16] {
    values.map { Int16(max(-1, min(1, $0)) * 32_767) }
  }

  /// Runs a call of that many seconds.
  /// - Returns: the power of what came out and of what went in, over its second half.
  private func run(seconds: Int, speaksFar: Bool, speaksNear: Bool, delay: Int) throws -> (
    out: Double, echo: Double, near: Double
  ) {
    let processor = try #require(AudioProcessor())
    var (far, near) = (Voice(pitch: 130, seed: 1), Voice(pitch: 190, seed: 2))
    var room = Room()
    var result = (out: 0.0, echo: 0.0, near: 0.0)
    for chunk in 0..<seconds * 100 {
      let played = speaksFar ? far.next(480) : [Double](repeating: 0, count: 480)
      let stereo = samples(played.flatMap { [$0, $0] })
      stereo.withUnsafeBufferPointer { processor.played($0) }
      let echo = room.echo(of: played, delay: delay)
      let spoken = speaksNear ? near.next(480) : [Double](repeating: 0, count: 480)
      var captured = samples(zip(echo, spoken).map { $0 + $1 })
      // What is known of the delay is not all of it.
      captured.withUnsafeMutableBufferPointer { processor.captured($0, channels: 1, delay: 0.05) }
      guard chunk >= seconds * 50 else { continue }
      result.out += power(captured.map { Double($0) / 32_767 })
      result.echo += power(echo)
      result.near += power(spoken)
    }
    return result
  }

  @Test(arguments: [2_400, 5_000])
  func whatTheLoudspeakerSaysDoesNotComeBack(delay: Int) throws {
    let result = try run(seconds: 10, speaksFar: true, speaksNear: false, delay: delay)
    let attenuation = 10 * log10(result.echo / (result.out + 1e-12))
    #expect(attenuation >= 25, "\(attenuation) dB")
  }

  @Test func whatIsSpokenPasses() throws {
    let result = try run(seconds: 5, speaksFar: false, speaksNear: true, delay: 2_400)
    let change = 10 * log10(result.out / result.near)
    #expect(change > -6 && change < 20, "\(change) dB")
  }

  @Test func ofSeveralChannelsTheFirstIsCleaned() throws {
    let processor = try #require(AudioProcessor())
    var voice = Voice(pitch: 150, seed: 3)
    var heard = 0.0
    for _ in 0..<100 {
      var stereo = samples(voice.next(480).flatMap { [$0, 0] })
      stereo.withUnsafeMutableBufferPointer { processor.captured($0, channels: 2, delay: 0) }
      for frame in 0..<480 { #expect(stereo[2 * frame] == stereo[2 * frame + 1]) }
      heard += power(stereo.map { Double($0) / 32_767 })
    }
    #expect(heard > 0.1)
  }
}
