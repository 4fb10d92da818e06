import Base
import OpenTokProtocol
import TestSupport
import Testing

@testable import SessionServer

/// Clients on real sockets; what the rooms decide is tested with the rooms.
@Suite struct SignallingTests {
  private func connection(_ message: RaptorMessage) -> String? { message.content["id"]?.stringValue }

  @Test func twoMeetInARoom() async throws {
    let events = Lock<[String]>([])
    let report: @Sendable (SessionServerEvent) -> Void = { event in
      let text =
        switch event {
        case .listening: "listening"
        case .archive(let archive): "archive \(archive.id)"
        case .room(.connectionCreated(_, let connection)): "+\(connection.id) \(connection.data)"
        case .room(.connectionDestroyed(_, let connection, let reason)): "-\(connection.id) \(reason)"
        case .room(.streamCreated(_, let stream)): "+\(stream.id) \(stream.name)"
        case .room(.streamDestroyed(_, let stream, let reason)): "-\(stream.id) \(reason)"
        }
      events.withLock { $0.append(text) }
    }
    try await withSessionServer(report: report) { server in
      let anna = try SignallingClient(server, query: "data=Anna", id: "anna")
      let state = try anna.join()
      #expect(state["stream"] == [])
      #expect(state["p2p"] == true)
      #expect(connection(try anna.next(.created)) == "anna")
      let bert = try SignallingClient(server, query: "data=Bert", id: "bert")
      #expect(try bert.join()["connection"]?.arrayValue?.count == 2)
      #expect(connection(try anna.next(.created)) == "bert")

      #expect(try anna.publish("stream-1", name: "Anna's").status == 200)
      #expect(try anna.next(.created).uri == anna.base.with(.stream("stream-1")))
      #expect(try bert.next(.created).uri == bert.base.with(.connection("bert")))
      #expect(try bert.next(.created).content["name"] == "Anna's")
      let signal = RaptorMessage(
        .signal, bert.base.with(.signal(id: "s1", to: nil)), content: ["type": "chat", "data": "hello"])
      #expect(try bert.request(signal).status == 200)
      #expect(try anna.next(.signal).content == ["type": "chat", "data": "hello"])

      let metrics = try server.request("GET", "/metrics").text
      #expect(metrics.contains("otchat_message_seconds_bucket{le=\"+Inf\"} "))
      #expect(!metrics.contains("otchat_message_seconds_count 0\n"))
      #expect(metrics.contains("otchat_archives{status=\"started\"} 0\n"))
      for line in ["otchat_sessions 1", "otchat_connections 2", "otchat_streams 1", "otchat_websockets 2"] {
        #expect(metrics.contains(line + "\n"))
      }
      // The native SDK leaves with a Close frame without a code.
      try anna.leave(code: nil)
      let gone = try bert.next(.deleted)
      #expect(gone.uri == bert.base.with(.stream("stream-1")))
      #expect(gone.reason == "clientDisconnected")
      #expect(try bert.next(.deleted).uri == bert.base.with(.connection("anna")))
      try bert.leave(code: 1000)
      try await eventually("all events came", state: { "\(events.withLock { $0 })" }) {
        events.withLock { $0.count } == 7
      }
    }
    #expect(
      events.withLock { $0 } == [
        "listening", "+anna Anna", "+bert Bert", "+stream-1 Anna's", "-stream-1 clientDisconnected",
        "-anna clientDisconnected", "-bert clientDisconnected",
      ])
  }

  @Test func aLostSocketIsResumedAndNothingIsMissed() async throws {
    try await withSessionServer { server in
      let anna = try SignallingClient(server, id: "anna")
      try anna.join()
      let bert = try SignallingClient(server, id: "bert")
      try bert.join()
      anna.lose()
      for number in 0..<5 {
        let signal = RaptorMessage(
          .signal, bert.base.with(.signal(id: "s\(number)", to: nil)),
          content: ["data": .string("\(number)")])
        #expect(try bert.request(signal).status == 200)
      }
      try anna.resume()
      for number in 0..<5 {
        let signal = try anna.next(.signal)
        #expect(signal.content["data"] == .string("\(number)"))
      }
      let back = RaptorMessage(
        .signal, anna.base.with(.signal(id: "b", to: "bert")), content: ["data": "back"])
      #expect(try anna.request(back).status == 200)
      while try bert.next(.signal).content["data"] != "back" {}
    }
  }

  @Test func whoStaysAwayIsGoneAfterTheGracePeriod() async throws {
    try await withSessionServer(configure: { $0.gracePeriod = .milliseconds(300) }) { server in
      let anna = try SignallingClient(server, id: "anna")
      try anna.join()
      #expect(try anna.publish("stream-1").status == 200)
      let bert = try SignallingClient(server, id: "bert")
      try bert.join()
      anna.lose()
      let gone = try bert.next(.deleted)
      #expect(gone.uri == bert.base.with(.stream("stream-1")))
      #expect(gone.reason == "networkDisconnected")
      try anna.resume()
      #expect(try anna.closeCode() == 1003)
    }
  }

  @Test func tokensAreCheckedAtTheDoor() async throws {
    try await withSessionServer { server in
      let other = try server.json("GET", "/room/b")["token"]?.stringValue
      let anna = try SignallingClient(server, id: "anna")
      for token in ["", "T1==nonsense", try #require(other)] {
        let answer = try anna.request(
          RaptorMessage(.create, anna.base.with(.connection("anna"))), token: token)
        #expect(answer.status == 403)
      }
      try anna.join()
      let bad = try WebSocketClient(port: server.port, path: "/rumorwebsocketsv2?socketId=x&reconnect=true")
      #expect(try bad.receiveClose() == 1003)
      let noFrame = try WebSocketClient(port: server.port, path: "/rumorwebsocketsv2")
      try noFrame.send([1, 2, 3])
      #expect(try noFrame.receiveClose() == 1011)
    }
  }

  @Test func whoPublishesIsToldTheICEServers() async throws {
    try await withSessionServer(configure: {
      $0.turnURLs = ["turn:turn.example"]
      $0.turnSecret = "north"
    }) { server in
      let anna = try SignallingClient(server, id: "anna")
      try anna.join()
      let answer = try anna.publish("stream-1")
      let servers = ICEServer.list(try JSON(parsing: answer.payload)["content"]?["iceServers"])
      #expect(servers.flatMap(\.urls) == ["stun:127.0.0.1:\(server.port)", "turn:turn.example"])
      let username = try #require(servers.last?.username)
      #expect(username.hasSuffix(":1.\(anna.base.session).anna"))
      #expect(servers.last?.credential == Base64.text(Signature.sha1(username.utf8, key: "north")))
    }
  }

  @Test func serverSDKsModerate() async throws {
    try await withSessionServer { server in
      let anna = try SignallingClient(server, id: "anna")
      try anna.join()
      #expect(try anna.publish("stream-1", name: "Anna's").status == 200)
      let session = "/v2/project/100/session/\(anna.base.session)"
      let key = ["X-TB-PARTNER-AUTH": "100:test-secret"]
      func call(_ method: String, _ path: String, _ body: JSON? = nil) throws -> Answer {
        try server.request(method, session + path, headers: key, body: body?.serialized() ?? [])
      }
      #expect(try call("POST", "/signal", ["type": "t", "data": "d"]).status == 204)
      #expect(try anna.next(.signal).content == ["type": "t", "data": "d"])
      #expect(try call("POST", "/connection/anna/signal", ["data": "you"]).status == 204)
      #expect(try anna.next(.signal).content["data"] == "you")
      #expect(try call("POST", "/connection/nobody/signal", ["data": "you"]).status == 404)
      let long = JSON.string(String(repeating: "x", count: 9000))
      #expect(try call("POST", "/signal", ["data": long]).status == 413)

      let stream: JSON = ["id": "stream-1", "videoType": "camera", "name": "Anna's", "layoutClassList": []]
      let listed = try call("GET", "/stream").json()
      #expect(listed == ["count": 1, "items": [stream]])
      let classes: JSON = ["items": [["id": "stream-1", "layoutClassList": ["full", "focus"]]]]
      #expect(try call("PUT", "/stream", classes).status == 200)
      let changed = try call("GET", "/stream/stream-1").json()
      #expect(changed["layoutClassList"] == ["full", "focus"])
      #expect(try call("GET", "/stream/other").status == 404)
      #expect(try call("PUT", "/stream", ["items": [["id": "other", "layoutClassList": []]]]).status == 400)

      #expect(try call("POST", "/stream/stream-1/mute").status == 200)
      let mute = try anna.next(.update)
      #expect(mute.uri == anna.base.with(.stream("stream-1")) && mute.content["reason"] == "mute")
      #expect(try call("POST", "/mute", ["active": true, "excludedStreams": ["x"]]).status == 200)
      while try anna.next(.update).uri != anna.base {}
      #expect(try call("DELETE", "/connection/nobody").status == 404)
      #expect(try call("DELETE", "/connection/anna").status == 204)
      #expect(try anna.next(.deleted).reason == "forceDisconnected")
      let empty = try call("GET", "/stream").json()
      #expect(empty == ["count": 0, "items": []])
    }
  }

  @Test func stoppingTellsTheClientsAndWaitsForNobody() async throws {
    try await withSessionServer { server in
      let anna = try SignallingClient(server, id: "anna")
      try anna.join()
      // One that does not answer the Close frame must not hold it up.
      let silent = try WebSocketClient(port: server.port, path: "/rumorwebsocketsv2").connection
      let hasEnded = Lock(false)
      let watcher = MediaThread(name: "watcher") {
        guard (try? silent.receiveAll()) != nil else { return }
        hasEnded.withLock { $0 = true }
      }
      await server.stop()
      #expect(try anna.closeCode() == 1001)
      #expect(watcher.join(until: MonotonicClock.now() + .seconds(60)))
      #expect(hasEnded.withLock { $0 })
      #expect(throws: (any Error).self) { try LoopbackClient(port: server.port).request("GET", "/healthz") }
      await server.stop()
    }
  }

  @Test func aHundredPairsTalkAtOnce() async throws {
    try await withSessionServer { server in
      var clients: [SignallingClient] = []
      for number in 0..<200 {
        let client = try SignallingClient(server, room: "r\(number / 2)", id: "c\(number)")
        try client.join()
        clients.append(client)
      }
      let metrics = try server.request("GET", "/metrics").text
      #expect(metrics.contains("otchat_sessions 100\n") && metrics.contains("otchat_connections 200\n"))
      for client in clients {
        let signal = RaptorMessage(
          .signal, client.base.with(.signal(id: "s-\(client.id)", to: nil)),
          content: ["data": .string(client.id)])
        #expect(try client.request(signal).status == 200)
      }
      for (number, client) in clients.enumerated() {
        let pair = Set(
          [try client.next(.signal), try client.next(.signal)].map { $0.content["data"]?.stringValue })
        #expect(pair == ["c\(number / 2 * 2)", "c\(number / 2 * 2 + 1)"])
      }
    }
  }
}
