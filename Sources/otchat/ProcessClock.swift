import Base

enum ProcessClock {
  /// What `sinceStart` in events counts from; first asked for in `main`.
  static let start = MonotonicClock.now()
}
