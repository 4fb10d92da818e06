import Base
import OpenTokProtocol

/// Posts callbacks in the background: adding one never waits for a receiver.
final class CallbackDelivery: Sendable {
  private let callbacks: Callbacks
  private let state: Lock<State>

  private struct State {
    var queue: CallbackQueue
    var isOver = false
    var isFull = false
    var tasks: [Int: Task<Void, Never>] = [:]
    var lastTask = 0
  }

  init(_ callbacks: Callbacks, limits: CallbackQueue.Limits = CallbackQueue.Limits()) {
    self.callbacks = callbacks
    state = Lock(State(queue: CallbackQueue(limits: limits)))
  }

  func isWanted(_ target: CallbackTarget) -> Bool { callbacks.url(target) != nil }

  /// Any thread; does not block.
  func add(_ json: JSON, to target: CallbackTarget, session: String) {
    guard isWanted(target) else { return }
    let body = json.serialized()
    let isFirstDropped = state.withLock { state in
      guard !state.isOver else { return false }
      let wasFull = state.isFull
      state.isFull = !state.queue.add(
        body, to: CallbackQueue.Lane(target: target, session: session), at: MonotonicClock.now())
      return state.isFull && !wasFull
    }
    if isFirstDropped { Log.error("callback", "too many callbacks wait: new ones are dropped") }
    pump()
  }

  /// Waits until all was delivered, at most so long, then forgets the rest.
  func finish(within limit: Duration) async {
    let deadline = MonotonicClock.now() + limit
    state.withLock { $0.queue.hurry(at: MonotonicClock.now()) }
    pump()
    while state.withLock({ $0.queue.count > 0 }) && MonotonicClock.now() < deadline {
      try? await Task.sleep(for: .milliseconds(5))
    }
    let (left, tasks) = state.withLock { state in
      state.isOver = true
      return (state.queue.count, Array(state.tasks.values))
    }
    for task in tasks { task.cancel() }
    if left > 0 { Log.error("callback", "\(left) callbacks were not delivered") }
  }

  /// Begins whatever is due.
  private func pump() {
    while begin() {}
  }

  private func begin() -> Bool {
    state.withLock { state in
      guard !state.isOver, let post = state.queue.next(at: MonotonicClock.now()) else { return false }
      state.lastTask += 1
      let number = state.lastTask
      state.tasks[number] = Task {
        await self.deliver(post)
        self.state.withLock { _ = $0.tasks.removeValue(forKey: number) }
      }
      return true
    }
  }

  private func deliver(_ post: CallbackQueue.Post) async {
    let url = callbacks.url(post.lane.target) ?? ""
    let success = await callbacks.post(url, post.body)
    let outcome = state.withLock {
      $0.queue.finished(post.lane, success: success, at: MonotonicClock.now())
    }
    pump()
    switch outcome {
    case .delivered: break
    case .givenUp:
      Log.error("callback", "nobody took a callback of the \(post.lane.target.rawValue): given up")
    case .again(let pause):
      try? await Task.sleep(for: pause)
      pump()
    }
  }
}
