import Base

/// A socket that is lost and found again.
extension SignallingMachine {
  /// This machine's addresses have changed. A socket that began at one that is gone is lost, whatever else
  /// can be seen of it; and one that cannot be opened may find a way now.
  package mutating func networkChanged(socketIsCutOff: Bool, at now: Instant) {
    switch state {
    case .connected where socketIsCutOff && configuration.reconnection:
      actions.append(.abortSocket)
      reconnect(.addressChanged, at: now)
    case .reconnecting(let since, let attempt):
      if attempt.hasSocket { actions.append(.abortSocket) }
      openAgain(since: since, at: now)
    default:
      break
    }
  }

  mutating func reconnect(_ reason: SessionEvent.ReconnectionReason, at now: Instant) {
    attempts = 0
    backoff = Backoff()
    emit(.reconnecting(reason))
    openAgain(since: now, at: now)
  }

  mutating func openAgain(since: Instant, at now: Instant) {
    attempts += 1
    let limit = attempts > Self.quickAttempts ? configuration.connectTimeout : Self.quickAttempt
    state = .reconnecting(since: since, .opening(until: now + min(limit, configuration.connectTimeout)))
    actions.append(.openSocket(attempt: newID(), resume: true))
  }

  mutating func retry(since: Instant, at now: Instant, _ error: OpenTokError?) {
    let isLong = now - since >= Self.quickReconnection
    let next = now + (isLong ? backoff.next(using: &generator) : Self.reconnectDelay)
    guard next < since + configuration.reconnectLimit else {
      return lose(error.map { $0.message } ?? "no way back")
    }
    state = .reconnecting(since: since, .waiting(until: next))
  }
}
