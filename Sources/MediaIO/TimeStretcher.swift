import Glibc

/// Shortens and lengthens 48 kHz stereo sound by whole periods without changing its pitch: looks for the
/// distance at which the sound is most like itself, and fades over from one place to the other (WSOLA).
struct TimeStretcher: ~Copyable {
  /// Samples a channel that are faded over, and compared: 7.5 ms.
  static let overlap = 360
  /// The shortest and longest piece, in samples a channel: a period of 400 Hz, of 67 Hz.
  private static let shortest = 120
  static let longest = 720
  /// The first search is in every sixth sample: 8 kHz.
  private static let step = 6
  /// Mean square below which it is quiet whatever was before: about -60 dBFS.
  private static let silence: Float = 30 * 30
  /// What is 33 dB softer than the loudest of late is quiet too; that fades by half in about a second.
  private static let quietShare: Float = 0.0005
  private static let fading: Float = 0.993

  private var loudness: Float = 0
  /// One channel, for comparing.
  private let mono = UnsafeMutableBufferPointer<Float>.allocate(capacity: 2 * (overlap + longest))
  private let coarse = UnsafeMutableBufferPointer<Float>.allocate(capacity: 2 * (overlap + longest) / step)
  private let faded = UnsafeMutablePointer<Int16>.allocate(capacity: 2 * overlap)

  init() {
    mono.initialize(repeating: 0)
    coarse.initialize(repeating: 0)
    faded.initialize(repeating: 0, count: 2 * Self.overlap)
  }

  deinit {
    mono.deallocate()
    coarse.deallocate()
    faded.deallocate()
  }

  /// Takes note of how loud 10 ms are.
  ///
  /// - Parameter power: mean square, full scale = 1.
  mutating func heard(power: Double) {
    loudness = max(loudness * Self.fading, Float(power) * 32768 * 32768)
  }

  /// Leaves a piece out just behind `front`.
  ///
  /// - Parameters:
  ///   - front: the next sample to be heard, stereo.
  ///   - waiting: samples a channel from `front` on.
  ///   - maximum: samples a channel to leave out at most.
  ///   - minimumCorrelation: how alike the places that are joined must be, -1 to 1, unless it is quiet.
  /// - Returns: samples a channel that were left out, 0 if nothing is alike enough.
  func shorten(
    _ front: UnsafeMutablePointer<Int16>, waiting: Int, maximum: Int, minimumCorrelation: Double
  ) -> Int {
    let longest = min(maximum, Self.longest, waiting - Self.overlap)
    guard longest >= Self.shortest else { return 0 }
    mix(front, Self.overlap + longest)
    let piece = distance(template: 0, from: Self.shortest, through: longest, minimumCorrelation)
    guard piece > 0 else { return 0 }
    fade(front, front + 2 * piece)
    memmove(
      front + 2 * Self.overlap, front + 2 * (Self.overlap + piece), (waiting - Self.overlap - piece) * 4)
    memcpy(front, faded, Self.overlap * 4)
    return piece
  }

  /// Repeats the piece in front of `front`. At least `maximum` samples a channel stand before it, and behind
  /// those that wait there is room for as many.
  ///
  /// - Returns: samples a channel that were added, 0 if nothing is alike enough.
  func lengthen(
    _ front: UnsafeMutablePointer<Int16>, waiting: Int, maximum: Int, minimumCorrelation: Double
  ) -> Int {
    let longest = min(maximum, Self.longest)
    guard longest >= Self.shortest, waiting >= Self.overlap else { return 0 }
    mix(front - 2 * longest, longest + Self.overlap)
    // Seen from the end of what is before: distances go backwards.
    let piece = distance(template: longest, from: -longest, through: -Self.shortest, minimumCorrelation)
    guard piece > 0 else { return 0 }
    fade(front, front - 2 * piece)
    memmove(
      front + 2 * Self.overlap, front + 2 * (Self.overlap - piece), (waiting - Self.overlap + piece) * 4)
    memcpy(front, faded, Self.overlap * 4)
    return piece
  }

  private func mix(_ source: UnsafePointer<Int16>, _ count: Int) {
    for index in 0..<count { mono[index] = Float(Int(source[2 * index]) + Int(source[2 * index + 1])) / 2 }
    for index in 0..<count / Self.step {
      var sum: Float = 0
      for inner in 0..<Self.step { sum += mono[index * Self.step + inner] }
      coarse[index] = sum
    }
  }

  /// From one place to the other, into `faded`.
  private func fade(_ old: UnsafePointer<Int16>, _ new: UnsafePointer<Int16>) {
    for index in 0..<Self.overlap {
      for channel in 0..<2 {
        let (from, to) = (Int(old[2 * index + channel]), Int(new[2 * index + channel]))
        faded[2 * index + channel] = Int16(
          clamping: (from * (Self.overlap - index) + to * index) / Self.overlap)
      }
    }
  }

  /// The distance from `template` to the place most like it, without its sign; 0 if none is alike enough.
  private func distance(template: Int, from: Int, through: Int, _ minimumCorrelation: Double) -> Int {
    let isQuiet = max(power(template), power(template + from), power(template + through)) < quiet
    guard isQuiet || minimumCorrelation <= 1 else { return 0 }
    let length = Self.overlap / Self.step
    var best = (distance: 0, correlation: -Float.infinity)
    for place in (from / Self.step)...(through / Self.step) {
      let value = correlation(coarse, template / Self.step, template / Self.step + place, length)
      if value > best.correlation { best = (place * Self.step, value) }
    }
    var fine = (distance: 0, correlation: -Float.infinity)
    let range = max(from, best.distance - Self.step)...min(through, best.distance + Self.step)
    for place in range {
      let value = correlation(mono, template, template + place, Self.overlap)
      if value > fine.correlation { fine = (place, value) }
    }
    return isQuiet || Double(fine.correlation) >= minimumCorrelation ? abs(fine.distance) : 0
  }

  private var quiet: Float { max(Self.silence, loudness * Self.quietShare) }

  /// Mean square of what would be faded over at a place.
  private func power(_ place: Int) -> Float {
    var sum: Float = 0
    for index in place..<place + Self.overlap { sum += mono[index] * mono[index] }
    return sum / Float(Self.overlap)
  }

  /// Normalised cross-correlation, -1 to 1.
  private func correlation(
    _ sound: UnsafeMutableBufferPointer<Float>, _ first: Int, _ second: Int, _ length: Int
  ) -> Float {
    var product: Float = 0
    var energies: (Float, Float) = (1, 1)
    for index in 0..<length {
      let (left, right) = (sound[first + index], sound[second + index])
      product += left * right
      energies.0 += left * left
      energies.1 += right * right
    }
    return product / (energies.0 * energies.1).squareRoot()
  }
}
