import Glibc

/// Loudness of a piece of sound.
struct AudioLevel {
  private var sumOfSquares = 0
  private var count = 0

  mutating func add(_ samples: UnsafeBufferPointer<Int16>) {
    var sum = 0
    for sample in samples { sum &+= Int(sample) &* Int(sample) }
    sumOfSquares += sum
    count += samples.count
  }

  mutating func add(_ other: AudioLevel) {
    sumOfSquares += other.sumOfSquares
    count += other.count
  }

  /// Mean square, full scale = 1.
  var power: Double {
    count == 0 ? 0 : Double(sumOfSquares) / Double(count) / (32768 * 32768)
  }

  /// Root mean square in dB of full scale, -127 (silence) to 0.
  var decibels: Double { Self.decibels(power: power) }

  static func decibels(power: Double) -> Double { power <= 0 ? -127 : max(-127, 10 * log10(power)) }

  /// As in the header extension of RFC 6464: 0 (loudest) to 127 (silence) -dBov.
  var headerExtension: UInt8 { UInt8(min(127, max(0, -decibels.rounded()))) }
}
