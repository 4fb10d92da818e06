import Base
import OpenTokProtocol
import TestSupport
import Testing

@testable import OTKit

/// What `Session.connect` says when it cannot.
@Suite struct ConnectFailureTests {
  private static func sessionID() -> String {
    var generator = SeededGenerator(seed: 1)
    return SessionID(apiKey: "100", creationTime: 0, using: &generator).text
  }

  /// - Parameter age: in seconds; it is good for 60.
  private static func token(_ sessionID: String, age: Int64 = 0) -> String {
    let now = WallClock.microseconds() / 1_000_000 - age
    return Token(
      apiKey: "100", sessionID: sessionID, createTime: now, expireTime: now + 60, nonce: "1"
    ).signed(secret: "s")
  }

  private func problem(
    api: String, timeout: Duration = .seconds(20), relayOnly: Bool = false, tokenAge: Int64 = 0,
    _ sessionID: String = Self.sessionID()
  ) async -> OpenTokError? {
    let session = Session(
      apiKey: "100", sessionID: sessionID,
      configuration: .init(apiURL: api, timeout: timeout, relayOnly: relayOnly))
    do throws(OpenTokError) {
      try await session.connect(token: Self.token(sessionID, age: tokenAge))
      return nil
    } catch {
      // A session that failed has no events and cannot be connected again.
      for await event in session.events { Issue.record("\(event)") }
      await #expect(throws: OpenTokError.alreadyConnected) { try await session.connect(token: "T1==") }
      return error
    }
  }

  private static func info(_ sessionID: String, socket: String) -> String {
    SessionInfo(
      sessionID: sessionID, partnerID: "100", createdAt: 0, host: "h", messagingURL: socket,
      symphonyAddress: "symphony.h", iceServers: []
    ).json(segmentID: "s").text
  }

  @Test(arguments: [
    (403, "{}", OpenTokError.authenticationFailed(reason: "")),
    (404, "{}", .sessionNotFound),
    (200, #"[{"error":{"code":403,"errorMessage":{"message":"no"}}}]"#, .authenticationFailed(reason: "no")),
    (200, #"[{"error":{"code":"404","errorMessage":{"message":"no"}}}]"#, .sessionNotFound),
    (200, #"[{"error":{"code":409,"errorMessage":{"message":"no"}}}]"#, .termsOfService(reason: "no")),
  ])
  func sessionInfoIsRefused(_ status: Int, _ body: String, _ error: OpenTokError) async throws {
    let server = try LocalServer(status: status, body: body)
    defer { server.stop() }
    #expect(await problem(api: server.url) == error)
    #expect(server.requests.count == 1)
    let request = try #require(server.requests.first)
    #expect(request.contains("X-OPENTOK-AUTH: T1=="))
    #expect(request.hasPrefix("GET /session/1_"))
    #expect(request.contains("?extended=true HTTP/1.1"))
  }

  @Test func aTokenThatIsOverIsSeenWithoutAsking() async throws {
    let server = try LocalServer(body: "{}")
    defer { server.stop() }
    guard case .tokenExpired = await problem(api: server.url, tokenAge: 500) else {
      Issue.record("another error")
      return
    }
    #expect(server.requests.isEmpty)
  }

  @Test func sessionInfoMakesNoSense() async throws {
    let id = Self.sessionID()
    for (body, error) in [
      ("hello", OpenTokError.notJSON(url: "U/session/\(id)")),
      (#"[{"session_id":"x"}]"#, .missingKeys(url: "U/session/\(id)", keys: ["partner_id"])),
      (
        Self.info(id, socket: "http://h"),
        .unexpectedAnswer(step: .sessionInfo, detail: "messaging_url is no WebSocket address")
      ),
      (
        Self.info("another", socket: "ws://h"),
        .unexpectedAnswer(step: .sessionInfo, detail: "it describes another session")
      ),
    ] {
      let server = try LocalServer(body: body)
      defer { server.stop() }
      let expected: OpenTokError =
        switch error {
        case .notJSON: .notJSON(url: "\(server.url)/session/\(id)")
        case .missingKeys(_, let keys): .missingKeys(url: "\(server.url)/session/\(id)", keys: keys)
        default: error
        }
      #expect(await problem(api: server.url, id) == expected)
    }
  }

  @Test func aServerThatIsDownIsAskedThreeTimes() async throws {
    let server = try LocalServer(status: 503, body: "")
    defer { server.stop() }
    guard case .httpStatus(_, status: 503)? = await problem(api: server.url) else {
      Issue.record("another problem")
      return
    }
    #expect(server.requests.count == 3)
  }

  @Test func theSocketCannotBeOpened() async throws {
    let closed = try LocalServer(body: "")
    closed.stop()
    let id = Self.sessionID()
    let server = try LocalServer(body: Self.info(id, socket: "ws://127.0.0.1:\(closed.port)/rumor"))
    defer { server.stop() }
    #expect(await problem(api: server.url, id) == .connectionRefused(host: "127.0.0.1", port: closed.port))
  }

  @Test func relayOnlyWantsARelay() async throws {
    let id = Self.sessionID()
    let server = try LocalServer(body: Self.info(id, socket: "ws://127.0.0.1:1/rumor"))
    defer { server.stop() }
    #expect(await problem(api: server.url, relayOnly: true, id) == .noRelay)
  }

  @Test func theServerSaysNothingOfTheSession() async throws {
    let silent = try LocalServer { connection, _ in _ = connection.read(1) }
    defer { silent.stop() }
    #expect(
      await problem(api: silent.url, timeout: .milliseconds(300)) == .timedOut(.sessionInfo, seconds: 0.3))
  }

  @Test func theSocketsServerSaysNothing() async throws {
    let silent = try LocalServer { connection, _ in _ = connection.read(1) }
    defer { silent.stop() }
    let id = Self.sessionID()
    let server = try LocalServer(body: Self.info(id, socket: "ws://127.0.0.1:\(silent.port)/rumor"))
    defer { server.stop() }
    let error = await problem(api: server.url, timeout: .seconds(1), id)
    #expect(error == .timedOut(.socket, seconds: 1))
    #expect(silent.requests.first?.hasPrefix("GET /rumor?socketId=") == true)
    #expect(silent.requests.first?.contains("&attempt=") == true)
  }

  @Test func cancellingEndsConnecting() async throws {
    let silent = try LocalServer { connection, _ in _ = connection.read(1) }
    defer { silent.stop() }
    let task = Task { await problem(api: silent.url) }
    try await eventually("the request is on its way") { !silent.requests.isEmpty }
    task.cancel()
    #expect(await task.value == .cancelled)
  }
}
