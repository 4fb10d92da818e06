import Glibc

/// Keeps the last 85 ms of a sound and finds its loudest frequency.
struct ToneMeter {
  private static let length = 4096
  private static let quietest = 30.0

  private var samples = [Float](repeating: 0, count: Self.length)
  private var position = 0

  /// - Parameter stereo: interleaved; the left channel is kept.
  mutating func add(_ stereo: UnsafeBufferPointer<Int16>) {
    samples.withUnsafeMutableBufferPointer { samples in
      for index in 0..<stereo.count / 2 {
        samples[(position + index) & (Self.length - 1)] = Float(stereo[2 * index])
      }
    }
    position = (position + stereo.count / 2) & (Self.length - 1)
  }

  /// In Hz, to about 1 Hz; nil if there is next to no sound.
  var frequency: Double? {
    let energy = samples.reduce(0.0) { $0 + Double($1 * $1) }
    guard (energy / Double(Self.length)).squareRoot() > Self.quietest else { return nil }
    var real = [Float](repeating: 0, count: Self.length)
    for index in 0..<Self.length {
      real[index] = samples[(position + index) & (Self.length - 1)] * Self.window[index]
    }
    let magnitudes = Self.spectrum(real)
    guard let peak = (2..<magnitudes.count - 1).max(by: { magnitudes[$0] < magnitudes[$1] }) else {
      return nil
    }
    // The vertex of the parabola through the logarithms around the peak.
    let (left, middle, right) = (
      log(magnitudes[peak - 1] + 1e-9), log(magnitudes[peak] + 1e-9), log(magnitudes[peak + 1] + 1e-9)
    )
    let curvature = left - 2 * middle + right
    let shift = curvature == 0 ? 0 : 0.5 * (left - right) / curvature
    return (Double(peak) + Double(shift)) * 48_000 / Double(Self.length)
  }

  /// Hann's.
  private static let window = (0..<length).map { index in
    Float(0.5 - 0.5 * cos(2 * .pi * Double(index) / Double(length)))
  }

  /// The lower half of the unit circle's `length` points.
  private static let circle = (0..<length / 2).map { index in
    let angle = -2 * Double.pi * Double(index) / Double(length)
    return (cosine: Float(cos(angle)), sine: Float(sin(angle)))
  }

  /// Magnitudes of the lower half of the discrete Fourier transform (radix 2, in place).
  /// - Parameter signal: of `length`.
  private static func spectrum(_ signal: [Float]) -> [Float] {
    let count = signal.count
    let circle = Self.circle
    var real = signal
    var imaginary = [Float](repeating: 0, count: count)
    var reversed = 0
    for index in 1..<count {
      var bit = count >> 1
      while reversed & bit != 0 {
        reversed ^= bit
        bit >>= 1
      }
      reversed |= bit
      if index < reversed { real.swapAt(index, reversed) }
    }
    var size = 2
    while size <= count {
      for start in stride(from: 0, to: count, by: size) {
        for offset in 0..<size / 2 {
          let turn = circle[offset * (count / size)]
          let (even, odd) = (start + offset, start + offset + size / 2)
          let r = real[odd] * turn.cosine - imaginary[odd] * turn.sine
          let i = real[odd] * turn.sine + imaginary[odd] * turn.cosine
          real[odd] = real[even] - r
          imaginary[odd] = imaginary[even] - i
          real[even] += r
          imaginary[even] += i
        }
      }
      size *= 2
    }
    return (0..<count / 2).map { (real[$0] * real[$0] + imaginary[$0] * imaginary[$0]).squareRoot() }
  }
}
