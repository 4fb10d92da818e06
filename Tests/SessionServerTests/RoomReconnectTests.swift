import OpenTokProtocol
import SessionServer
import Testing

/// Lost WebSockets, and what is made good when they come back.
struct RoomReconnectTests {
  let resume = "socketId=socket-of-b&reconnect=true&attempt=2"

  /// Acknowledges the server's messages 1 to `last` as b.
  private func acknowledge(upTo last: Int, _ scene: inout RoomScene) {
    for number in 1...last {
      let frame = RumorFrame(
        .status, headers: ["TRANSACTION-ID": "srv-1-\(number)", "X-TB-FROM-ADDRESS": "b"])
      #expect(scene.receive(frame, on: 2) == [])
    }
  }

  @Test func nothingIsLostAndNothingTwice() {
    var scene = RoomScene.call()
    acknowledge(upTo: 100, &scene)
    #expect(scene.ask(1, .signal, "/signal/n", ["data": "not acknowledged"]).count == 4)
    #expect(scene.close(2, 1006) == [])
    #expect(
      scene.ask(1, .signal, "/signal/n", ["data": "while away"]) == [
        "1: 200 t7", #"1: signal /signal/n by a {"data":"while away"}"#,
        #"3: signal /signal/n by a {"data":"while away"}"#,
      ])
    #expect(scene.pass(.seconds(19)) == [])
    #expect(
      scene.open(4, resume) == [
        #"4: signal /signal/n by a {"data":"not acknowledged"}"#,
        #"4: signal /signal/n by a {"data":"while away"}"#,
      ])
    // Goes on as before, both ways.
    #expect(scene.ask(4, .signal, "/signal/n", ["data": "back"]).count == 4)
    #expect(scene.ask(1, .signal, "/connection/b/signal/n", ["data": "you"])[1].hasPrefix("4: signal"))
    #expect(scene.pass(.seconds(30)) == [])
  }

  @Test func aRepeatedRequestIsAnsweredAgainAndDoneOnce() {
    var scene = RoomScene.call()
    #expect(scene.ask(2, .signal, "/signal/n", ["data": "once"]).count == 4)
    #expect(scene.repeatRequest("t6", 2, .signal, "/signal/n", ["data": "once"]) == ["2: 200 t6"])
    _ = scene.close(2, 1006)
    _ = scene.open(4, resume)
    #expect(scene.repeatRequest("t6", 4, .signal, "/signal/n", ["data": "once"]) == ["4: 200 t6"])
    #expect(scene.ask(4, .delete, "/stream/none") == ["4: 404 t7 no such stream"])
    #expect(scene.repeatRequest("t7", 4, .delete, "/stream/s") == ["4: 404 t7 no such stream"])
    // Another connection's ids are its own.
    #expect(scene.repeatRequest("t6", 1, .signal, "/signal/n", ["data": "mine"]).count == 4)
  }

  @Test func aRepeatedCreationIsAnsweredWithTheStateAsItIs() {
    var scene = RoomScene.call()
    let lines = scene.repeatRequest("t2", 2, .create, "/connection/b", token: RoomScene.token(.publisher))
    #expect(lines.count == 1)
    #expect(lines[0].hasPrefix(#"2: 200 t2 {"id":"\#(RoomScene.sessionID)","p2p":true"#))
    #expect(lines[0].contains(#""stream":[{"id":"s""#))
  }

  @Test func answersAreForgottenAfterSoMany() {
    var scene = RoomScene.call { $0.limits.rememberedAnswers = 2 }
    for _ in 0..<3 { _ = scene.ask(2, .signal, "/signal/n") }
    #expect(scene.repeatRequest("t8", 2, .signal, "/signal/n") == ["2: 200 t8"])
    #expect(scene.repeatRequest("t6", 2, .signal, "/signal/n").count == 4)
  }

  @Test func afterTheGracePeriodTheOthersAreToldAndNothingResumes() {
    var scene = RoomScene.call()
    #expect(scene.close(1, 1006) == [])
    #expect(scene.pass(.milliseconds(19_999)) == [])
    #expect(
      scene.pass(.milliseconds(1)) == [
        "2: deleted /stream/s by a (networkDisconnected)", "3: deleted /stream/s by a (networkDisconnected)",
        "2: deleted /connection/a by a (networkDisconnected)",
        "3: deleted /connection/a by a (networkDisconnected)",
      ])
    #expect(scene.open(4, "socketId=socket-of-a&reconnect=1") == ["close 4 1003"])
    #expect(scene.open(5, "socketId=unknown&reconnect=true") == ["close 5 1003"])
    #expect(scene.open(6, "reconnect=true") == ["close 6 1003"])
  }

  @Test func aClientMaySayThatItReconnects() {
    var scene = RoomScene.call()
    #expect(scene.receive(RumorFrame(.disconnect, headers: ["reconnect": "1"]), on: 2) == [])
    #expect(scene.close(2, 1000) == [])
    acknowledge(upTo: 100, &scene)
    #expect(scene.open(4, resume).count == 3)  // Its own creation, that of m, and s.
    #expect(scene.ask(4, .signal, "/signal/n").count == 4)
  }

  @Test func aNewSocketTakesThePlaceOfOneThatIsStillOpen() {
    var scene = RoomScene.call()
    acknowledge(upTo: 100, &scene)
    #expect(scene.open(4, resume) == ["close 2 1000"])
    #expect(scene.close(2, 1006) == [])
    #expect(scene.ask(2, .signal, "/signal/n") == [])
    #expect(scene.ask(4, .signal, "/signal/n").count == 4)
  }

  @Test func onlyWhatIsAcknowledgedIsForgotten() {
    var scene = RoomScene.call()
    acknowledge(upTo: 100, &scene)
    for number in 0..<5 { _ = scene.ask(1, .signal, "/connection/b/signal/n\(number)") }
    let first = firstNumber(scene)
    for text in ["1-\(first + 1)", "1-\(first + 4)", "2-\(first)", "1-", "1--1", "1-9999999999999999999", ""]
    {
      _ = scene.receive(RumorFrame(.status, headers: ["TRANSACTION-ID": "srv-" + text]), on: 2)
    }
    _ = scene.close(2, 1006)
    #expect(scene.open(4, resume) == [0, 2, 3].map { "4: signal /connection/b/signal/n\($0) by a" })
  }

  /// The number of the first message that b has not acknowledged.
  private func firstNumber(_ scene: RoomScene) -> Int {
    var copy = scene
    _ = copy.close(2, 1006)
    guard case .send(let frame, _) = copy.directory.opened(4, query: resume, at: copy.now).first else {
      return 0
    }
    return Int(frame.transactionID?.split(separator: "-").last ?? "") ?? 0
  }

  @Test func withoutASocketIDNothingIsKept() {
    var scene = RoomScene.call()
    _ = scene.open(4)
    _ = scene.ask(4, .create, "/connection/c", token: RoomScene.token(.publisher))
    #expect(scene.close(4, 1006).last == "3: deleted /connection/c by c (networkDisconnected)")
  }

  @Test func nobodyTakesOverAConnectionByReusingItsSocketID() {
    var scene = RoomScene.call()
    #expect(scene.open(4, "socketId=socket-of-b") == [])
    #expect(scene.ask(4, .create, "/connection/c", token: RoomScene.token(.publisher)).count == 5)
    _ = scene.close(2, 1006)
    _ = scene.open(5, resume)
    #expect(scene.ask(1, .signal, "/connection/b/signal/n")[1] == "5: signal /connection/b/signal/n by a")
    #expect(scene.close(4, 1006).contains("1: deleted /connection/c by c (networkDisconnected)"))
  }

  @Test func aSilentConnectionIsLost() {
    var scene = RoomScene.call()
    for _ in 0..<6 {
      #expect(scene.pass(.seconds(10)) == [])
      for socket in [1, 3] { _ = scene.receive(RumorFrame(.ping), on: socket) }
    }
    #expect(scene.pass(.seconds(5)) == ["close 2 4010"])
    for socket in [1, 3] { _ = scene.receive(RumorFrame(.ping), on: socket) }
    #expect(scene.open(4, resume).count == 3)
  }

  @Test func aConnectionThatTakesNothingEndsBeforeItFillsTheMemory() {
    var scene = RoomScene.call { $0.limits.unacknowledgedMessages = 10 }
    acknowledge(upTo: 100, &scene)
    _ = scene.close(2, 1006)
    var lines: [String] = []
    for number in 0..<11 {
      for socket in [1, 3] {
        for id in 1...200 {
          _ = scene.receive(RumorFrame(.status, headers: ["TRANSACTION-ID": "srv-1-\(id)"]), on: socket)
        }
      }
      lines = scene.ask(1, .signal, "/signal/n\(number)")
    }
    #expect(
      lines[1...] == [
        "1: signal /signal/n10 by a", "3: signal /signal/n10 by a", "1: deleted /stream/s/subscriber/x by b",
        "1: deleted /connection/b by b (networkDisconnected)",
        "3: deleted /connection/b by b (networkDisconnected)",
      ])
    #expect(scene.open(4, resume) == ["close 4 1003"])
  }

  @Test func aSocketOnWhichNothingIsAcknowledgedIsClosed() {
    var scene = RoomScene { $0.limits.unacknowledgedBytes = 1000 }
    _ = scene.join(1, "a")
    var lines: [String] = []
    for _ in 0..<10 where !lines.contains("close 1 1011") { lines = scene.ask(1, .signal, "/signal/n") }
    #expect(lines.last == "close 1 1011")
    #expect(scene.directory.sessions == [])
  }
}
