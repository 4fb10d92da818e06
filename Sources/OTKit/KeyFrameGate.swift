import Base

/// Merges the key-frame requests of all subscribers of a stream: the first is answered at once, then at
/// most one a second.
struct KeyFrameGate {
  static let interval: Duration = .seconds(1)

  private var last: Instant?
  private var isWanted = false

  /// When a request that had to wait is due.
  var deadline: Instant? { isWanted ? last.map { $0 + Self.interval } : nil }

  /// True if a key frame is to be made now; otherwise `advance` will tell.
  mutating func request(at now: Instant) -> Bool {
    isWanted = true
    return advance(to: now)
  }

  /// True if a key frame is to be made now.
  mutating func advance(to now: Instant) -> Bool {
    guard isWanted, last.map({ now >= $0 + Self.interval }) ?? true else { return false }
    last = now
    isWanted = false
    return true
  }
}
