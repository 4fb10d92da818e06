import Base
import OTKit

/// Entering the session anew, when the server has given our connection up while we were away.
extension Participant {
  private static let attempts = 5
  private static let pause: Duration = .seconds(2)

  /// - Returns: whether there is a new session to follow, which knows nothing of the one before.
  func rejoin() async -> Bool {
    guard isForgotten, ending == nil else { return false }
    isForgotten = false
    emit(.warning("the server has given our connection up; joining the session again"))
    var failure = OpenTokError.connectionForgotten
    var clock = StageClock(at: MonotonicClock.now())
    var stage = OpenTokError.Stage.credentials
    for attempt in 1...Self.attempts {
      guard ending == nil else { return false }
      clock = StageClock(at: MonotonicClock.now())
      stage = .credentials
      do throws(OpenTokError) {
        if try await refreshCredentials() { clock.ended(.credentials, at: MonotonicClock.now()) }
        stage = .signalling
        try await enterAnew()
        return true
      } catch {
        failure = error
        // What cannot get better is told at once.
        guard error.exitCode == .unreachable || error.exitCode == .temporaryFailure else { break }
        if attempt < Self.attempts { try? await Task.sleep(for: Self.pause) }
      }
    }
    failedToConnect(failure, clock, in: stage)
    sessionEnded(.failure(failure))
    return false
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
        try await next.publish(publisher)
      } catch {
        sessionEnded(.failure(error))
      }
    }
  }

  /// A token that has expired is replaced by a fresh one, where there is somebody to ask.
  /// - Returns: whether somebody was asked.
  private func refreshCredentials() async throws(OpenTokError) -> Bool {
    guard let renew else { return false }
    do throws(OpenTokError) {
      try credentials.inspect(now: seconds())
      return false
    } catch {
      guard case .tokenExpired = error else { throw error }
      credentials = try await renew()
      emit(.warning("the token had expired; the app server has given a fresh one"))
      return true
    }
  }
}
