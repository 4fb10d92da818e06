import Base
import OpenTokProtocol
import TestSupport
import Testing

@testable import SessionServer

/// What an app server is told, over real sockets.
@Suite struct CallbackTests {
  /// Posts to a receiver; the URL's path tells which callback it is.
  private func callbacks(_ receiver: HTTPReceiver) -> Callbacks {
    let port = receiver.port
    return Callbacks(sessionURL: "/sessions", archiveURL: "/archives") { path, body in
      let answer = try? LoopbackClient(port: port).request("POST", path, headers: [:], body: body)
      return answer?.status == 200 ? nil : "status \(answer?.status ?? 0)"
    }
  }

  @Test func sessionsAreToldInOrderThoughTheReceiverFailsFirst() async throws {
    let receiver = try HTTPReceiver(statuses: [503, 200])
    defer { receiver.stop() }
    let delivered = { receiver.requests.filter { $0.status == 200 } }
    try await withSessionServer(configure: { $0.callbacks = callbacks(receiver) }) { server in
      let anna = try SignallingClient(server, query: "data=Anna", id: "anna")
      _ = try anna.join()
      #expect(try anna.publish("stream-1", name: "Anna's").status == 200)
      try anna.leave(code: 1000)
      try await eventually("all callbacks came", state: { "\(receiver.requests.count)" }) {
        delivered().count >= 4
      }
    }
    #expect(receiver.requests.count == 5)
    let bodies = try delivered().map { try JSON(parsing: $0.body) }
    #expect(
      bodies.map { $0["event"]?.stringValue } == [
        "connectionCreated", "streamCreated", "streamDestroyed", "connectionDestroyed",
      ])
    // The one that failed is the one that came first.
    #expect(receiver.requests[0].body == receiver.requests[1].body)
    #expect(receiver.requests.allSatisfy { $0.head.hasPrefix("POST /sessions ") })
    for body in bodies {
      #expect(body["projectId"] == "100")
      #expect(body["sessionId"] == bodies[0]["sessionId"])
      #expect((body["timestamp"]?.integerValue ?? 0) > 1_600_000_000_000)
    }
    #expect(bodies[0]["connection"]?["id"] == "anna")
    #expect(bodies[0]["connection"]?["data"] == "Anna")
    #expect((bodies[0]["connection"]?["createdAt"]?.integerValue ?? 0) > 1_600_000_000_000)
    #expect(bodies[1]["stream"]?["id"] == "stream-1")
    #expect(bodies[1]["stream"]?["name"] == "Anna's")
    #expect(bodies[1]["stream"]?["connection"]?["id"] == "anna")
    #expect(bodies[2]["reason"] == "clientDisconnected")
    #expect(bodies[3]["reason"] == "clientDisconnected")
  }

  @Test func aServerThatEndsTellsBefore() async throws {
    let receiver = try HTTPReceiver(statuses: [200])
    defer { receiver.stop() }
    try await withSessionServer(configure: { $0.callbacks = callbacks(receiver) }) { server in
      let anna = try SignallingClient(server, id: "anna")
      _ = try anna.join()
    }
    let events = try receiver.requests.map { try JSON(parsing: $0.body)["event"]?.stringValue }
    #expect(events == ["connectionCreated", "connectionDestroyed"])
  }

  @Test func aDeadReceiverStarvesNobodyElse() async throws {
    let taken = Lock<[String]>([])
    let deliveries = Callbacks(sessionURL: "/sessions", archiveURL: "/archives") { url, _ in
      guard url == "/archives" else {
        // It accepts and never answers; cancelled at the end.
        try? await Task.sleep(for: .seconds(3600))
        return "timeout"
      }
      taken.withLock { $0.append(url) }
      return nil
    }.deliveries()
    for session in 0..<20 { deliveries[.session]?.add([:], session: String(session)) }
    for session in 0..<20 { deliveries[.archive]?.add([:], session: String(session)) }
    try await eventually("all archives are told") { taken.withLock { $0.count } == 20 }
    await deliveries[.session]?.finish(within: .zero)
  }

  @Test func nobodyIsToldWithoutAURL() {
    #expect(
      Callbacks(archiveURL: "/archives") { _, _ in nil }.deliveries().keys.map(\.rawValue) == ["archive"])
  }

  @Test func archivesAreTold() async throws {
    let receiver = try HTTPReceiver(statuses: [200])
    defer { receiver.stop() }
    let directory = TemporaryDirectory()
    let path = directory.path + "/archives"
    let factory = FakeRecorders().factory
    let bodies = {
      try receiver.requests.filter { $0.head.hasPrefix("POST /archives ") }.map { try JSON(parsing: $0.body) }
    }
    try await withSessionServer(configure: {
      $0.archiveDirectory = path
      $0.recorders = factory
      $0.callbacks = callbacks(receiver)
    }) { server in
      let anna = try SignallingClient(server, id: "anna")
      _ = try anna.join()
      let signed = ["X-TB-PARTNER-AUTH": "100:test-secret"]
      let start: JSON = ["sessionId": .string(anna.base.session), "name": "film"]
      let archive = try server.json("POST", "/v2/project/100/archive", headers: signed, body: start)
      let id = try #require(archive["id"]?.stringValue)
      try await eventually("started is told") { try bodies().count == 1 }
      _ = try server.request("POST", "/v2/project/100/archive/\(id)/stop", headers: signed, body: [])
      try await eventually("all is told") { try bodies().count == 3 }
      let told = try bodies()
      #expect(told.map { $0["status"]?.stringValue } == ["started", "stopped", "available"])
      for body in told {
        #expect(body["event"] == "archive" && body["id"] == .string(id) && body["name"] == "film")
        #expect(body["sessionId"] == .string(anna.base.session) && body["partnerId"] == "100")
      }
      // The address in it works without a secret.
      let url = try #require(told[2]["url"]?.stringValue)
      #expect(url.hasPrefix(server.url + "/archive/\(id)/"))
      #expect(try server.request("GET", String(url.dropFirst(server.url.count))).status == 200)
    }
  }
}
