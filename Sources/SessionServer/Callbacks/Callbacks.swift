/// What a callback is about, and with that whom it goes to.
package enum CallbackTarget: String, Hashable, Sendable {
  case session, archive
}

/// Where an app server hears of sessions and archives.
package struct Callbacks: Sendable {
  /// Posts JSON to a URL. Returns nil if it was taken, else why not, for the log: without the URL's path and
  /// query, which may hold secrets. Must return in bounded time.
  package typealias Post = @Sendable (_ url: String, _ body: [UInt8]) async -> String?

  /// Hears of connections and streams (OpenTok's session monitoring); nil: nobody does. May hold secrets.
  package var sessionURL: String?
  /// Hears of the status of archives; nil: nobody does. May hold secrets.
  package var archiveURL: String?
  package var post: Post

  package init(sessionURL: String? = nil, archiveURL: String? = nil, post: @escaping Post) {
    self.sessionURL = sessionURL
    self.archiveURL = archiveURL
    self.post = post
  }

  /// A delivery for each target that somebody wants to hear of.
  func deliveries() -> [CallbackTarget: CallbackDelivery] {
    let urls: [CallbackTarget: String?] = [.session: sessionURL, .archive: archiveURL]
    var deliveries: [CallbackTarget: CallbackDelivery] = [:]
    for case (let target, let url?) in urls {
      deliveries[target] = CallbackDelivery(target, url: url, post: post)
    }
    return deliveries
  }
}
