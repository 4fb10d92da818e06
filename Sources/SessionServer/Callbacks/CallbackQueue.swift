import Base

/// Which callbacks are to be posted next: in order within a lane, with growing pauses after failures.
///
/// A pure state machine, bounded in everything: it is told the time and what became of each post.
struct CallbackQueue {
  struct Limits: Sendable {
    /// Waiting in all; what comes when it is full is dropped, so the order stays.
    var messages = 4096
    /// On their way at once.
    var posts = 4
    /// Of one message, after which it is given up.
    var attempts = 10
    /// After the first failure; each further one doubles it.
    var pause = Duration.seconds(1)
    var longestPause = Duration.seconds(60)
  }

  /// Messages of one lane are posted one after the other.
  struct Lane: Hashable {
    var target: CallbackTarget
    var session: String
  }

  struct Post: Equatable {
    var lane: Lane
    var body: [UInt8]
  }

  enum Outcome: Equatable {
    case delivered
    case again(after: Duration)
    case givenUp
  }

  private struct Waiting {
    var bodies: [[UInt8]]
    var failures = 0
    var due: Instant
    var isUnderWay = false
  }

  let limits: Limits
  private var lanes: [Lane: Waiting] = [:]
  /// Lanes in the order in which their turn comes, each once.
  private var turns: [Lane] = []
  private(set) var count = 0
  private var postCount = 0

  init(limits: Limits = Limits()) { self.limits = limits }

  /// - Returns: false if the queue is full.
  mutating func add(_ body: [UInt8], to lane: Lane, at now: Instant) -> Bool {
    guard count < limits.messages else { return false }
    count += 1
    if lanes[lane] == nil {
      lanes[lane] = Waiting(bodies: [], due: now)
      turns.append(lane)
    }
    lanes[lane]?.bodies.append(body)
    return true
  }

  /// What is to be posted now; it has to be followed by `finished`. Nil if nothing is due, or as much as may
  /// be is on its way.
  mutating func next(at now: Instant) -> Post? {
    guard postCount < limits.posts,
      let turn = turns.firstIndex(where: { lane in
        lanes[lane].map { !$0.isUnderWay && $0.due <= now } ?? false
      })
    else { return nil }
    let lane = turns.remove(at: turn)
    turns.append(lane)
    guard let body = lanes[lane]?.bodies.first else { return nil }
    lanes[lane]?.isUnderWay = true
    postCount += 1
    return Post(lane: lane, body: body)
  }

  /// Whoever pauses after a failure is due at once: there is little time left.
  mutating func hurry(at now: Instant) {
    for lane in turns { lanes[lane]?.due = now }
  }

  /// A post of that lane was taken by its receiver, or was not.
  mutating func finished(_ lane: Lane, success: Bool, at now: Instant) -> Outcome {
    guard var waiting = lanes[lane], waiting.isUnderWay else { return .delivered }
    postCount -= 1
    waiting.isUnderWay = false
    waiting.failures += success ? 0 : 1
    if !success && waiting.failures < limits.attempts {
      let pause = min(limits.pause * (1 << min(waiting.failures - 1, 16)), limits.longestPause)
      waiting.due = now + pause
      lanes[lane] = waiting
      return .again(after: pause)
    }
    waiting.bodies.removeFirst()
    waiting.failures = 0
    count -= 1
    if waiting.bodies.isEmpty {
      lanes[lane] = nil
      turns.removeAll { $0 == lane }
    } else {
      lanes[lane] = waiting
    }
    return success ? .delivered : .givenUp
  }
}
