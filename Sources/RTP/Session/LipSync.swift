import Base

/// Keeps sound and picture together: both are presented as long after their capture as the later of them
/// needs. Seconds throughout, and times from the sender's clock to ours: only their differences mean
/// something.
struct LipSync {
  /// How the sound is doing.
  struct Sound {
    /// From capture to the earliest arrival.
    var transit: Double
    /// From the earliest arrival to the ear: as it is, and as the jitter buffer would have it.
    var delay: Double
    var neededDelay: Double
  }

  /// How the picture is doing.
  struct Picture {
    var transit: Double
    /// What it waits in any case, for jitter.
    var neededDelay: Double
  }

  private static let interval = Duration.milliseconds(100)
  /// How fast the time that both need comes down again, in seconds a second: what was needed once is soon
  /// needed again. Of what is more than `usual` seconds too much, a share each second.
  private static let relaxation = (least: 0.010, usual: 0.15, proportional: 0.3)
  /// And only after so long without a need that came near.
  private static let memory = Duration.seconds(5)
  private static let near = 0.030
  /// What was needed at first is not remembered: the key frame that a call begins with, and what a browser
  /// probes the way with, take longer than anything after them.
  private static let beginning = Duration.milliseconds(2500)
  /// The sound is asked for changes of so much only.
  private static let deadBand = 0.030
  /// A sound that would have to wait less is not asked at all.
  private static let tolerance = 0.030
  /// The most that pictures jump in one interval.
  private static let maximumStep = 0.080
  private static let maximumDelay = 0.8
  /// Sound that waits longer makes talking harder than pictures that come after it.
  private static let maximumAudioDelay = 0.4
  /// Times that differ by more are no measurement.
  private static let plausible = 10.0

  /// From the earliest arrival of a picture to its showing; 0: as it likes.
  private(set) var videoDelay = 0.0
  /// The least delay to ask of the sound's jitter buffer.
  private(set) var audioDelay = 0.0
  /// From capture to presentation, as the picture alone needs it.
  private var pictureTime: Double?
  private var firstUpdate: Instant?
  private var lastNeed = Instant.zero
  private var lastUpdate: Instant?

  /// - Returns: whether `audioDelay` changed.
  mutating func update(_ sound: Sound, _ picture: Picture, at now: Instant) -> Bool {
    let elapsed = lastUpdate.map { now - $0 } ?? .seconds(1)
    guard elapsed >= Self.interval, abs(sound.transit - picture.transit) < Self.plausible else {
      return false
    }
    lastUpdate = now
    follow(sound, picture)
    let needed = picture.transit + picture.neededDelay
    var time = pictureTime ?? needed
    let excess = time - needed
    let began = firstUpdate ?? now
    firstUpdate = began
    if excess < Self.near { lastNeed = now }
    if excess <= 0 || excess > Self.maximumDelay || now - began < Self.beginning {
      // A source may be a new one.
      time = needed
    } else if now - lastNeed > Self.memory || excess > Self.relaxation.usual {
      let speed =
        Self.relaxation.least
        + Self.relaxation.proportional * max(0, excess - Self.relaxation.usual)
      time -= min(excess, speed * min(elapsed.seconds, 1))
    }
    pictureTime = time
    return ask(sound, for: time - sound.transit)
  }

  /// There are no pictures any more that the sound could wait for.
  ///
  /// - Returns: whether `audioDelay` changed.
  mutating func picturesEnded() -> Bool {
    pictureTime = nil
    defer { audioDelay = 0 }
    return audioDelay != 0
  }

  /// Pictures are shown with the sound that is heard, be it on its way to where it should be.
  private mutating func follow(_ sound: Sound, _ picture: Picture) {
    let heard = sound.transit + sound.delay - picture.transit
    let wanted = min(max(heard, 0), Self.maximumDelay)
    videoDelay += min(max(wanted - videoDelay, -Self.maximumStep), Self.maximumStep)
  }

  private mutating func ask(_ sound: Sound, for delay: Double) -> Bool {
    let wanted = delay < sound.neededDelay + Self.tolerance ? 0 : min(delay, Self.maximumAudioDelay)
    guard abs(wanted - audioDelay) >= Self.deadBand else { return false }
    audioDelay = wanted
    return true
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
