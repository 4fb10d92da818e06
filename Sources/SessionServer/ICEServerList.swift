import OpenTokProtocol

/// The STUN and TURN servers that clients are told, with credentials that the TURN server can check by
/// itself (the "TURN REST API" draft: draft-uberti-behave-turn-rest-00).
struct ICEServerList: Sendable {
  /// Seconds for which TURN credentials are good: a day, as clients expect.
  static let lifetime: Int64 = 86400

  var stunURLs: [String]
  var turnURLs: [String]
  var turnSecret: String?

  /// - Parameters:
  ///   - now: seconds since 1970.
  ///   - nonce: a UUID.
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
