import Base
import OTKit

/// Entering the session anew, when signalling was away for so long that the server has given our connection up.
extension Participant {
  /// - Returns: whether there is a new session to follow, which knows nothing of the one before.
  func rejoin() async -> Bool {
    guard let loss, ending == nil else { return false }
    self.loss = nil
    var generator = SystemGenerator()
    var failure: OpenTokError?
    rejoiningStage = .signalling
    while true {
      let step = rejoining.next(
        after: failure, canRenew: renew != nil, at: MonotonicClock.now(), using: &generator)
      guard case .attempt(let pause, let renewsToken) = step else {
        var reason = loss
        if case .giveUp(let error?) = step { reason = error }
        failedToConnect(reason, StageClock(at: rejoining.since ?? MonotonicClock.now()), in: rejoiningStage)
        sessionEnded(.failure(reason))
        return false
      }
      if failure == nil {
        emit(
          .session(
            .sessionReconnecting(loss == .connectionForgotten ? .connectionForgotten : .connectionClosed)))
      }
      let attempt = Task { [reason = failure ?? loss] () async -> Result<Void, OpenTokError> in
        do throws(OpenTokError) {
          do { try await Task.sleep(for: pause) } catch { throw .cancelled }
          rejoiningStage = .credentials
          if renewsToken {
            try await renewCredentials(because: reason)
          } else {
            try credentials.inspect(now: seconds())
          }
          guard ending == nil else { throw .cancelled }
          rejoiningStage = .signalling
          try await enterAnew()
          return .success(())
        } catch {
          return .failure(error)
        }
      }
      entering = attempt
      let result = await attempt.value
      entering = nil
      guard case .failure(let error) = result else { return true }
      guard ending == nil else { return false }
      Log.info("session", "not entered again: \(error)")
      failure = error
    }
  }

  private func enterAnew() async throws(OpenTokError) {
    let next = Session(credentials, configuration: configuration)
    session = next
    subscribers = [:]
    plan = SubscriptionPlan(options.subscribe)
    try await next.connect(token: credentials.token)
    guard let publisher else { return }
    // The session's events, publishing's among them, are read only after this returns.
    Task {
      do throws(OpenTokError) {
        try await publish(publisher, in: next)
      } catch {
        sessionEnded(.failure(error))
      }
    }
  }

  /// The token has expired, or the server, which may be another one by now, refuses it.
  private func renewCredentials(because failure: OpenTokError) async throws(OpenTokError) {
    guard let renew else { throw failure }
    credentials = try await renew()
    rejoining.renewed()
    emit(.warning("\(failure.message); the app server has given fresh credentials"))
  }
}
