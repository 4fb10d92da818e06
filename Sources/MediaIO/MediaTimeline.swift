import Base

/// When a file began to play, shared by the sources of its picture and its sound so that they stay
/// together.
package final class MediaTimeline: Sendable {
  private let origin = Lock<Instant?>(nil)

  package init() {}

  /// The first one to start decides.
  func start(at now: Instant) -> Instant {
    origin.withLock { origin in
      let start = origin ?? now
      origin = start
      return start
    }
  }
}
