import Glibc
import OpenTokProtocol

/// Who gets credentials: everybody on this machine, others with the access key.
struct AccessRule: Sendable {
  /// Where the browser page keeps the proof that it was opened with the key.
  static let cookieName = "otchat-access"

  /// Only this machine can reach the server.
  private let isLocal: Bool
  private let isOpen: Bool
  private let key: String?
  private let secret: String

  init(
    _ configuration: SessionServer.Configuration, publicAddress: PublicAddress?, secret: String
  ) throws(SessionServerError) {
    isLocal =
      Self.isLoopback(configuration.host) && publicAddress.map { Self.isLoopback($0.hostName) } ?? true
    isOpen = configuration.isOpen
    key = configuration.accessKey.flatMap { $0.isEmpty ? nil : $0 }
    self.secret = secret
    guard isLocal || isOpen || key != nil else { throw .accessKeyNeeded(host: configuration.host) }
  }

  /// Whether a request may have credentials.
  func admits(_ request: HTTPRequest) -> Bool { isOpen || isFromHere(request) || hasKey(request) }

  /// Whether it may have a moderator's: not for any page of the web that a browser on this machine shows.
  func admitsModerator(_ request: HTTPRequest) -> Bool {
    (isFromHere(request) && hasOwnOrigin(request)) || hasKey(request)
  }

  /// Whether it may see archives, or start and stop them: not for a page of another site's, which a browser
  /// on this machine shows; for a change not even by an image in it.
  func admitsArchives(_ request: HTTPRequest, toChange: Bool) -> Bool {
    if hasKey(request) { return true }
    guard hasOwnOrigin(request), !toChange || request.header("sec-fetch-site") != "cross-site" else {
      return false
    }
    return isOpen || isFromHere(request)
  }

  /// Only this machine can send it, and asks for this machine: a name of a stranger's that leads here
  /// (DNS rebinding) would make his pages this server's own for a browser.
  private func isFromHere(_ request: HTTPRequest) -> Bool {
    isLocal && PublicAddress(request: request).map { Self.isLoopback($0.hostName) } ?? false
  }

  /// No page of another site's: none at all, this server's, or one of this machine. The native SDK sends a
  /// host alone.
  private func hasOwnOrigin(_ request: HTTPRequest) -> Bool {
    guard let origin = request.header("origin") else { return true }
    let address = PublicAddress(url: origin)
    return Self.isLoopback(address?.hostName ?? origin)
      || address.map { $0.authority == PublicAddress(request: request)?.authority } ?? false
  }

  /// The cookie for whom opened the page with the key in the query.
  func cookie(for request: HTTPRequest) -> String? {
    guard let key, let presented = request.query("accessKey"), isEqual(presented, key) else { return nil }
    let secure = request.isSecure ? "; Secure" : ""
    return "\(Self.cookieName)=\(proof(of: key)); Path=/; HttpOnly; SameSite=Strict\(secure)"
  }

  private func hasKey(_ request: HTTPRequest) -> Bool {
    guard let key else { return false }
    if let value = request.header("x-access-key") ?? request.query("accessKey"), isEqual(value, key) {
      return true
    }
    if let value = request.header("authorization"), value.lowercased().hasPrefix("bearer "),
      isEqual(String(value.dropFirst(7)), key)
    {
      return true
    }
    let cookies = request.header("cookie")?.split(separator: ";") ?? []
    return cookies.contains { isEqual($0.drop { $0 == " " }, "\(Self.cookieName)=\(proof(of: key))") }
  }

  /// What the cookie holds in place of the key.
  private func proof(of key: String) -> String {
    Hexadecimal.text(Signature.sha256("access/\(key)".utf8, key: secret))
  }

  /// In constant time, whatever the lengths.
  private func isEqual(_ left: some StringProtocol, _ right: String) -> Bool {
    Signature.equal(Signature.sha256(left.utf8, key: secret), Signature.sha256(right.utf8, key: secret))
  }

  static func isLoopback(_ host: String) -> Bool {
    if host.lowercased() == "localhost" { return true }
    var address = in_addr()
    if inet_pton(AF_INET, host, &address) == 1 { return address.s_addr & 0xFF == 127 }
    var address6 = in6_addr()
    guard inet_pton(AF_INET6, host, &address6) == 1 else { return false }
    return withUnsafeBytes(of: &address6) { $0.dropLast().allSatisfy { $0 == 0 } && $0.last == 1 }
  }
}
