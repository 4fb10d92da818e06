import OpenTokProtocol

/// The STUN and TURN servers that clients are told, with credentials that the TURN server can check by
/// itself (the "TURN REST API" draft: draft-uberti-behave-turn-rest-00).
package struct ICEServerList: Sendable {
  /// Seconds for which TURN credentials are good: a day, as clients expect.
  package static let lifetime: Int64 = 86400

  package var stunURLs: [String]
  package var turnURLs: [String]
  /// Shared with the TURN server; without it clients are told no credentials.
  package var turnSecret: String?

  package init(stunURLs: [String] = [], turnURLs: [String] = [], turnSecret: String? = nil) {
    self.stunURLs = stunURLs
    self.turnURLs = turnURLs
    self.turnSecret = turnSecret
  }

  /// - Parameters:
  ///   - now: seconds since 1970.
  ///   - nonce: a text that tells credentials from others made in the same second.
  func servers(for sessionID: String, now: Int64, nonce: String) -> [ICEServer] {
    var servers = stunURLs.isEmpty ? [] : [ICEServer(urls: stunURLs)]
    guard !turnURLs.isEmpty else { return servers }
    guard let turnSecret else {
      servers.append(ICEServer(urls: turnURLs))
      return servers
    }
    let username = "\(now + Self.lifetime):1.\(sessionID).\(nonce)"
    let credential = Base64.text(Signature.sha1(username.utf8, key: turnSecret))
    servers.append(ICEServer(urls: turnURLs, username: username, credential: credential))
    return servers
  }
}
