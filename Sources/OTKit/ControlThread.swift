import Base

/// Calls into what somebody else has written and what may take its time, such as a camera's beginning, on a thread
/// of its own: whoever wants something says which state it should be in and goes on. What was wanted meanwhile
/// and is not any more is left out.
///
/// When it is let go of, the state it began in is brought about once more, and the thread ends.
final class ControlThread<State: Equatable & Sendable>: Sendable {
  private struct Wish {
    var state: State
    var isLast = false
  }

  /// What the thread holds, so that it does not hold the whole.
  private final class Wanted: Sendable {
    let wish: Lock<Wish>
    let changed = Semaphore()

    init(_ state: State) { wish = Lock(Wish(state: state)) }
  }

  private let initial: State
  private let wanted: Wanted
  private let name: String
  private let apply: @Sendable (_ from: State, _ to: State) -> Void
  private let thread = Lock<MediaThread?>(nil)

  /// - Parameter apply: on the thread.
  init(
    name: String, initial: State, apply: @escaping @Sendable (_ from: State, _ to: State) -> Void
  ) {
    self.name = name
    self.initial = initial
    self.apply = apply
    wanted = Wanted(initial)
  }

  deinit {
    wanted.wish.withLock { $0 = Wish(state: initial, isLast: true) }
    wanted.changed.post()
  }

  /// Any thread; does not wait.
  func want(_ change: (inout State) -> Void) {
    wanted.wish.withLock { change(&$0.state) }
    thread.withLock { thread in
      if thread == nil {
        thread = MediaThread(name: name) { [wanted, initial, apply] in
          Self.run(wanted, initial, apply)
        }
      }
    }
    wanted.changed.post()
  }

  private static func run(
    _ wanted: Wanted, _ initial: State, _ apply: @Sendable (_ from: State, _ to: State) -> Void
  ) {
    var state = initial
    while true {
      _ = wanted.changed.wait(until: MonotonicClock.now() + .seconds(60))
      let wish = wanted.wish.withLock { $0 }
      if wish.state != state { apply(state, wish.state) }
      state = wish.state
      if wish.isLast { return }
    }
  }
}
