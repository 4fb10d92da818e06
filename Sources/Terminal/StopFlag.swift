import Synchronization

/// Set once, seen by every thread.
final class StopFlag: Sendable {
  private let flag = Atomic(false)

  var isSet: Bool { flag.load(ordering: .acquiring) }

  /// False if it was set before.
  @discardableResult
  func set() -> Bool { !flag.exchange(true, ordering: .acquiringAndReleasing) }
}
