import Glibc

/// Keeps the last 85 ms of a sound and finds its loudest frequency.
struct ToneMeter {
  private static let length = 4096
  private static let quietest = 30.0

  private var samples = [Float](repeating: 0, count: Self.length)
  private var position = 0

  /// - Parameter stereo: interleaved; the left channel is kept.
  mutating func add(_ stereo: UnsafeBufferPointer<Int16>) {
    for index in stride(from: 0, to: stereo.count, by: 2) {
      samples[position] = Float(stereo[index])
      position = (position + 1) & (Self.length - 1)
    }
  }

  /// In Hz, to about 1 Hz; nil if there is next to no sound.
  var frequency: Double? {
    var real = [Double](repeating: 0, count: Self.length)
    var energy = 0.0
    for index in 0..<Self.length {
      let sample = Double(samples[(position + index) & (Self.length - 1)])
      energy += sample * sample
      // Hann window.
      real[index] = sample * (0.5 - 0.5 * cos(2 * .pi * Double(index) / Double(Self.length)))
    }
    guard (energy / Double(Self.length)).squareRoot() > Self.quietest else { return nil }
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
    return (Double(peak) + shift) * 48_000 / Double(Self.length)
  }

  /// Magnitudes of the lower half of the discrete Fourier transform (radix 2, in place).
  private static func spectrum(_ signal: [Double]) -> [Double] {
    let count = signal.count
    var real = signal
    var imaginary = [Double](repeating: 0, count: count)
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
      let step = -2 * Double.pi / Double(size)
      for offset in 0..<size / 2 {
        let (c, s) = (cos(step * Double(offset)), sin(step * Double(offset)))
        for even in stride(from: offset, to: count, by: size) {
          let odd = even + size / 2
          let r = real[odd] * c - imaginary[odd] * s
          let i = real[odd] * s + imaginary[odd] * c
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
