import Base

/// The messages that a socket has brought and the session has not taken yet: a bounded number, because a
/// stranger decides how many come.
///
/// Signalling may lose none. Where there is no more room the socket counts as lost, whatever else it brings
/// is left out, and the server sends it again on the next one.
final class SocketInbox: Sendable {
  static let maximumMessages = 8192
  static let maximumBytes = 32 << 20

  private struct State {
    var messages = 0
    var bytes = 0
    var isLost = false
  }

  private let state = Lock(State())

  /// What the session shall be told of `event`; nil: nothing. Called by the socket's thread.
  func put(_ event: WebSocketClient.Event) -> WebSocketClient.Event? {
    state.withLock { state in
      guard !state.isLost else { return nil }
      guard case .message(let bytes) = event else { return event }
      guard state.messages < Self.maximumMessages, state.bytes + bytes.count <= Self.maximumBytes else {
        state.isLost = true
        return .closed(code: 1006)
      }
      state.messages += 1
      state.bytes += bytes.count
      return event
    }
  }

  /// Makes room again.
  func taken(_ event: WebSocketClient.Event) {
    guard case .message(let bytes) = event else { return }
    state.withLock { state in
      state.messages -= 1
      state.bytes -= bytes.count
    }
  }
}
