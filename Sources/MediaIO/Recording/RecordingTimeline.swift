import Base

/// Brings the timestamps of a stream's sound and picture onto one time, in seconds.
///
/// The sound gives the pace: its timestamps plus an offset, that of its fastest packets. The picture follows
/// it by the sender reports of both; before there are some, by its own fastest frames. All this is decided
/// when a time is asked for, which should be a good half second after arrival: much more is known then.
struct RecordingTimeline {
  enum Track {
    case audio, video
  }

  /// Timestamps that leave the passing of time by more than this begin anew.
  private static let maximumJump = 5.0
  private static let maximumStepBack = 2.0
  /// Sender reports that move the picture by more are not believed.
  private static let plausible = 2.0
  /// The offset is looked at that often, and mended when it is so far off: clocks drift, and timestamps stand
  /// still while a sender has nothing to send.
  private static let window = 5.0
  private static let tolerance = 0.5

  private struct Clock {
    let rate: Double
    /// From a timestamp, in seconds, to the recording's time.
    var offset: Double?
    /// Least difference of arrival and timestamp so far; to the sender's clock.
    var arrivalOffset = Double.infinity
    var captureOffset: Double?
    var last: (timestamp: Double, arrival: Double)?
    var windowStart = 0.0
    var windowOffset = Double.infinity

    init(rate: Double) { self.rate = rate }
  }

  private var audio = Clock(rate: 48_000)
  private var video = Clock(rate: 90_000)

  private subscript(track: Track) -> Clock {
    get { track == .audio ? audio : video }
    set {
      if track == .audio { audio = newValue } else { video = newValue }
    }
  }

  /// Whether what arrives now cannot belong to what came before. `restart` is called for then.
  func isNewBeginning(_ track: Track, _ timestamp: Int64, arrival: Double) -> Bool {
    let clock = self[track]
    guard let last = clock.last else { return false }
    let step = Double(timestamp) / clock.rate - last.timestamp
    return step < -Self.maximumStepBack || abs(step - (arrival - last.arrival)) > Self.maximumJump
  }

  /// Nothing that comes has to do with what was before.
  mutating func restart(_ track: Track) { self[track] = Clock(rate: self[track].rate) }

  /// - Parameters:
  ///   - arrival: seconds of our clock.
  ///   - captureTime: seconds of the sender's clock.
  mutating func observe(_ track: Track, _ timestamp: Int64, arrival: Double, captureTime: Double?) {
    var clock = self[track]
    let seconds = Double(timestamp) / clock.rate
    if clock.last == nil { clock.windowStart = arrival }
    clock.last = (seconds, arrival)
    clock.arrivalOffset = min(clock.arrivalOffset, arrival - seconds)
    clock.windowOffset = min(clock.windowOffset, arrival - seconds)
    if let captureTime { clock.captureOffset = captureTime - seconds }
    if arrival - clock.windowStart > Self.window {
      if let offset = clock.offset, abs(clock.windowOffset - offset) > Self.tolerance {
        clock.offset = clock.windowOffset
      }
      clock.arrivalOffset = clock.windowOffset
      clock.windowStart = arrival
      clock.windowOffset = .infinity
    }
    self[track] = clock
  }

  /// When, on the clock of the arrivals, what has this timestamp belongs. To be observed before.
  mutating func time(_ track: Track, of timestamp: Int64) -> Double {
    settle(track)
    let clock = self[track]
    return Double(timestamp) / clock.rate + (clock.offset ?? 0)
  }

  private mutating func settle(_ track: Track) {
    let other = track == .audio ? video : audio
    guard self[track].offset == nil || track == .video else { return }
    if let offset = other.offset, let there = other.captureOffset, let here = self[track].captureOffset {
      let synchronous = here + offset - there
      if abs(synchronous - self[track].arrivalOffset) < Self.plausible {
        self[track].offset = synchronous
        return
      }
    }
    if self[track].offset == nil { self[track].offset = self[track].arrivalOffset }
  }
}
