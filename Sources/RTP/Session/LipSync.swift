import Base

/// Keeps sound and picture together: whichever is ahead waits for the other. Seconds throughout.
struct LipSync {
  private static let interval = Duration.milliseconds(250)
  /// Sound that is late by so much is not noticed (ITU-R BT.1359 allows more), and delay is precious.
  private static let tolerance = 0.020
  private static let deadBand = 0.030
  private static let maximumStep = 0.040
  private static let maximumDelay = 1.0
  private static let relaxation = 0.002

  /// From the earliest arrival of a picture to its showing.
  private(set) var videoDelay = 0.0
  /// The least delay to ask of the sound's jitter buffer.
  private(set) var audioDelay = 0.0
  private var lastUpdate: Instant?

  /// - Parameters:
  ///   - audioDelay: from capture (the sender's clock) to the ear (ours): only its difference to
  ///     `videoDelay` means something.
  ///   - videoDelay: from capture to the earliest arrival of the picture.
  ///   - jitterDelay: what the picture waits in any case.
  /// - Returns: whether `audioDelay` changed.
  mutating func update(audioDelay sound: Double, videoDelay: Double, jitterDelay: Double, at now: Instant)
    -> Bool
  {
    if let lastUpdate, now - lastUpdate < Self.interval { return false }
    lastUpdate = now
    let shown = max(self.videoDelay, jitterDelay)
    // Positive: the sound is late.
    let lag = sound - videoDelay - shown
    guard abs(lag) < 10 else { return false }
    if lag > Self.deadBand {
      if audioDelay > 0 { return setAudioDelay(audioDelay - min(lag, Self.maximumStep)) }
      let wanted = min(shown + lag - Self.tolerance, Self.maximumDelay)
      self.videoDelay = min(wanted, shown + Self.maximumStep)
    } else if lag < -Self.deadBand / 2 {
      if self.videoDelay > jitterDelay {
        self.videoDelay = max(jitterDelay, self.videoDelay - min(-lag, Self.maximumStep))
      } else if lag < -Self.deadBand {
        return setAudioDelay(audioDelay + min(-lag - Self.tolerance, Self.maximumStep))
      }
    } else if lag < Self.tolerance, self.videoDelay > jitterDelay {
      // In time, but later than need be.
      self.videoDelay = max(jitterDelay, self.videoDelay - Self.relaxation)
    }
    return false
  }

  private mutating func setAudioDelay(_ delay: Double) -> Bool {
    let new = delay < 0.01 ? 0 : min(delay, Self.maximumDelay)
    defer { audioDelay = new }
    return new != audioDelay
  }
}

/// What sender reports say about a stream: which wall-clock time of the sender belongs to a timestamp.
struct SenderClock {
  private var report: (seconds: Double, timestamp: Int64)?

  /// - Parameter near: an extended timestamp of about the same time.
  mutating func update(ntpTime: NTPTime, timestamp: UInt32, near: Int64) {
    let extended = near &+ Int64(Int32(bitPattern: timestamp &- UInt32(truncatingIfNeeded: near)))
    let seconds = Double(ntpTime.value >> 32) + Double(ntpTime.value & 0xFFFF_FFFF) / 4_294_967_296
    report = (seconds, extended)
  }

  /// Seconds of the sender's clock; nil before the first report.
  func captureTime(of timestamp: Int64, clockRate: Int) -> Double? {
    report.map { $0.seconds + Double(timestamp &- $0.timestamp) / Double(clockRate) }
  }
}
