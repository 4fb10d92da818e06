import Base

/// How people would judge a stream: 1 bad, 2 poor, 3 fair, 4 good, 5 excellent; nil where there is no sound,
/// or no picture.
public struct QualityScore: Sendable, Hashable {
  public var audio: Int?
  public var video: Int?

  public init(audio: Int? = nil, video: Int? = nil) {
    self.audio = audio
    self.video = video
  }
}

/// Judges what has come of a stream's media over the last seconds; fed once a second. No clock.
struct QualityMonitor {
  enum Picture {
    /// The camera, or the subscription to it.
    case off
    /// For lack of bandwidth.
    case paused
    case on
  }

  /// Counters since the start, in units of no matter.
  struct Sample {
    /// Of sound.
    var due = 0.0
    var missing = 0.0
    /// Seconds, and by what they are to be divided.
    var bufferDelay = 0.0
    var buffered = 0.0
    var roundTripTime: Double?
    var videoBytes = 0.0
    /// Of a picture, now.
    var pixels = 0.0
    var picture = Picture.off
  }

  static let window = Duration.seconds(5)
  /// Of a receiver that does not tell, in seconds.
  private static let assumedBuffer = 0.06
  private static let coding = 0.03

  /// Mean opinion scores, 1 to 5; nil as long as there is nothing to judge.
  private(set) var audio: Double?
  private(set) var video: Double?
  private var samples: [(sample: Sample, at: Instant)] = []
  private var pictureSince: Instant?

  mutating func add(_ sample: Sample, at now: Instant) {
    // Streams that are made anew count from nothing.
    if let last = samples.last?.sample, sample.due < last.due || sample.videoBytes < last.videoBytes {
      samples = []
    }
    samples.append((sample, now))
    while samples.count > 2, now - samples[1].at >= Self.window { samples.removeFirst() }
    pictureSince = sample.picture == .on ? pictureSince ?? now : nil
    guard let first = samples.first, first.at < now else { return }
    audio = judgeSound(since: first.sample, sample)
    video = judgePicture(sample, at: now)
  }

  private func judgeSound(since first: Sample, _ last: Sample) -> Double? {
    let due = last.due - first.due
    guard due > 0 else { return nil }
    let buffered = last.buffered - first.buffered
    let buffer = buffered > 0 ? (last.bufferDelay - first.bufferDelay) / buffered : Self.assumedBuffer
    return VoiceQuality.score(
      delay: (last.roundTripTime ?? 0) / 2 + max(0, buffer) + Self.coding,
      loss: min(max((last.missing - first.missing) / due, 0), 1))
  }

  private func judgePicture(_ last: Sample, at now: Instant) -> Double? {
    switch last.picture {
    case .off: return nil
    case .paused: return 1
    case .on:
      // Without the time before it was on.
      guard let pictureSince, let first = samples.first(where: { $0.at >= pictureSince }), first.at < now
      else { return video }
      return VideoQuality.score(
        bitrate: (last.videoBytes - first.sample.videoBytes) * 8 / (now - first.at).seconds,
        pixels: last.pixels)
    }
  }
}

/// A rounded score that does not go to and fro: it changes when the opinion has been well beyond the middle
/// between two numbers for some seconds.
struct StableScore {
  static let settling = Duration.seconds(5)
  static let patience = Duration.seconds(3)
  static let pause = Duration.seconds(5)
  private static let margin = 0.65

  private(set) var value: Int?
  private var firstSeen: Instant?
  private var beyondSince: Instant?
  private var lastChange: Instant?

  /// - Returns: whether `value` has changed from one number to another.
  mutating func update(_ opinion: Double?, at now: Instant) -> Bool {
    guard let opinion else {
      self = StableScore()
      return false
    }
    let start = firstSeen ?? now
    firstSeen = start
    guard let value else {
      if now - start >= Self.settling { self.value = Int(opinion.rounded(), in: 1...5) }
      return false
    }
    guard abs(opinion - Double(value)) > Self.margin else {
      beyondSince = nil
      return false
    }
    let since = beyondSince ?? now
    beyondSince = since
    guard now - since >= Self.patience, lastChange.map({ now - $0 >= Self.pause }) ?? true else {
      return false
    }
    self.value = Int(opinion.rounded(), in: 1...5)
    beyondSince = nil
    lastChange = now
    return true
  }
}
