import Base
import OpenTokProtocol
import Testing

@testable import OTKit

@Suite struct CredentialsTests {
  @Test(arguments: [
    ("http://h", nil, "http://h/session"),
    ("http://h/", nil, "http://h/session"),
    ("https://h:8443/app/", nil, "https://h:8443/app/session"),
    ("https://h/app?key=a%20b", nil, "https://h/app/session?key=a%20b"),
    ("http://h", "red", "http://h/room/red"),
    ("http://h/", "über / all", "http://h/room/%C3%BCber%20%2F%20all"),
    ("http://h/session", nil, "http://h/session"),
    ("http://h/x/service", nil, "http://h/x/service"),
    ("http://h/room/blue", nil, "http://h/room/blue"),
    ("http://h/room", nil, "http://h/room/session"),
    ("localhost:8080", nil, "http://localhost:8080/session"),
    ("127.0.0.1:8080/", nil, "http://127.0.0.1:8080/session"),
    ("[::1]:8080", nil, "http://[::1]:8080/session"),
    ("example.com/app", nil, "https://example.com/app/session"),
    ("http://h:8080/?room=kitchen", nil, "http://h:8080/room/kitchen"),
    (
      "http://h:8080/test.html?name=bob&room=a%20%2F+b&accessKey=k", nil,
      "http://h:8080/room/a%20%2F%20b?name=bob&accessKey=k"
    ),
    ("http://h/?room=kitchen", "hall", "http://h/room/hall?room=kitchen"),
    ("http://h/app?room=kitchen", nil, "http://h/app/session?room=kitchen"),
  ])
  func endpoints(_ server: String, _ room: String?, _ url: String) throws {
    #expect(Credentials.endpoint(of: server, room: room)?.text == url)
  }

  @Test(arguments: ["", "  ", "ftp://h", "http://", "http:/h", "http://a b/", "ws://h"])
  func noEndpoints(_ server: String) {
    #expect(Credentials.endpoint(of: server, room: nil) == nil)
  }

  @Test func anEndpointNamesItsRoom() {
    #expect(ServerURL("http://h/room/a%20%2F%2Bb+c")?.room == "a /+b+c")
    #expect(ServerURL("http://h/session")?.room == nil)
  }

  private func parse(
    _ body: String, status: Int = 200, type: String = "application/json"
  ) throws(OpenTokError) -> Credentials {
    guard let url = ServerURL("http://h/session?key=hush") else { throw .invalidURL("") }
    return try Credentials(
      HTTPResponse(status: status, contentType: type, server: "", body: Array(body.utf8), url: url))
  }

  @Test(arguments: [
    #"{"apiKey":100,"sessionId":"S","token":"T"}"#,
    #"{"apiKey":"100","sessionId":"S","token":"T","more":[1,{}]}"#,
    #"{"applicationId":"100","sessionId":"S","token":"T"}"#,
    "\u{FEFF}{\"apiKey\":\"100\",\"sessionId\":\"S\",\"token\":\"T\"}\n",
  ])
  func answers(_ body: String) throws {
    #expect(try parse(body) == Credentials(apiKey: "100", sessionID: "S", token: "T"))
    #expect(try parse(body, type: "text/html").token == "T")
  }

  @Test func anAnswerMayNameTheAPI() throws {
    let body = #"{"apiKey":"1","sessionId":"S","token":"T","apiUrl":"http://h:8080"}"#
    #expect(try parse(body).apiURL == "http://h:8080")
  }

  @Test(arguments: [
    (200, "text/html; charset=utf-8", "hello", OpenTokError.htmlAnswer(url: "http://h/session")),
    (200, "text/plain", "  <!DOCTYPE html>", .htmlAnswer(url: "http://h/session")),
    (200, "application/json", "{\"apiKey\":", .notJSON(url: "http://h/session")),
    (200, "application/json", "[1]", .notJSON(url: "http://h/session")),
    (200, "application/json", "", .notJSON(url: "http://h/session")),
    (
      200, "application/json", "{}",
      .missingKeys(url: "http://h/session", keys: ["apiKey", "sessionId", "token"])
    ),
    (
      200, "application/json", #"{"apiKey":1,"sessionId":"","token":null}"#,
      .missingKeys(url: "http://h/session", keys: ["sessionId", "token"])
    ),
    (404, "text/html", "<html>", .httpStatus(url: "http://h/session", status: 404)),
    (500, "application/json", "{}", .httpStatus(url: "http://h/session", status: 500)),
  ])
  func refusals(_ status: Int, _ type: String, _ body: String, _ error: OpenTokError) {
    #expect(throws: error) { try parse(body, status: status, type: type) }
  }

  @Test func fetchFollowsTheRedirectOfSampleServers() async throws {
    let server = try LocalServer { connection, head in
      let isRoom = head.hasPrefix("GET /room/session ")
      connection.write(
        isRoom
          ? LocalServer.response(
            status: 200, headers: ["Server: otchat/1.0"],
            body: #"{"apiKey":"100","sessionId":"S","token":"T"}"#)
          : LocalServer.response(status: 302, headers: ["Location: /room/session"], body: "moved"))
    }
    defer { server.stop() }
    let credentials = try await Credentials.fetch(from: server.url)
    #expect(credentials == Credentials(apiKey: "100", sessionID: "S", token: "T", apiURL: server.url))
    #expect(
      server.requests.map { $0.prefix { $0 != "\r\n" } } == [
        "GET /session HTTP/1.1", "GET /room/session HTTP/1.1",
      ])
  }

  @Test func theTokenIsNeverShown() {
    let credentials = Credentials(apiKey: "100", sessionID: "S", token: "hush")
    var dumped = ""
    dump(credentials, to: &dumped)
    #expect(!"\(credentials) \(String(reflecting: credentials)) \(dumped)".contains("hush"))
  }

  // MARK: Looking before connecting

  private let now: Int64 = 1_800_000_000

  private func credentials(
    key: String = "100", sessionKey: String = "100", tokenSession: String? = nil, expires: Int64 = 60,
    format: Token.Format = .t1
  ) -> Credentials {
    var generator = SeededGenerator(seed: 1)
    let session = SessionID(apiKey: sessionKey, creationTime: 1_700_000_000_000, using: &generator).text
    let token = Token(
      format: format, apiKey: sessionKey, sessionID: tokenSession ?? session, createTime: now - 3600,
      expireTime: now + expires, nonce: "1")
    return Credentials(apiKey: key, sessionID: session, token: token.signed(secret: "s"))
  }

  @Test(arguments: [Token.Format.t1, .jwt]) func goodOnesPass(_ format: Token.Format) throws {
    try credentials(format: format).inspect(now: now)
    // The server's clock decides about the last seconds.
    try credentials(expires: -29, format: format).inspect(now: now)
  }

  @Test(arguments: [Token.Format.t1, .jwt]) func badOnesAreNamed(_ format: Token.Format) {
    func problem(_ change: (inout Credentials) -> Void = { _ in }, of credentials: Credentials)
      -> OpenTokError?
    {
      var credentials = credentials
      change(&credentials)
      do throws(OpenTokError) {
        try credentials.inspect(now: now)
        return nil
      } catch {
        return error
      }
    }
    let good = credentials(format: format)
    #expect(problem(of: credentials(expires: -312, format: format)) == .tokenExpired(secondsAgo: 312))
    #expect(problem(of: credentials(key: "200", format: format)) == .sessionOfOtherKey)
    #expect(problem(of: credentials(tokenSession: "1_x", format: format)) == .tokenOfOtherSession)
    #expect(problem({ $0.token = String($0.token.dropLast(41)) }, of: good) == .tokenCutShort)
    #expect(problem({ $0.token = "hello" }, of: good) == .tokenMalformed(detail: "it has the shape of none"))
    #expect(problem({ $0.sessionID = "1_" }, of: good) == .invalidSessionID)
    #expect(problem({ $0.apiKey = "" }, of: good) == .invalidAPIKey)
  }
}
