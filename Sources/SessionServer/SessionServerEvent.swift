/// What happens in the server, for logs and `--events`. Holds no token or secret.
package enum SessionServerEvent: Equatable, Sendable {
  /// Clients can come.
  case listening(url: String)
  /// A connection or stream came or went.
  case room(RoomEvent)
}
