import OpenTokProtocol
import SessionServer
import Testing

/// Joining and leaving, in full frames or as the lines of `RoomScene`.
struct RoomConnectionTests {
  let iceAnswer = #"{"content":{"iceServers":[{"url":"stun:s","username":null,"credential":null}]}}"#

  @Test func connectInFullFrames() {
    var scene = RoomScene()
    _ = scene.open(1)
    let connect = RumorFrame(.connect, headers: ["uniqueId": "a", "TRANSACTION-ID": "c"])
    #expect(
      scene.receive(connect, on: 1) == [
        .send(
          RumorFrame(
            .status, to: ["a"],
            headers: [
              "TRANSACTION-ID": "c", "STATUS": "200", "Content-Type": "application/x-raptor+v2",
              "X-TB-FROM-ADDRESS": "symphony.test",
            ]), to: 1)
      ])
    #expect(scene.receive(RumorFrame(.connect, headers: ["uniqueId": "a"]), on: 1) == [])
    #expect(scene.receive(RumorFrame(.subscribe, to: [RoomScene.base]), on: 1) == [])
    #expect(scene.receive(RumorFrame(.ping), on: 1) == [.send(RumorFrame(.pong), to: 1)])

    let uri = RaptorURI(partner: "100", session: RoomScene.sessionID, .connection("a"))
    let create = RumorFrame(
      .message, to: ["symphony.test"],
      headers: ["X-TB-TOKEN-AUTH": RoomScene.token(.moderator), "TRANSACTION-ID": "t"],
      payload: RaptorMessage(.create, uri).payload)
    let info = ConnectionInfo(
      id: "a", creationTime: 1_700_000_000_000, data: "data", permissions: Role.moderator.permissions)
    let state = SessionState(id: RoomScene.sessionID, connections: [info])
    #expect(
      scene.receive(create, on: 1) == [
        .send(
          RumorFrame(
            .status, to: ["a"],
            headers: [
              "TRANSACTION-ID": "t", "STATUS": "200", "Content-Type": "application/x-raptor+v2",
              "X-TB-FROM-ADDRESS": "symphony.test",
            ], payload: state.json.serialized()), to: 1),
        .send(
          RumorFrame(
            .message, to: ["a"],
            headers: [
              "Content-Type": "application/x-raptor+v2", "TRANSACTION-ID": "srv-1-1",
              "X-TB-FROM-ADDRESS": "a",
            ], payload: RaptorMessage(.created, uri, content: info.json).payload), to: 1),
        .event(.connectionCreated(session: RoomScene.sessionID, info)),
      ])
    #expect(scene.directory.state(of: RoomScene.sessionID) == state)
  }

  @Test func everybodyHearsOfANewConnection() {
    var scene = RoomScene()
    _ = scene.join(1, "a")
    let lines = scene.join(2, "b")
    #expect(
      lines[0].hasPrefix(
        #"2: 200 t2 {"id":"\#(RoomScene.sessionID)","p2p":true,"type":"p2p","connection":[{"id":"a","#))
    #expect(lines[1...] == ["1: created /connection/b by b", "2: created /connection/b by b"])
  }

  @Test func aConnectionThatSuppressesEventsHearsOnlyOfItself() {
    var scene = RoomScene()
    #expect(
      scene.join(1, "a", content: ["connectionEventsSuppressed": true])[1...] == [
        "1: created /connection/a by a"
      ])
    #expect(scene.join(2, "b")[1...] == ["2: created /connection/b by b"])
    #expect(
      scene.ask(2, .signal, "/signal/n", ["data": "x"]) == [
        "2: 200 t3", #"2: signal /signal/n by b {"data":"x"}"#,
        #"1: signal /signal/n by b {"data":"x","fromConnection":{"id":"b","creationTime":1700000000000,"data":"data","permissions":["publish","subscribe","signal"]}}"#,
      ])
    #expect(scene.close(2, 1000) == [])
  }

  @Test func oldClientsReadTheState() {
    var scene = RoomScene()
    _ = scene.join(1, "a")
    #expect(scene.ask(1, .read, "") == ["1: read by -"])
    #expect(scene.repeatRequest("t2", 1, .read, "") == ["1: read by -"])
  }

  @Test func tokensAreChecked() {
    var scene = RoomScene()
    _ = scene.open(1)
    let tokens: [(String?, String)] = [
      (nil, "403 t1 invalid token"), ("T1==x", "403 t2 invalid token"),
      (RoomScene.token(.publisher, session: "1_other"), "403 t3 invalid token"),
      (RoomScene.token(.publisher, expire: 1_699_999_960), "403 t4 token expired"),
      (String(RoomScene.token(.publisher).dropLast(5)), "403 t5 invalid token"),
    ]
    for (token, answer) in tokens {
      #expect(scene.ask(1, .create, "/connection/a", token: token) == ["1: \(answer)"])
    }
    #expect(scene.directory.sessions == [])
    #expect(scene.ask(1, .create, "/connection/a", token: RoomScene.token(.publisher)).count == 2)
  }

  @Test func whatComesBeforeJoiningIsRefused() {
    var scene = RoomScene.call()
    let token = RoomScene.token(.moderator)
    _ = scene.open(9)
    #expect(scene.ask(9, .create, "/stream/y", RoomScene.stream) == ["9: 403 t6 not in the session"])
    #expect(scene.ask(9, .delete, "/connection/a", token: token) == ["9: 403 t7 not in the session"])
    #expect(scene.ask(9, .read, "") == ["9: 403 t8 not in the session"])
    #expect(scene.ask(9, .create, "/connection/a", token: token) == ["9: 409 t9 exists already"])
    #expect(scene.ask(9, .create, "/connection/a b", token: token) == ["9: 400 t10 malformed"])
    #expect(
      scene.ask(9, .create, "/connection/" + String(repeating: "a", count: 65), token: token) == [
        "9: 400 t11 malformed"
      ])
    #expect(
      scene.ask(9, .create, "/connection/z", token: token, partner: "1") == ["9: 404 t12 no such session"])
    #expect(scene.ask(9, .create, "/nothing/z", token: token) == ["9: 404 t13 no such resource"])
    #expect(
      scene.receive(RumorFrame(.message, headers: ["TRANSACTION-ID": "x"], payload: [1]), on: 9).count == 1)
    #expect(scene.ask(1, .create, "/connection/z", token: token) == ["1: 409 t14 exists already"])
  }

  @Test func attemptsToJoinAreLimited() {
    var scene = RoomScene { $0.limits.joinAttempts = 3 }
    _ = scene.open(1)
    for number in 1...2 {
      #expect(scene.ask(1, .create, "/connection/a", token: "T1==") == ["1: 403 t\(number) invalid token"])
    }
    #expect(
      scene.ask(1, .create, "/connection/a", token: "T1==") == ["1: 403 t3 invalid token", "close 1 1011"])
    #expect(scene.directory.socketCount == 0)
  }

  @Test func connectionsAreLimited() {
    var scene = RoomScene { $0.limits.connectionsPerSession = 1 }
    _ = scene.join(1, "a")
    #expect(scene.join(2, "b") == ["2: 409 t2 connectionLimitExceeded"])
    scene = RoomScene { $0.limits.sessions = 1 }
    _ = scene.join(1, "a")
    #expect(scene.join(2, "b", session: "1_two") == ["2: 409 t2 connectionLimitExceeded"])
    scene = RoomScene { $0.limits.sockets = 1 }
    _ = scene.join(1, "a")
    #expect(scene.open(2) == ["close 2 1013"])
    #expect(scene.ask(2, .read, "") == [])
  }

  @Test(arguments: [UInt16(1000), 1001, 1005, 0])
  func aNormalCloseIsALeave(code: UInt16) {
    var scene = RoomScene.call()
    #expect(
      scene.close(1, code) == [
        "2: deleted /stream/s by a (clientDisconnected)", "3: deleted /stream/s by a (clientDisconnected)",
        "2: deleted /connection/a by a (clientDisconnected)",
        "3: deleted /connection/a by a (clientDisconnected)",
      ])
  }

  @Test func publishersHearThatASubscriberLeft() {
    var scene = RoomScene.call()
    #expect(
      scene.lines(scene.receive(RumorFrame(.disconnect, headers: ["reconnect": ""]), on: 2)) == [
        "1: deleted /stream/s/subscriber/x by b", "1: deleted /connection/b by b (clientDisconnected)",
        "3: deleted /connection/b by b (clientDisconnected)",
      ])
    #expect(scene.close(2, 1000) == [])
    #expect(scene.directory.socketCount == 2)
  }

  @Test func goneConnectionsCarryTheWholeObjects() throws {
    var scene = RoomScene.call()
    let outputs = scene.receive(RumorFrame(.disconnect), on: 1)
    guard case .send(let stream, 2) = outputs[0], case .send(let connection, 2) = outputs[3] else {
      Issue.record("\(outputs)")
      return
    }
    let content = try RaptorMessage(parsing: stream.payload).content
    #expect(StreamInfo(content)?.connection.id == "a")
    #expect(content["creationTime"] == 1_700_000_000_000)
    #expect(content["channel"]?.arrayValue?.count == 2)
    #expect(ConnectionInfo(try RaptorMessage(parsing: connection.payload).content)?.data == "data")
    #expect(scene.directory.state(of: RoomScene.sessionID)?.connections.map(\.id) == ["b", "m"])
  }

  @Test func nothingIsLeftOfASessionThatEverybodyLeft() {
    var scene = RoomScene.call()
    for socket in 1...3 { _ = scene.close(socket, 1000) }
    #expect(scene.directory.sessions == [])
    #expect(scene.directory.socketCount == 0)
    #expect(scene.directory.connectionCount == 0 && scene.directory.streamCount == 0)
    // Ids of the next room differ: browsers drop messages whose id they know.
    _ = scene.open(1)
    let frame = RumorFrame(
      .message, headers: ["TRANSACTION-ID": "t", "X-TB-TOKEN-AUTH": RoomScene.token(.publisher)],
      payload: RaptorMessage(.create, RaptorURI(RoomScene.base + "/connection/a")!).payload)
    guard case .send(let created, _) = scene.receive(frame, on: 1)[1] else { return }
    #expect(created.transactionID == "srv-2-1")
  }

  @Test func aSilentSocketIsClosedIfNobodyJoins() {
    var scene = RoomScene()
    _ = scene.open(1)
    #expect(scene.pass(.seconds(14)) == [])
    #expect(scene.pass(.seconds(1)) == ["close 1 1000"])
    #expect(scene.ask(1, .create, "/connection/a", token: RoomScene.token(.publisher)) == [])
  }

  @Test func garbageEndsAConnection() {
    var scene = RoomScene.call()
    #expect(
      scene.lines(scene.directory.received([1, 2, 3], on: 2, at: scene.now)) == [
        "close 2 1011", "1: deleted /stream/s/subscriber/x by b",
        "1: deleted /connection/b by b (networkDisconnected)",
        "3: deleted /connection/b by b (networkDisconnected)",
      ])
    #expect(scene.directory.malformedFrames == 1)
    #expect(scene.open(4, "socketId=socket-of-b&reconnect=true") == ["close 4 1003"])
  }

  @Test func sessionsKnowNothingOfEachOther() {
    let other = "1_MX4xMDB-other"
    var scene = RoomScene.call()
    let joined = scene.join(7, "a", .moderator, session: other)
    #expect(joined.count == 2 && joined.allSatisfy { $0.hasPrefix("7: ") && !$0.contains(#""s""#) })
    #expect(scene.ask(7, .create, "/stream/s/subscriber/y", session: other) == ["7: 404 t7 no such stream"])
    #expect(scene.ask(7, .create, "/stream/s/subscriber/y") == ["7: 404 t8 no such session"])
    #expect(scene.ask(7, .delete, "/connection/b", session: other) == ["7: 404 t9 no such connection"])
    #expect(scene.ask(7, .delete, "/connection/b") == ["7: 404 t10 no such session"])
    #expect(scene.ask(7, .signal, "/signal/n", ["data": "x"]) == ["7: 404 t11 no such session"])
    #expect(scene.ask(7, .read, "") == ["7: 404 t12 no such session"])
    let signal = scene.ask(7, .signal, "/signal/n", ["data": "x"], session: other)
    #expect(signal.count == 2 && signal.allSatisfy { $0.hasPrefix("7: ") })
    // The same connection id in two sessions: leaving one leaves the other alone.
    #expect(scene.close(7, 1000) == [])
    #expect(scene.directory.state(of: RoomScene.sessionID)?.connections.count == 3)
  }

  @Test func shutDownTellsEverybody() {
    var scene = RoomScene.call()
    _ = scene.close(3, 1000)
    #expect(
      scene.lines(scene.directory.shutDown(at: scene.now)) == [
        "1: deleted /connection/a by a (networkDisconnected)",
        "2: deleted /stream/s by a (networkDisconnected)",
        "2: deleted /connection/a by a (networkDisconnected)", "close 1 1001",
        "2: deleted /connection/b by b (networkDisconnected)", "close 2 1001",
      ])
    #expect(scene.directory.sessions == [] && scene.directory.socketCount == 0)
  }
}
