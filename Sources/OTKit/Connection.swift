import OpenTokProtocol

/// A participant of a session, as the others know it.
public struct Connection: Sendable, Hashable, Identifiable {
  public let id: String
  /// Milliseconds since 1970, by the server's clock.
  public let creationTime: Int64
  /// What the app server put into the participant's token.
  public let data: String

  init(_ info: ConnectionInfo) {
    id = info.id
    creationTime = info.creationTime
    data = info.data
  }
}

/// What our token lets us do in a session.
public struct Capabilities: Sendable, Hashable {
  public let publish: Bool
  public let subscribe: Bool
  public let signal: Bool
  public let forceDisconnect: Bool
  public let forceUnpublish: Bool
  public let forceMute: Bool

  init(_ permissions: Permissions) {
    publish = permissions.contains(.publish)
    subscribe = permissions.contains(.subscribe)
    signal = permissions.contains(.signal)
    forceDisconnect = permissions.contains(.forceDisconnect)
    forceUnpublish = permissions.contains(.forceUnpublish)
    forceMute = permissions.contains(.forceMute)
  }
}
