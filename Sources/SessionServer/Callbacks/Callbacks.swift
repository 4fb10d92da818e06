/// What a callback is about, and with that whom it goes to.
package enum CallbackTarget: String, Hashable, Sendable {
  case session, archive
}

/// Where an app server hears of sessions and archives.
package struct Callbacks: Sendable {
  /// Hears of connections and streams (OpenTok's session monitoring); nil: nobody does. May hold secrets.
  package var sessionURL: String?
  /// Hears of the status of archives; nil: nobody does. May hold secrets.
  package var archiveURL: String?
  /// Posts JSON to a URL and returns whether it was taken. Must return in bounded time; must not log the URL.
  package var post: @Sendable (_ url: String, _ body: [UInt8]) async -> Bool

  package init(
    sessionURL: String? = nil, archiveURL: String? = nil,
    post: @escaping @Sendable (_ url: String, _ body: [UInt8]) async -> Bool
  ) {
    self.sessionURL = sessionURL
    self.archiveURL = archiveURL
    self.post = post
  }

  func url(_ target: CallbackTarget) -> String? {
    switch target {
    case .session: sessionURL
    case .archive: archiveURL
    }
  }
}
