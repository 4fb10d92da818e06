import Base
import Codecs
import Glibc

/// A picture with detail that moves with `step`.
func movingPicture(_ width: Int, _ height: Int, step: Int, time: Instant) -> VideoFrame {
  // One long line, of which each row shows a piece: cheap to make also in a debug build.
  let line = (0..<width + 512).map { (x: Int) -> UInt8 in
    let value = (x / 9 * 37 + x / 2) % 200
    return UInt8(16 + value)
  }
  return VideoFrame(width: width, height: height, time: time) { y, u, v, strideY, strideUV in
    line.withUnsafeBufferPointer { line in
      // The array holds width + 512 values, so it is not empty.
      guard let base = line.baseAddress else { return }
      for row in 0..<height { memcpy(y + row * strideY, base + (row / 8 * 5 + step * 3) % 512, width) }
      for row in 0..<(height + 1) / 2 {
        memset(u + row * strideUV, Int32(64 + row % 128), (width + 1) / 2)
        memset(v + row * strideUV, Int32(192 - row % 128), (width + 1) / 2)
      }
    }
  }
}

/// Peak signal-to-noise ratio of the luma planes, in dB.
func luminancePSNR(_ left: VideoFrame, _ right: VideoFrame) -> Double {
  guard left.size == right.size else { return 0 }
  var sum = 0
  for row in 0..<left.height {
    let a = left.y + row * left.strideY
    let b = right.y + row * right.strideY
    for column in 0..<left.width {
      let difference = Int(a[column]) - Int(b[column])
      sum += difference * difference
    }
  }
  if sum == 0 { return 100 }
  return 10 * log10(255 * 255 * Double(left.size.pixels) / Double(sum))
}

/// Interleaved samples of a sine.
func sine(_ frequency: Double, start: Int, count: Int, channels: Int = 1, amplitude: Double = 10_000)
  -> [Int16]
{
  (0..<count * channels).map {
    Int16(amplitude * sin(2 * .pi * frequency * Double(start + $0 / channels) / 48_000))
  }
}

/// How much of a signal's energy lies at `frequency`, 0 to 1 (Goertzel).
func share(of frequency: Double, in samples: [Int16]) -> Double {
  let step = 2 * Double.pi * frequency / 48_000
  var real = 0.0
  var imaginary = 0.0
  var energy = 0.0
  for (index, sample) in samples.enumerated() {
    let value = Double(sample)
    real += value * cos(step * Double(index))
    imaginary += value * sin(step * Double(index))
    energy += value * value
  }
  guard energy > 0 else { return 0 }
  return 2 * (real * real + imaginary * imaginary) / (Double(samples.count) * energy)
}
