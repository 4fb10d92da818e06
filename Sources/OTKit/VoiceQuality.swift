/// How a listener would judge the sound: the E-model (ITU-T G.107) with its defaults, for delay and loss.
enum VoiceQuality {
  /// - Returns: 1 (bad) to 4.5 (nothing to be heard); nil before there is sound.
  static func meanOpinionScore(_ audio: Metrics, roundTripTime: Double?) -> Double? {
    guard let samples = audio["totalSamplesReceived"], samples > 0 else { return nil }
    let emitted = audio["jitterBufferEmittedCount"] ?? 0
    let buffered = emitted > 0 ? (audio["jitterBufferDelay"] ?? 0) / emitted : 0
    return score(
      delay: (roundTripTime ?? 0) / 2 + buffered + 0.03, loss: min(max(madeUp(audio) / samples, 0), 1))
  }

  /// Samples of sound that had to be made up, where there should have been some.
  static func madeUp(_ audio: Metrics) -> Double {
    (audio["concealedSamples"] ?? 0) - (audio["silentConcealedSamples"] ?? 0)
  }

  /// - Parameters:
  ///   - delay: mouth to ear, in seconds; coding is 30 ms of it.
  ///   - loss: share of the sound that had to be made up.
  static func score(delay: Double, loss: Double) -> Double {
    let milliseconds = delay * 1000
    let delayImpairment = 0.024 * milliseconds + (milliseconds > 177.3 ? 0.11 * (milliseconds - 177.3) : 0)
    // Opus at full quality has no impairment of its own, and hides loss about as well as G.711 with PLC.
    let lossImpairment = 95 * (loss * 100) / (loss * 100 + 25.1)
    let rating = min(max(93.2 - delayImpairment - lossImpairment, 0), 100)
    return min(max(1 + 0.035 * rating + rating * (rating - 60) * (100 - rating) * 7e-6, 1), 4.5)
  }
}
