import Base
import Codecs
import Glibc

/// `tone[:HZ]`: a sine that never breaks off.
final class ToneSource: AudioSource {
  let name: String
  /// The sine's present value and its cosine, turned by a constant angle from sample to sample.
  private var (sine, cosine) = (0.0, 1.0)
  private let (turnSine, turnCosine): (Double, Double)
  /// -12 dBFS.
  private static let amplitude = 8_192.0

  init(hertz: Double) {
    let step = 2 * Double.pi * hertz / Double(AudioFormat.sampleRate)
    (turnSine, turnCosine) = (sin(step), cos(step))
    let text = hertz == hertz.rounded() ? String(Int(hertz)) : String(hertz)
    name = "\(text) Hz tone"
  }

  func start(at now: Instant) {}

  func read(into samples: UnsafeMutableBufferPointer<Int16>, channels: Int, at time: Instant) -> Bool {
    for index in stride(from: 0, to: samples.count - channels + 1, by: channels) {
      let value = Int16(Self.amplitude * sine)
      for channel in 0..<channels { samples[index + channel] = value }
      (sine, cosine) = (sine * turnCosine + cosine * turnSine, cosine * turnCosine - sine * turnSine)
    }
    // Rounding errors must not make it grow.
    let length = (sine * sine + cosine * cosine).squareRoot()
    (sine, cosine) = (sine / length, cosine / length)
    return true
  }

  func stop() {}
}

/// `test`: the test pattern's companion, a blip at each full second of the wall clock.
final class BlipSource: AudioSource {
  /// Hz.
  static let frequency = 1_000.0
  /// Samples; 60 ms.
  private static let length: Int64 = 2_880
  /// Samples over which it starts and ends.
  private static let ramp: Int64 = 48
  private static let amplitude = 12_000.0

  let name = "test blips"

  func start(at now: Instant) {}

  func read(into samples: UnsafeMutableBufferPointer<Int16>, channels: Int, at time: Instant) -> Bool {
    let age = (MonotonicClock.now() - time).nanoseconds / 1000
    let wall = WallClock.microseconds() - age
    // Where in the wall clock's second the first sample lies.
    var position = wall % 1_000_000 * Int64(AudioFormat.sampleRate) / 1_000_000
    for index in stride(from: 0, to: samples.count - channels + 1, by: channels) {
      var value: Int16 = 0
      if position < Self.length {
        let edge = Double(min(Self.ramp, position, Self.length - position)) / Double(Self.ramp)
        let angle = 2 * Double.pi * Self.frequency * Double(position) / Double(AudioFormat.sampleRate)
        value = Int16(Self.amplitude * edge * sin(angle))
      }
      for channel in 0..<channels { samples[index + channel] = value }
      position += 1
      if position == Int64(AudioFormat.sampleRate) { position = 0 }
    }
    return true
  }

  func stop() {}
}

/// `noise`: white noise.
final class NoiseAudioSource: AudioSource {
  let name = "noise"
  private var generator = SeededGenerator(seed: 3)

  func start(at now: Instant) {}

  func read(into samples: UnsafeMutableBufferPointer<Int16>, channels: Int, at time: Instant) -> Bool {
    for index in samples.indices {
      // -15 dBFS or so.
      samples[index] = Int16(truncatingIfNeeded: generator.next()) / 4
    }
    return true
  }

  func stop() {}
}

/// `silence`.
final class SilenceSource: AudioSource {
  let name = "silence"

  func start(at now: Instant) {}

  func read(into samples: UnsafeMutableBufferPointer<Int16>, channels: Int, at time: Instant) -> Bool {
    samples.update(repeating: 0)
    return true
  }

  func stop() {}
}
