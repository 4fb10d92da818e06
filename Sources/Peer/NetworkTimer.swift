import Base

/// A timer on the network thread; costs neither an allocation nor a system call to set.
@NetworkActor
package final class NetworkTimer {
  private var number = 0
  package private(set) var deadline: Instant?

  /// - Parameter fire: called on the network thread, at most a millisecond late when the thread is free.
  package init(_ fire: @escaping @NetworkActor () -> Void) {
    number = NetworkThread.shared.loop.addTimer { [weak self] in
      NetworkActor.assumeIsolated {
        self?.deadline = nil
        fire()
      }
    }
  }

  // Isolated, since timers belong to the loop's thread.
  isolated deinit { NetworkThread.shared.loop.removeTimer(number) }

  /// Fires once at `instant` (at once if it has passed), instead of any earlier setting; nil: not at all.
  package func set(_ instant: Instant?) {
    guard instant != deadline else { return }
    deadline = instant
    NetworkThread.shared.loop.setTimer(number, instant)
  }
}
