import Base

/// Which callbacks of one receiver are to be posted next: in order within a session, with growing pauses after failures.
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

  struct Post: Equatable {
    var session: String
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
  /// By session.
  private var lanes: [String: Waiting] = [:]
  /// Sessions in the order in which their turn comes, each once.
  private var turns: [String] = []
  private(set) var count = 0
  private var postCount = 0

  init(limits: Limits = Limits()) { self.limits = limits }

  /// - Returns: false if the queue is full.
  mutating func add(_ body: [UInt8], to session: String, at now: Instant) -> Bool {
    guard count < limits.messages else { return false }
    count += 1
    if lanes[session] == nil {
      lanes[session] = Waiting(bodies: [], due: now)
      turns.append(session)
    }
    lanes[session]?.bodies.append(body)
    return true
  }

  /// What is to be posted now; it has to be followed by `finished`. Nil if nothing is due, or as much as may
  /// be is on its way.
  mutating func next(at now: Instant) -> Post? {
    guard postCount < limits.posts,
      let turn = turns.firstIndex(where: { session in
        lanes[session].map { !$0.isUnderWay && $0.due <= now } ?? false
      })
    else { return nil }
    let session = turns.remove(at: turn)
    turns.append(session)
    guard let body = lanes[session]?.bodies.first else { return nil }
    lanes[session]?.isUnderWay = true
    postCount += 1
    return Post(session: session, body: body)
  }

  /// Whoever pauses after a failure is due at once: there is little time left.
  mutating func hurry(at now: Instant) {
    for session in turns { lanes[session]?.due = now }
  }

  /// A post of that session was taken by its receiver, or was not.
  mutating func finished(_ session: String, success: Bool, at now: Instant) -> Outcome {
    guard var waiting = lanes[session], waiting.isUnderWay else { return .delivered }
    postCount -= 1
    waiting.isUnderWay = false
    waiting.failures += success ? 0 : 1
    if !success && waiting.failures < limits.attempts {
      let pause = min(limits.pause * (1 << min(waiting.failures - 1, 16)), limits.longestPause)
      waiting.due = now + pause
      lanes[session] = waiting
      return .again(after: pause)
    }
    waiting.bodies.removeFirst()
    waiting.failures = 0
    count -= 1
    if waiting.bodies.isEmpty {
      lanes[session] = nil
      turns.removeAll { $0 == session }
    } else {
      lanes[session] = waiting
    }
    return success ? .delivered : .givenUp
  }
}
