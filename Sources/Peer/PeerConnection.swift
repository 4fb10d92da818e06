@NetworkActor
package final class PeerConnection {
  /// A STUN or TURN server, with credentials for TURN.
  package struct ICEServer: Sendable, Equatable {
    package var urls: [String]
    package var username: String?
    package var credential: String?

    package init(urls: [String], username: String? = nil, credential: String? = nil) {
      self.urls = urls
      self.username = username
      self.credential = credential
    }
  }
}
