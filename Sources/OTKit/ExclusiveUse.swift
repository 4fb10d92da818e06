import Base

/// Who may use an object that belongs to one at a time, such as a capturer: whoever is about to let go of it is
/// waited for, anybody else keeps it. So nobody calls it while somebody else still does.
final class ExclusiveUse: Sendable {
  private struct State {
    var lastUser = 0
    var holder: Int?
    /// Have said that they will let go of it.
    var leaving: Set<Int> = []
  }

  private struct Reference {
    weak var use: ExclusiveUse?
  }

  private static let all = Lock<[ObjectIdentifier: Reference]>([:])

  private let state = Lock(State())
  private let left = Semaphore()
  private static let interval = Duration.milliseconds(100)
  /// One who has been called and does not come back may keep it for good.
  private static let patience = Duration.seconds(10)

  private init() {}

  /// The same for everybody who asks for an object; to be kept no longer than the object is.
  static func of(_ object: any AnyObject & Sendable) -> ExclusiveUse {
    all.withLock { all in
      let identifier = ObjectIdentifier(object)
      if let use = all[identifier]?.use { return use }
      all = all.filter { $0.value.use != nil }
      let use = ExclusiveUse()
      all[identifier] = Reference(use: use)
      return use
    }
  }

  /// - Returns: a number for somebody who may want it.
  func join() -> Int {
    state.withLock {
      $0.lastUser += 1
      return $0.lastUser
    }
  }

  /// Waits for a user that is leaving, for ten seconds at most.
  /// - Returns: whether it may be used now, until `letGo`; false: somebody else keeps it.
  func take(_ user: Int) -> Bool {
    let end = MonotonicClock.now() + Self.patience
    while true {
      let isGranted = state.withLock { state -> Bool? in
        guard let holder = state.holder, holder != user else {
          state.holder = user
          return true
        }
        return state.leaving.contains(holder) ? nil : false
      }
      if let isGranted { return isGranted }
      if MonotonicClock.now() >= end { return false }
      // Several may wait, and the first one that wakes gets it.
      _ = left.wait(until: MonotonicClock.now() + Self.interval)
    }
  }

  /// Announces that `letGo` will come. Does not wait.
  func leave(_ user: Int) { state.withLock { _ = $0.leaving.insert(user) } }

  /// Takes that back.
  func stay(_ user: Int) { state.withLock { _ = $0.leaving.remove(user) } }

  /// It is not used by this one any more.
  func letGo(_ user: Int) {
    let wasHolder = state.withLock { state in
      state.leaving.remove(user)
      guard state.holder == user else { return false }
      state.holder = nil
      return true
    }
    if wasHolder { left.post() }
  }
}
