import Base

/// Speaking while a key is held. A terminal does not tell when a key is let go: it repeats a held one, and when no
/// repetition comes it has been let go.
package struct PushToTalk: Equatable, Sendable {
  /// A keyboard waits that long before it repeats, at most, and then repeats faster than that.
  static let first = Duration.milliseconds(800)
  static let next = Duration.milliseconds(250)

  /// When it counts as let go; nil while nobody speaks.
  package private(set) var deadline: Instant?

  package init() {}

  /// The key, or a repetition of it. True if speaking begins.
  mutating func pressed(at now: Instant) -> Bool {
    guard let deadline else {
      self.deadline = now + Self.first
      return true
    }
    self.deadline = max(deadline, now + Self.next)
    return false
  }

  /// True if speaking ends.
  mutating func advance(to now: Instant) -> Bool {
    guard let deadline, now >= deadline else { return false }
    self.deadline = nil
    return true
  }
}
