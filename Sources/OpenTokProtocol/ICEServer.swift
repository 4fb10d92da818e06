/// A STUN or TURN server that clients are to use.
package struct ICEServer: Equatable, Sendable {
  package var urls: [String]
  package var username: String?
  package var credential: String?

  package init(urls: [String], username: String? = nil, credential: String? = nil) {
    self.urls = urls
    self.username = username
    self.credential = credential
  }

  /// Nil without a URL. Both spellings are read: `url`, and `urls` with a text or a list.
  package init?(_ json: JSON) {
    var urls = json["urls"]?.arrayValue?.compactMap(\.stringValue) ?? []
    if urls.isEmpty, let url = json["urls"]?.stringValue ?? json["url"]?.stringValue { urls = [url] }
    guard !urls.isEmpty else { return nil }
    self.init(
      urls: urls, username: json["username"]?.stringValue, credential: json["credential"]?.stringValue)
  }

  /// One object a URL, with `url`: what every client reads.
  package var json: [JSON] {
    urls.map { url in
      [
        "url": .string(url), "username": username.map(JSON.string) ?? .null,
        "credential": credential.map(JSON.string) ?? .null,
      ]
    }
  }

  package static func list(_ json: JSON?) -> [ICEServer] {
    (json?.arrayValue ?? []).compactMap { ICEServer($0) }
  }

  package static func json(_ servers: [ICEServer]) -> JSON { .array(servers.flatMap(\.json)) }
}
