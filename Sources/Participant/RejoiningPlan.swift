import Base
import OTKit

/// When a session that was lost is entered anew, and when no longer. Told the time; whoever asks does it.
struct RejoiningPlan {
  enum Step: Equatable {
    case attempt(after: Duration, renewsToken: Bool)
    /// The reason; nil: the loss itself, as there was no time to try anything.
    case giveUp(OpenTokError?)
  }

  /// A new session that has lasted for so long is the end of the outage before it. One that is lost at once is not,
  /// or a server that drops everybody would be asked without a pause.
  static let lasting: Duration = .seconds(10)

  /// From the loss on.
  let limit: Duration
  /// When the outage began; nil: there is none.
  private(set) var since: Instant?
  private var enteredAt: Instant?
  private var attempts = 0
  private var backoff = Backoff()
  private var hasRenewed = false

  init(limit: Duration) { self.limit = limit }

  /// Whether a session that ended so may be entered again: nobody has ended it, or us.
  static func isLoss(_ error: OpenTokError) -> Bool {
    switch error {
    case .connectionLost, .connectionForgotten: true
    default: false
    }
  }

  mutating func entered(at now: Instant) { enteredAt = now }

  /// The same session goes on.
  mutating func reconnected() { self = RejoiningPlan(limit: limit) }

  /// Signalling is lost, or the session is.
  mutating func lost(at now: Instant) {
    if let enteredAt, now - enteredAt >= Self.lasting { self = RejoiningPlan(limit: limit) }
    enteredAt = nil
    since = since ?? now
  }

  /// There is a fresh token; there will be no other one in this outage.
  mutating func renewed() { hasRenewed = true }

  /// - Parameters:
  ///   - failure: of the last attempt; nil: there has been none.
  ///   - canRenew: whether there is somebody to ask for a fresh token.
  mutating func next(
    after failure: OpenTokError?, canRenew: Bool, at now: Instant,
    using generator: inout some RandomNumberGenerator
  ) -> Step {
    switch (failure, failure?.exitCode) {
    case (nil, _), (.connectionLimitExceeded, _), (_, .unreachable), (_, .temporaryFailure),
      (_, .senselessAnswer):
      // What answers in a server's place during an outage may well make no sense, and a session may be full of
      // our own connection, which has not been given up yet.
      break
    case (_, .refused) where canRenew && !hasRenewed:
      return .attempt(after: .zero, renewsToken: true)
    default:
      return .giveUp(failure)
    }
    let pause = attempts == 0 ? .zero : backoff.next(using: &generator)
    attempts += 1
    guard let since, now + pause - since < limit else {
      return .giveUp(failure.map { .connectionLost(detail: $0.message) })
    }
    return .attempt(after: pause, renewsToken: false)
  }
}
