import Base

/// A timer on the network thread; costs neither an allocation nor a system call to set.
@NetworkActor
package final class NetworkTimer {
  private var source: WakeSource?
  package private(set) var deadline: Instant?

  /// - Parameter fire: called on the network thread, at most a millisecond late when the thread is free.
  package init(_ fire: @escaping @NetworkActor () -> Void) {
    source = WakeSource(context: NetworkThread.shared.context.pointer) { [weak self] in
      NetworkActor.assumeIsolated {
        self?.deadline = nil
        fire()
      }
    }
  }

  // Isolated, so that the source is destroyed on the thread that dispatches it.
  isolated deinit {}

  /// Fires once at `instant` (at once if it has passed), instead of any earlier setting; nil: not at all.
  package func set(_ instant: Instant?) {
    guard instant != deadline else { return }
    deadline = instant
    // GLib counts microseconds of the same clock; rounded up, so that it never fires too early.
    source?.schedule(at: instant.map { max(0, ($0.nanoseconds &+ 999) / 1000) } ?? -1)
  }
}
