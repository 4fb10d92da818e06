import Base
import OpenTokProtocol
import TestSupport
import Testing

@testable import SessionServer

/// A server that goes away and another one in its place, over real sockets.
@Suite struct RestartTests {
  private func withKeptSessions(
    _ directory: borrowing TemporaryDirectory, restarts: Bool = true, key: String = "100",
    _ body: (SessionServer) async throws -> Void
  ) async throws {
    var configuration = SessionServer.Configuration()
    configuration.port = 0
    configuration.apiKey = key
    configuration.apiSecret = "test-secret"
    configuration.stateDirectory = directory.path
    configuration.keepsSessions = true
    let server = try await SessionServer.start(configuration)
    do {
      try await body(server)
    } catch {
      await server.stop()
      throw error
    }
    await server.stop(restarts: restarts)
  }

  @Test func clientsComeBackToTheirSession() async throws {
    let directory = TemporaryDirectory()
    var clients: [SignallingClient] = []
    try await withKeptSessions(directory) { server in
      let anna = try SignallingClient(server, query: "role=moderator", id: "anna")
      let bert = try SignallingClient(server, id: "bert")
      for client in [anna, bert] { try client.join() }
      #expect(try anna.publish("stream-of-anna").status == 200)
      let muted = try anna.request(
        RaptorMessage(.update, anna.base, content: ["reason": "mute", "active": true]))
      #expect(muted.status == 200)
      clients = [anna, bert]
    }
    for client in clients { #expect(try client.closeCode() == 1012) }
    try await withKeptSessions(directory) { server in
      for client in clients { try client.resume(at: server.port) }
      let session = clients[0].base.session
      let streams = try server.json(
        "GET", "/v2/project/100/session/\(session)/stream", headers: ["X-TB-PARTNER-AUTH": "100:test-secret"])
      #expect(streams["items"]?[0]?["id"] == "stream-of-anna")
      // Who comes now finds everybody, and is muted.
      let carl = try SignallingClient(server, id: "carl")
      let state = try carl.join()
      #expect(state["connection"]?.arrayValue?.map { $0["id"] } == ["anna", "bert", "carl"])
      #expect(state["mute"]?["active"] == true)
      let signal = RaptorURI.Resource.signal(id: "n", to: nil)
      _ = try clients[0].request(RaptorMessage(.signal, carl.base.with(signal), content: ["data": "hello"]))
      #expect(try clients[1].next(.signal).content["data"] == "hello")
      #expect(try carl.next(.signal).content["data"] == "hello")
    }
  }

  @Test func aServerThatEndsForGoodLeavesNothing() async throws {
    let directory = TemporaryDirectory()
    var anna: SignallingClient?
    try await withKeptSessions(directory, restarts: false) { server in
      anna = try SignallingClient(server, id: "anna")
      try anna?.join()
    }
    #expect(try anna?.closeCode() == 1001)
    try await withKeptSessions(directory) { server in
      try anna?.resume(at: server.port)
      #expect(try anna?.closeCode() == 1003)
    }
  }

  @Test func twoServersDoNotShareTheirSessions() async throws {
    let directory = TemporaryDirectory()
    var anna: SignallingClient?
    try await withKeptSessions(directory) { first in
      anna = try SignallingClient(first, id: "anna")
      try anna?.join()
      try await withKeptSessions(directory) { second in
        try anna?.resume(at: second.port)
        #expect(try anna?.closeCode() == 1003)
      }
      try anna?.resume(at: first.port)
      #expect(try anna?.publish("stream-of-anna").status == 200)
    }
    // Another key's are left alone.
    try await withKeptSessions(directory, key: "200") { _ in }
    try await withKeptSessions(directory) { server in
      try anna?.resume(at: server.port)
      #expect(try anna?.publish("another-of-anna").status == 200)
    }
  }
}
