import Base
import OpenTokProtocol

/// Posts the callbacks of one target in the background: adding one never waits for the receiver, and a
/// receiver that is dead takes no other target's turn.
final class CallbackDelivery: Sendable {
  private let target: CallbackTarget
  private let url: String
  private let post: Callbacks.Post
  private let state: Lock<State>

  private struct State {
    var queue: CallbackQueue
    var isOver = false
    var isFull = false
    /// Why the last one was not taken; nil if it was.
    var refusal: String?
    var tasks: [Int: Task<Void, Never>] = [:]
    var lastTask = 0
  }

  init(
    _ target: CallbackTarget, url: String, limits: CallbackQueue.Limits = CallbackQueue.Limits(),
    post: @escaping Callbacks.Post
  ) {
    self.target = target
    self.url = url
    self.post = post
    state = Lock(State(queue: CallbackQueue(limits: limits)))
  }

  /// Any thread; does not block.
  func add(_ json: JSON, session: String) {
    let body = json.serialized()
    let isFirstDropped = state.withLock { state in
      guard !state.isOver else { return false }
      let wasFull = state.isFull
      state.isFull = !state.queue.add(body, to: session, at: MonotonicClock.now())
      return state.isFull && !wasFull
    }
    if isFirstDropped {
      Log.error("callback", "too many callbacks of the \(target.rawValue) wait: new ones are dropped")
    }
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
    if left > 0 { Log.error("callback", "\(left) callbacks of the \(target.rawValue) were not delivered") }
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
    let refusal = await self.post(url, post.body)
    let (outcome, isNews) = state.withLock { state in
      defer { state.refusal = refusal }
      return (
        state.queue.finished(post.session, success: refusal == nil, at: MonotonicClock.now()),
        state.refusal != refusal
      )
    }
    pump()
    // Of a receiver that stays dead once, not for each of its callbacks.
    if let refusal, isNews {
      Log.warning("callback", "a callback of the \(target.rawValue) is not taken: \(refusal)")
    }
    switch outcome {
    case .delivered: break
    case .givenUp:
      Log.error(
        "callback", "nobody took a callback of the \(target.rawValue), given up: \(refusal ?? "")")
    case .again(let pause):
      try? await Task.sleep(for: pause)
      pump()
    }
  }
}
