import Base
import OpenTokProtocol

/// What it takes to enter a session: project, session, and the token that says who one is.
///
/// Printing one shows everything but the token.
public struct Credentials: Sendable, Equatable {
  /// The project's API key, or its application id.
  public var apiKey: String
  public var sessionID: String
  public var token: String
  /// The OpenTok API that knows the session; nil if the app server did not say.
  public var apiURL: String?

  public init(apiKey: String, sessionID: String, token: String, apiURL: String? = nil) {
    self.apiKey = apiKey
    self.sessionID = sessionID
    self.token = token
    self.apiURL = apiURL
  }

  /// Asks an app server.
  ///
  /// - Parameters:
  ///   - server: the app server's address, to which `/session` (or `/room/NAME`) is added, unless it ends
  ///     in an endpoint already: `/session`, `/service`, `/room/NAME`. The address of otchat's page with its
  ///     `?room=NAME` does too.
  ///   - timeout: for the request with all its redirects.
  public static func fetch(
    from server: String, room: String? = nil, trust: TLSTrust = .system, timeout: Duration = .seconds(10)
  ) async throws(OpenTokError) -> Credentials {
    guard let url = endpoint(of: server, room: room) else {
      throw OpenTokError.invalidURL(ServerURL.shown(server))
    }
    var request = HTTPRequest(url)
    request.headers = [("Accept", "application/json")]
    let response = try await HTTPClient(trust: trust, timeout: timeout).send(request, step: .credentials)
    var credentials = try Credentials(response)
    if credentials.apiURL == nil, response.server.hasPrefix("otchat") {
      credentials.apiURL = response.url.origin
    }
    return credentials
  }

  package static func endpoint(of server: String, room: String?) -> ServerURL? {
    guard var url = ServerURL(server), url.scheme == "http" || url.scheme == "https" else { return nil }
    let room = room ?? url.takeRoomOfPage()
    let segments = url.segments
    let namesEndpoint =
      segments.last == "session" || segments.last == "service"
      || (segments.count >= 2 && segments[segments.count - 2] == "room")
    if namesEndpoint { return url }
    return url.appending(room.map { ["room", $0] } ?? ["session"])
  }

  package init(_ response: HTTPResponse) throws(OpenTokError) {
    let url = response.url.shown
    guard (200..<300).contains(response.status) else {
      throw OpenTokError.httpStatus(url: url, status: response.status)
    }
    guard let json = try? JSON(parsing: response.body), json.objectValue != nil else {
      let first = response.body.first { !" \t\r\n".utf8.contains($0) }
      if response.contentType.lowercased().hasPrefix("text/html") || first == UInt8(ascii: "<") {
        throw OpenTokError.htmlAnswer(url: url)
      }
      throw OpenTokError.notJSON(url: url)
    }
    func text(_ key: String) -> String? {
      let value = json[key]
      let text = value?.stringValue ?? value?.integerValue.map { String($0) }
      return text?.isEmpty == false ? text : nil
    }
    let apiKey = text("apiKey") ?? text("applicationId")
    let sessionID = text("sessionId")
    let token = text("token")
    guard let apiKey, let sessionID, let token else {
      let missing = [("apiKey", apiKey), ("sessionId", sessionID), ("token", token)]
      throw OpenTokError.missingKeys(url: url, keys: missing.filter { $0.1 == nil }.map(\.0))
    }
    self.init(apiKey: apiKey, sessionID: sessionID, token: token, apiURL: text("apiUrl"))
  }

  /// Finds what the server would refuse, before it is asked: a session or token of another project, a token
  /// that is cut short or has expired.
  ///
  /// - Parameter now: seconds since 1970.
  package func inspect(now: Int64) throws(OpenTokError) {
    guard !apiKey.isEmpty, apiKey.utf8.allSatisfy({ Self.isKeyCharacter($0) }) else { throw .invalidAPIKey }
    guard let session = SessionID(sessionID) else { throw .invalidSessionID }
    guard session.belongs(to: apiKey) else { throw .sessionOfOtherKey }
    let token: Token
    do {
      token = try Token.inspect(self.token)
    } catch {
      switch error {
      case .cutShort: throw .tokenCutShort
      case .notAToken: throw .tokenMalformed(detail: "it has the shape of none")
      case .malformed(let field): throw .tokenMalformed(detail: "its \(field) makes no sense")
      // Signed with a private key: only the server can judge it.
      case .unsupportedAlgorithm: return
      default: throw .tokenMalformed(detail: "it cannot be read")
      }
    }
    guard token.apiKey == apiKey else { throw .tokenOfOtherKey }
    guard token.sessionID == sessionID else { throw .tokenOfOtherSession }
    let (age, overflow) = now.subtractingReportingOverflow(token.expireTime)
    if !overflow, age >= Token.clockTolerance { throw .tokenExpired(secondsAgo: Int(age)) }
  }

  private static func isKeyCharacter(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "-"), UInt8(ascii: "_"):
      true
    default: false
    }
  }
}

extension Credentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  public var description: String { "Credentials(apiKey: \(apiKey), sessionID: \(sessionID))" }
  public var debugDescription: String { description }
  public var customMirror: Mirror {
    Mirror(self, children: ["apiKey": apiKey, "sessionID": sessionID, "apiURL": apiURL as Any])
  }
}
