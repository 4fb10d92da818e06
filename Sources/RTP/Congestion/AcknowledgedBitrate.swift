/// How much got through: the rate at which packets arrive at the other end, smoothed more the less a
/// sample fits. Times are in milliseconds, rates in bits per second.
struct AcknowledgedBitrate {
  private static let initialWindow = 500.0
  private static let window = 150.0

  private(set) var bitrate: Double?
  /// Of the last window alone: it follows at once, and scatters.
  private(set) var latest: Double?
  private var variance = 50.0
  private var windowStart: Double?
  private var bits = 0.0

  mutating func add(bytes: Int, at time: Double) {
    guard let start = windowStart else {
      windowStart = time
      bits = Double(bytes * 8)
      return
    }
    let length = bitrate == nil ? Self.initialWindow : Self.window
    if time - start >= length {
      // Silence in between counts only up to a second: then it says nothing about the way.
      let elapsed = min(time - start, 1000)
      update(sample: bits / elapsed)
      windowStart = time
      bits = 0
    }
    bits += Double(bytes * 8)
  }

  /// - Parameter sample: kilobits per second.
  private mutating func update(sample: Double) {
    latest = sample * 1000
    guard let bitrate else {
      self.bitrate = sample * 1000
      return
    }
    // Bayes: both the estimate and the sample with their variance.
    let estimate = bitrate / 1000
    let uncertainty = 10 * abs(estimate - sample) / max(estimate, 1)
    let sampleVariance = uncertainty * uncertainty
    let predicted = variance + 5
    variance = sampleVariance * predicted / (sampleVariance + predicted)
    self.bitrate =
      1000 * max(0, (sampleVariance * estimate + predicted * sample) / (sampleVariance + predicted))
  }
}
