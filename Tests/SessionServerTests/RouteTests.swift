import Base
import Foundation
import OpenTokProtocol
import TestSupport
import Testing

@testable import SessionServer

@Suite struct RouteTests {
  @Test func givesCredentialsOfARoom() async throws {
    try await withSessionServer { server in
      let first = try server.json("GET", "/room/kitchen")
      let second = try server.json("GET", "/room/kitchen")
      #expect(first["apiKey"] == "100")
      #expect(first["apiUrl"] == "http://127.0.0.1")
      #expect(first["sessionId"] == second["sessionId"])
      #expect(first["token"] != second["token"], "a fresh token each call")
      let other = try server.json("GET", "/room/hall")
      #expect(other["sessionId"] != first["sessionId"])
      let slashed = try server.json("GET", "/room/a%20b%2Fc")
      #expect(slashed["sessionId"] == (try server.json("GET", "/room/a%20b/c")["sessionId"]))
      #expect(try server.request("GET", "/room/").status == 404)
      #expect(first["archives"] == false)
      let id = try #require(first["sessionId"]?.stringValue)
      let token = try Token.verify(
        try #require(first["token"]?.stringValue), apiKey: "100", secret: "test-secret", sessionID: id,
        now: WallClock.microseconds() / 1_000_000)
      #expect(token.role == .publisher)
      #expect(token.connectionData == "")

      let session = try server.json("GET", "/session")["sessionId"]
      #expect(try server.json("POST", "/session")["sessionId"] == session)
      #expect(try server.json("POST", "/service", body: ["a": 1])["sessionId"] == session)
      #expect(try server.json("GET", "/room/session")["sessionId"] == session)
      #expect(try server.request("GET", "/room/" + String(repeating: "x", count: 129)).status == 400)
    }
  }

  @Test func makesTheTokenAskedFor() async throws {
    try await withSessionServer { server in
      let answer = try server.json("GET", "/room/a?role=moderator&data=name%3DAnna%20%C3%A9")
      let token = try Token.inspect(try #require(answer["token"]?.stringValue))
      #expect(token.role == .moderator)
      #expect(token.connectionData == "name=Anna é")
      #expect(try server.request("GET", "/room/a?role=king").status == 400)
      #expect(try server.request("GET", "/room/a?data=" + String(repeating: "d", count: 1001)).status == 400)
    }
  }

  @Test func namesItselfAsTheClientReachedIt() async throws {
    try await withSessionServer(configure: { $0.isOpen = true }) { server in
      func url(_ host: String) throws -> String? {
        let client = try LoopbackClient(port: server.port)
        try client.send("GET /session HTTP/1.1\r\nHost: \(host)\r\n\r\n")
        return try client.answer().json()["apiUrl"]?.stringValue
      }
      let named = try url("call.example:8443")
      #expect(named == "http://call.example:8443")
      #expect(try url("[::1]:8080") == "http://[::1]:8080")
      #expect(try url("call.example:80") == "http://call.example")
      #expect(try url("evil\"<script>") == server.url)
    }
    try await withSessionServer(configure: {
      $0.publicURL = "https://call.example/"
      $0.isOpen = true
    }) { server in
      #expect(server.url == "https://call.example")
      let answer = try server.json("GET", "/session")
      #expect(answer["apiUrl"] == "https://call.example")
    }
    for bad in ["call.example", "ftp://a", "https://", "https://a/b c", "https://a\"b"] {
      await #expect(throws: SessionServerError.badPublicURL(bad)) {
        try await withSessionServer(configure: { $0.publicURL = bad }) { _ in }
      }
    }
  }

  @Test func pagesOfStrangersGetLittleOnThisMachine() async throws {
    try await withSessionServer { server in
      func expect(
        _ expected: Int, _ path: String, _ host: String, _ origin: String? = nil
      ) throws {
        let client = try LoopbackClient(port: server.port)
        let line = origin.map { "Origin: \($0)\r\n" } ?? ""
        try client.send("GET \(path) HTTP/1.1\r\nHost: \(host)\r\n\(line)\r\n")
        let status = try client.answer().status
        #expect(status == expected, "\(path) of \(host) by \(origin ?? "-")")
      }
      for host in ["localhost:8080", "LocalHost", "127.0.0.1", "[::1]:8080"] {
        try expect(200, "/session", host)
      }
      for host in [
        "evil.example:8080", "127.0.0.1.evil.example", "localhost.evil.example", "evil\"", "0.0.0.0",
      ] {
        try expect(403, "/session", host)
        try expect(403, "/room/a?role=moderator", host)
      }
      let moderator = "/room/a?role=moderator"
      for origin in ["http://localhost:3000", "http://127.0.0.1:8080", "https://[::1]", "localhost"] {
        try expect(200, moderator, "localhost", origin)
      }
      for origin in [
        "https://evil.example", "null", "http://localhost.evil.example", "http://localhost@evil",
      ] {
        try expect(403, moderator, "localhost", origin)
        try expect(200, "/room/a", "localhost", origin)
      }
    }
  }

  @Test func asksForTheAccessKeyWhenOthersCanCome() async throws {
    await #expect(throws: SessionServerError.accessKeyNeeded(host: "0.0.0.0")) {
      try await withSessionServer(configure: { $0.host = "0.0.0.0" }) { _ in }
    }
    try await withSessionServer(configure: {
      $0.host = "0.0.0.0"
      $0.accessKey = "sesame & co"
    }) { server in
      let refused = try server.request("GET", "/session")
      #expect(refused.status == 403)
      #expect(try server.request("GET", "/room/a?accessKey=wrong").status == 403)
      #expect(try server.request("POST", "/archive/start").status == 403)
      #expect(try server.request("GET", "/healthz").status == 200)
      #expect(try server.request("GET", "/room/a?accessKey=sesame%20%26%20co").status == 200)
      #expect(try server.request("GET", "/room/a", headers: ["X-Access-Key": "sesame & co"]).status == 200)
      let bearer = ["Authorization": "Bearer sesame & co"]
      #expect(try server.request("GET", "/room/a?role=moderator", headers: bearer).status == 200)

      let page = try server.request("GET", "/?accessKey=sesame%20%26%20co")
      let cookie = try #require(page.headers["set-cookie"])
      #expect(cookie.hasSuffix("; Path=/; HttpOnly; SameSite=Strict"))
      #expect(!cookie.contains("sesame"))
      let kept = ["Cookie": "a=b; " + cookie.prefix { $0 != ";" }]
      #expect(try server.request("GET", "/session", headers: kept).status == 200)
      #expect(try server.request("GET", "/?accessKey=wrong").headers["set-cookie"] == nil)

    }
    try await withSessionServer(configure: {
      $0.host = "0.0.0.0"
      $0.isOpen = true
    }) { server in
      let answer = try server.request("GET", "/session")
      #expect(answer.status == 200)
      #expect(try server.request("GET", "/session?role=moderator").status == 403)
    }
  }

  @Test(arguments: ["X-OPENTOK-AUTH", "X-TB-TOKEN-AUTH"]) func tellsWhoHasATokenAboutTheSession(
    header: String
  ) async throws {
    try await withSessionServer(configure: {
      $0.turnURLs = ["turn:turn.example:3478"]
      $0.turnSecret = "north"
    }) { server in
      let credentials = try server.json("GET", "/room/a")
      let id = try #require(credentials["sessionId"]?.stringValue)
      let token = try #require(credentials["token"]?.stringValue)
      let path = "/session/\(id)?extended=true"
      let preflight = try server.request("OPTIONS", path)
      #expect(preflight.status == 200)
      #expect(preflight.headers["access-control-allow-headers"] == "*")

      let answer = try server.request("GET", path, headers: [header: token, "Host": "h.example:81"])
      #expect(answer.status == 200)
      #expect(answer.headers["content-type"] == "application/json")
      #expect(answer.headers["access-control-allow-origin"] == "*")
      let info = try SessionInfo(answer.json())
      #expect(info.sessionID == id)
      #expect(info.partnerID == "100")
      #expect(info.messagingURL.hasSuffix("/rumorwebsocketsv2"))
      #expect(info.messagingURL.hasPrefix("ws://"))
      #expect(info.symphonyAddress.hasPrefix("symphony."))
      #expect(info.reconnection && info.isPeerToPeer)
      let turn = try #require(info.iceServers.last)
      #expect(turn.urls == ["turn:turn.example:3478"])
      let username = try #require(turn.username)
      #expect(turn.credential == Base64.text(Signature.sha1(username.utf8, key: "north")))
      let expires = try #require(Int64(username.prefix { $0 != ":" }))
      #expect(abs(expires - WallClock.microseconds() / 1_000_000 - 86400) < 120)
    }
  }

  @Test func refusesSessionInfoWithStatus200() async throws {
    try await withSessionServer { server in
      let mine = try server.json("GET", "/room/a")
      let other = try server.json("GET", "/room/b")
      let id = try #require(mine["sessionId"]?.stringValue)
      func refusal(_ id: String, _ token: String?) throws -> SessionInfoError? {
        let headers = token.map { ["X-OPENTOK-AUTH": $0] } ?? [:]
        let answer = try server.request("GET", "/session/\(id)?extended=true", headers: headers)
        #expect(answer.status == 200)
        let json = try answer.json()
        do throws(SessionInfoError) {
          _ = try SessionInfo(json)
          return nil
        } catch { return error }
      }
      let token = try #require(mine["token"]?.stringValue)
      #expect(
        try refusal("1_MX5ub3QtYS1zZXNzaW9ufn4", token)
          == .refused(code: 404, message: "Session not found"))
      #expect(
        try refusal(id, nil) == .refused(code: 403, message: "Invalid token: that is no token"))
      #expect(
        try refusal(id, other["token"]?.stringValue)
          == .refused(code: 403, message: "Invalid token: it is for another session"))
      let project = ProjectCredentials(apiKey: "100", apiSecret: "test-secret")
      let now = WallClock.microseconds() / 1_000_000
      let old = project.token(for: try #require(SessionID(id)), role: .publisher, data: "", now: now - 86712)
      guard case .refused(403, let message)? = try refusal(id, old) else {
        Issue.record("an expired token was taken")
        return
      }
      #expect(message.hasPrefix("Invalid token: it expired 31") && message.hasSuffix(" s ago"))
    }
  }

  @Test func answersEveryPathAsJSON() async throws {
    try await withSessionServer { server in
      let unknown = try server.request("GET", "/nowhere")
      #expect(unknown.status == 404)
      #expect(try unknown.json()["message"] == "not found")
      let wrongMethod = try server.request("DELETE", "/session")
      #expect(wrongMethod.status == 405)
      #expect(wrongMethod.headers["allow"] == "GET, POST, OPTIONS")
      #expect(try server.request("HEAD", "/session").status == 200)
      #expect(try server.request("GET", "/rumorwebsocketsv2").status == 426)
      #expect(try server.json("GET", "/healthz") == ["status": "ok"])
      for path in ["/start", "/view", "/archive", "/archive/1/view"] {
        #expect(try server.request("GET", path).status == 501, "\(path)")
      }
      let page = try server.request("GET", "/?room=a")
      #expect(page.headers["content-type"] == "text/html; charset=utf-8")
      #expect(page.text.hasPrefix("<!DOCTYPE html>") && page.text.contains("/v2/js/opentok.js"))
      #expect(isSame(try server.request("GET", "/test.html").body, page.body))
      let script = try server.request("GET", "/v2/js/opentok.js")
      #expect(script.status == 200)
      #expect(script.headers["content-type"] == "text/javascript; charset=utf-8")
      #expect(isSame(try server.request("GET", "/v2/js/opentok.min.js").body, script.body))
      let metrics = try server.request("GET", "/metrics").text
      #expect(metrics.contains("# TYPE otchat_connections gauge\notchat_connections 0\n"))
      #expect(metrics.contains(#"otchat_http_requests_total{code="501"} 4"#))
    }
  }

  /// The page at the top level of the repository is the one in the binary.
  @Test func servesThePageOfTheRepository() async throws {
    let path = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../test.html")
    let file = [UInt8](try Data(contentsOf: path))
    try await withSessionServer { server in
      let page = try server.request("GET", "/")
      #expect(isSame(page.body, file))
      let types = try server.request("GET", "/v2/js/opentok.d.ts")
      #expect(types.text.contains("declare namespace OT {"))
    }
  }

  @Test func makesSessionsForServerSDKs() async throws {
    try await withSessionServer { server in
      func token(secret: String = "test-secret", age: Int64 = 0) -> String {
        let now = WallClock.microseconds() / 1_000_000 - age
        let parts: [JSON] = [
          ["alg": "HS256", "typ": "JWT"],
          ["iss": "100", "ist": "project", "iat": .integer(now), "exp": .integer(now + 180), "jti": "x"],
        ]
        let message = parts.map { Base64.urlText($0.serialized()) }.joined(separator: ".")
        return message + "." + Base64.urlText(Signature.sha256(message.utf8, key: secret))
      }
      let form = [UInt8]("p2p.preference=enabled&archiveMode=manual".utf8)
      let path = "/session/create"
      let made = try server.request("POST", path, headers: ["X-OPENTOK-AUTH": token()], body: form)
      #expect(made.status == 200)
      #expect(made.headers["content-type"] == "application/json")
      let id = try #require(try made.json()[0]?["session_id"]?.stringValue)
      #expect(SessionID(id)?.belongs(to: "100") == true)
      #expect(try made.json()[0]?["partner_id"] == "100")
      let old = ["X-TB-PARTNER-AUTH": "100:test-secret"]
      #expect(try server.request("POST", path, headers: old, body: []).status == 200)

      for headers in [
        [:], ["X-OPENTOK-AUTH": token(secret: "guess")], ["X-OPENTOK-AUTH": token(age: 300)],
        ["X-TB-PARTNER-AUTH": "100:guess"],
      ] {
        let refused = try server.request("POST", path, headers: headers, body: form)
        #expect(refused.status == 403)
        #expect(try refused.json()["message"] == "Invalid token")
      }
      let always = [UInt8]("archiveMode=always".utf8)
      #expect(try server.request("POST", path, headers: old, body: always).status == 501)

      let project = "/v2/project/100/session/\(id)"
      #expect(try server.json("GET", project + "/stream", headers: old) == ["count": 0, "items": []])
      #expect(try server.request("GET", project + "/stream").status == 403)
      #expect(
        try server.request("GET", "/v2/project/101/session/\(id)/stream", headers: old).status == 403)
      #expect(
        try server.request("GET", "/v2/project/100/session/1_xx/stream", headers: old).status == 404)
      let signal = [UInt8](#"{"type":"a","data":"b"}"#.utf8)
      #expect(try server.request("POST", project + "/signal", headers: old, body: signal).status == 404)
      #expect(try server.request("POST", project + "/signal", headers: old, body: [1]).status == 400)
      #expect(try server.request("POST", "/v2/project/100/archive", headers: old, body: []).status == 501)
      #expect(try server.request("GET", "/v2/project/100/broadcast/x", headers: old).status == 501)
    }
  }
}
