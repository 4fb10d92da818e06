import Base

/// Signs of life to a sender from whom nothing comes any more: as soon as the way lets something pass again he
/// knows, and goes on with a key frame a round trip before one could be asked for.
struct SignsOfLife {
  private static let silence = Duration.milliseconds(200)
  /// First often, after some seconds less so, at last not any more.
  private static let interval = (first: Duration.milliseconds(25), later: Duration.milliseconds(200))
  private static let eagerness = Duration.seconds(5)
  private static let patience = Duration.seconds(30)
  /// Sound alone is repaired by nobody, and pauses as it likes.
  private static let pictureInterval = Duration.milliseconds(100)

  /// Before silence means anything, packets have come so long without it: pictures of a still screen have
  /// pauses of their own.
  private static let steadiness = Duration.seconds(1)

  private var lastPacket: Instant?
  /// The first packet after silence.
  private var steadySince: Instant?
  private var lastPicture: Instant?
  private var lastSign: Instant?

  mutating func received(_ kind: MediaKind, at now: Instant) {
    if lastPacket.map({ now - $0 >= Self.silence }) ?? true { steadySince = now }
    lastPacket = now
    if kind == .video { lastPicture = now }
    lastSign = nil
  }

  /// When the next is due; nil if there is nothing to wait for, or no hope.
  var deadline: Instant? {
    guard let lastPacket, let lastPicture, let steadySince, lastPacket - steadySince >= Self.steadiness,
      lastPacket - lastPicture < Self.pictureInterval
    else { return nil }
    guard let lastSign else { return lastPacket + Self.silence }
    let silence = lastSign - lastPacket
    guard silence < Self.patience else { return nil }
    return lastSign + (silence < Self.eagerness ? Self.interval.first : Self.interval.later)
  }

  /// True if one is to be sent now.
  mutating func poll(at now: Instant) -> Bool {
    guard let deadline, deadline <= now else { return false }
    lastSign = now
    return true
  }
}
