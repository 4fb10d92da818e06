import Base
import Glibc

/// Finds the test pattern's blips in a sound: a tone of 1 kHz after silence.
struct BlipDetector {
  private static let threshold: Int16 = 2_000
  /// Samples of quiet before a blip.
  private static let quiet = 9_600
  /// Samples after the first loud one that have to be the tone.
  private static let proof = 1_440

  private var silentFor = 0
  private var onset: Instant?
  private var collected = 0
  private var real = 0.0
  private var imaginary = 0.0
  private var energy = 0.0

  /// - Parameters:
  ///   - stereo: interleaved 10 ms; the left channel is looked at.
  ///   - time: when the first sample is played.
  /// - Returns: when the blip began that is now proved to be one.
  mutating func add(_ stereo: UnsafeBufferPointer<Int16>, at time: Instant) -> Instant? {
    if onset == nil, skip(stereo) { return nil }
    var found: Instant?
    for index in 0..<stereo.count / 2 {
      let sample = stereo[2 * index]
      let isLoud = sample > Self.threshold || sample < -Self.threshold
      if isLoud, onset == nil, silentFor >= Self.quiet {
        onset = time + .nanoseconds(Int64(index) * 1_000_000_000 / 48_000)
        (collected, real, imaginary, energy) = (0, 0, 0, 0)
      }
      silentFor = isLoud ? 0 : silentFor + 1
      guard let begin = onset else { continue }
      let angle = 2 * Double.pi * BlipSource.frequency * Double(collected) / 48_000
      real += Double(sample) * cos(angle)
      imaginary += Double(sample) * sin(angle)
      energy += Double(sample) * Double(sample)
      collected += 1
      if collected == Self.proof {
        let share = 2 * (real * real + imaginary * imaginary) / (Double(collected) * energy)
        if share > 0.7 { found = begin }
        onset = nil
      }
    }
    return found
  }

  /// Takes in sound in which no blip can begin, because there was no quiet before it: most sound. False
  /// if one may.
  private mutating func skip(_ stereo: UnsafeBufferPointer<Int16>) -> Bool {
    let count = stereo.count / 2
    guard silentFor + count <= Self.quiet else { return false }
    var quiet = 0
    while quiet < count, abs(Int(stereo[2 * (count - 1 - quiet)])) <= Int(Self.threshold) { quiet += 1 }
    silentFor = quiet == count ? silentFor + count : quiet
    return true
  }
}
