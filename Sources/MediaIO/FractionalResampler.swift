import Glibc

/// Reads sound between its samples: a windowed sinc of 16 taps, flat to 18 kHz. For rates that differ by less
/// than a hundredth, where nothing has to be filtered out.
enum FractionalResampler {
  static let taps = 16
  /// Frames that are needed before the one that is read, and behind it.
  static let past = taps / 2 - 1
  static let future = taps / 2

  /// Positions between two samples with taps of their own; between those, taps are interpolated.
  private static let phases = 128

  private static let table: [Float] = {
    var table: [Float] = []
    table.reserveCapacity((phases + 1) * taps)
    for phase in 0...phases {
      let fraction = Double(phase) / Double(phases)
      var row = (0..<taps).map { tap -> Double in
        let distance = Double(tap - past) - fraction
        return sinc(distance) * kaiser(distance / Double(taps / 2))
      }
      let sum = row.reduce(0, +)
      for tap in row.indices { row[tap] /= sum }
      table.append(contentsOf: row.map(Float.init))
    }
    return table
  }()

  private static func sinc(_ x: Double) -> Double { x == 0 ? 1 : sin(.pi * x) / (.pi * x) }

  /// Kaiser's window (β = 7), 0 outside of -1...1.
  private static func kaiser(_ x: Double) -> Double {
    guard abs(x) < 1 else { return 0 }
    return bessel(7 * (1 - x * x).squareRoot()) / bessel(7)
  }

  /// The modified Bessel function of the first kind, order 0.
  private static func bessel(_ x: Double) -> Double {
    var (sum, term) = (1.0, 1.0)
    for index in 1..<30 {
      term *= (x / 2 / Double(index)) * (x / 2 / Double(index))
      sum += term
    }
    return sum
  }

  /// - Parameters:
  ///   - input: interleaved; `past` frames before the first that is read, and enough behind the last.
  ///   - position: of the first frame, counted from `past`; 0 to 1.
  ///   - step: from frame to frame, about 1.
  ///   - output: filled.
  /// - Returns: the position behind the last frame.
  static func read(
    _ input: UnsafePointer<Int16>, channels: Int, position: Double, step: Double,
    into output: UnsafeMutableBufferPointer<Int16>
  ) -> Double {
    var position = position
    table.withUnsafeBufferPointer { table in
      withUnsafeTemporaryAllocation(of: Float.self, capacity: taps) { row in
        for frame in 0..<output.count / channels {
          let whole = Int(position)
          let phase = (position - Double(whole)) * Double(phases)
          let lower = Int(phase)
          let share = Float(phase - Double(lower))
          for tap in 0..<taps {
            let left = table[lower * taps + tap]
            row[tap] = left + share * (table[(lower + 1) * taps + tap] - left)
          }
          for channel in 0..<channels {
            var sum: Float = 0
            for tap in 0..<taps { sum += row[tap] * Float(input[(whole + tap) * channels + channel]) }
            output[frame * channels + channel] = Int16(max(-32768, min(32767, sum.rounded())))
          }
          position += step
        }
      }
    }
    return position
  }
}
