/// What happens in the server, for logs and `--events`. Holds no token or secret.
package enum SessionServerEvent: Equatable, Sendable {
  /// Clients can come.
  case listening(url: String)
  /// An archive's status is another.
  case archive(Archive)
  /// A connection or stream came or went.
  case room(RoomEvent)
}
