import OpenTokProtocol
import SessionServer
import Testing

/// Signals, moderation, and what the REST API does.
struct RoomSignallingTests {
  @Test func signals() {
    var scene = RoomScene.call()
    #expect(
      scene.ask(1, .signal, "/signal/n", ["type": "chat", "data": "ü\n", "retryAfterReconnect": true]) == [
        "1: 200 t6", #"1: signal /signal/n by a {"type":"chat","data":"ü\n"}"#,
        #"2: signal /signal/n by a {"type":"chat","data":"ü\n"}"#,
        #"3: signal /signal/n by a {"type":"chat","data":"ü\n"}"#,
      ])
    #expect(
      scene.ask(1, .signal, "/connection/b/signal/n", [:]) == [
        "1: 200 t7", "2: signal /connection/b/signal/n by a",
      ])
    #expect(scene.ask(1, .signal, "/connection/z/signal/n", [:]) == ["1: 404 t8 no such connection"])
  }

  @Test(
    arguments: [
      (["type": "a b"], "400"), (["type": 1], "400"), (["type": "ü"], "400"), (["type": "a/b"], "400"),
      (["type": .string(String(repeating: "x", count: 129))], "400"),
      (["type": .string(String(repeating: "x", count: 128))], "200"), (["type": "A-z_0.9~"], "200"),
      (["data": .string(String(repeating: "x", count: 8190))], "200"),
      (["data": .string(String(repeating: "x", count: 8191))], "413"),
      (["data": .string(String(repeating: "ü", count: 8190))], "200"),
      (["data": .string(String(repeating: "€", count: 5460))], "200"),
      (["data": .string(String(repeating: "€", count: 5462))], "413"),
      (["data": ["a": [1, nil]]], "200"),
    ] as [(JSON, String)])
  func signalsHaveLimits(content: JSON, status: String) {
    var scene = RoomScene.call()
    let lines = scene.ask(1, .signal, "/signal/n", content)
    #expect(lines[0].hasPrefix("1: \(status)"))
    #expect(lines.count == (status == "200" ? 4 : 1))
  }

  @Test func signalsHaveARate() {
    var scene = RoomScene.call {
      $0.limits.signalRate = 2
      $0.limits.signalBurst = 3
    }
    let answers = (0..<5).map { _ in scene.ask(1, .signal, "/signal/n")[0] }
    #expect(
      answers == [
        "1: 200 t6", "1: 200 t7", "1: 200 t8", "1: 429 t9 too many requests", "1: 429 t10 too many requests",
      ])
    #expect(scene.ask(2, .signal, "/signal/n")[0] == "2: 200 t11")
    _ = scene.pass(.milliseconds(500))
    #expect((0..<2).map { _ in scene.ask(1, .signal, "/signal/n").count } == [4, 1])
    _ = scene.pass(.seconds(50))
    #expect((0..<4).map { _ in scene.ask(1, .signal, "/signal/n").count } == [4, 4, 4, 1])
  }

  @Test func signalsHaveARateOfBytes() {
    var scene = RoomScene.call {
      $0.limits.signalByteRate = 1000
      $0.limits.signalByteBurst = 3000
    }
    let signal: JSON = ["data": .string(String(repeating: "x", count: 1400))]
    #expect((0..<3).map { _ in scene.ask(1, .signal, "/signal/n", signal).count } == [4, 4, 1])
    _ = scene.pass(.milliseconds(1500))
    #expect((0..<2).map { _ in scene.ask(1, .signal, "/signal/n", signal).count } == [4, 1])
  }

  @Test func requestsHaveARate() {
    var scene = RoomScene.call {
      $0.limits.requestRate = 1
      $0.limits.requestBurst = 3
    }
    // b has subscribed.
    #expect(
      (0..<3).map { _ in scene.ask(2, .delete, "/stream/y")[0].prefix(6) } == ["2: 404", "2: 404", "2: 429"])
  }

  @Test func publisherOnlyMayNotSignal() {
    var scene = RoomScene()
    _ = scene.join(1, "p", .publisherOnly)
    _ = scene.join(2, "v", .subscriber)
    #expect(scene.ask(1, .signal, "/signal/n") == ["1: 403 t3 not permitted"])
    #expect(scene.ask(2, .signal, "/signal/n").count == 3)
  }

  /// The path of the same peer connection is to be renewed, so its names stay.
  @Test func aSubscriberAsksItsPublisherForAnotherOffer() {
    var scene = RoomScene.call()
    let asked = scene.ask(2, .generateOffer, "/stream/s/subscriber/x")
    #expect(asked.count == 2)
    #expect(asked.first == "2: 200 t6")
    #expect(asked.last?.hasPrefix("1: generateoffer /stream/s/subscriber/x by b") == true)
    #expect(scene.ask(1, .generateOffer, "/stream/s/subscriber/x") == ["1: 403 t7 not permitted"])
    #expect(scene.ask(3, .generateOffer, "/stream/s/subscriber/x") == ["3: 403 t8 not permitted"])
    #expect(scene.ask(2, .generateOffer, "/stream/s/subscriber/y") == ["2: 404 t9 no such subscriber"])
    #expect(scene.ask(2, .generateOffer, "/stream/z/subscriber/x") == ["2: 404 t10 no such stream"])
  }

  @Test func onlyModeratorsModerate() {
    var scene = RoomScene.call()
    let mute: JSON = ["reason": "mute", "active": true]
    #expect(scene.ask(2, .delete, "/stream/s") == ["2: 403 t6 not permitted"])
    #expect(scene.ask(2, .delete, "/connection/a") == ["2: 403 t7 not permitted"])
    #expect(scene.ask(2, .delete, "/connection/unknown") == ["2: 403 t8 not permitted"])
    #expect(scene.ask(2, .update, "", mute) == ["2: 403 t9 not permitted"])
    #expect(scene.ask(2, .update, "/stream/s", mute) == ["2: 403 t10 not permitted"])
    #expect(scene.ask(3, .delete, "/connection/unknown") == ["3: 404 t11 no such connection"])
    #expect(scene.ask(3, .update, "/stream/unknown", mute) == ["3: 404 t12 no such stream"])
    #expect(scene.ask(3, .update, "/stream/s", ["active": true]) == ["3: 400 t13 malformed"])
    #expect(scene.ask(3, .update, "", ["active": true]) == ["3: 400 t14 malformed"])
  }

  @Test func forceUnpublish() {
    var scene = RoomScene.call()
    #expect(
      scene.ask(3, .delete, "/stream/s") == [
        "3: 200 t6", "1: deleted /stream/s by a (forceUnpublished)",
        "2: deleted /stream/s by a (forceUnpublished)",
        "3: deleted /stream/s by a (forceUnpublished)",
      ])
    #expect(scene.ask(1, .create, "/stream/s", RoomScene.stream).count == 4)
  }

  @Test func forceDisconnect() {
    var scene = RoomScene.call()
    #expect(
      scene.ask(3, .delete, "/connection/a") == [
        "3: 200 t6", "1: deleted /stream/s by a (forceDisconnected)",
        "2: deleted /stream/s by a (forceDisconnected)",
        "3: deleted /stream/s by a (forceDisconnected)", "1: deleted /connection/a by a (forceDisconnected)",
        "2: deleted /connection/a by a (forceDisconnected)",
        "3: deleted /connection/a by a (forceDisconnected)",
      ])
    #expect(scene.ask(1, .delete, "/stream/s") == ["1: 403 t7 not in the session"])
    #expect(scene.open(4, "socketId=socket-of-a&reconnect=true") == ["close 4 1003"])
    #expect(scene.pass(.milliseconds(200)) == ["close 1 1000"])
    #expect(scene.close(1, 1000) == [])
  }

  @Test func aConnectionMayDeleteItself() {
    var scene = RoomScene.call()
    #expect(
      scene.ask(2, .delete, "/connection/b") == [
        "2: 200 t6", "1: deleted /stream/s/subscriber/x by b",
        "1: deleted /connection/b by b (clientDisconnected)",
        "3: deleted /connection/b by b (clientDisconnected)",
      ])
  }

  @Test func muting() {
    var scene = RoomScene.call()
    _ = scene.ask(2, .create, "/stream/r", RoomScene.stream)
    let on = #"{"reason":"mute","channels":["audio"],"active":true,"locked":false"#
    #expect(
      scene.ask(3, .update, "/stream/s", ["reason": "mute", "active": true, "channels": ["audio"]])
        == ["3: 200 t7"] + (1...3).map { "\($0): update /stream/s by m \(on)}" })
    #expect(
      scene.ask(3, .update, "", ["reason": "mute", "active": true, "exclusion": ["r", "unknown", 1]])
        == ["3: 200 t8"] + (1...3).map { "\($0): update /stream/s by m \(on)}" }
        + (1...3).map { "\($0): update by m \(on),\"exclusion\":[\"r\"]}" })
    #expect(scene.join(4, "c")[0].contains(#""mute":{"active":true,"locked":false,"channels":["audio"]}"#))
    _ = scene.close(4, 1000)
    let off = #"{"reason":"mute","channels":["audio"],"active":false,"locked":false,"exclusion":[]}"#
    #expect(
      scene.ask(3, .update, "", ["reason": "mute", "active": false])
        == ["3: 200 t10"] + (1...3).map { "\($0): update by m \(off)" })
    #expect(scene.directory.state(of: RoomScene.sessionID)?.muteOnEntry == false)
  }

  // MARK: REST

  private func act(_ scene: inout RoomScene, _ action: RoomAction) throws(RoomRefusal) -> [String] {
    scene.lines(try scene.directory.perform(action, in: RoomScene.sessionID, at: scene.now))
  }

  @Test func restSignals() throws {
    var scene = RoomScene.call()
    #expect(
      try act(&scene, .signal(id: "n", content: ["type": "t", "data": "d"], to: nil))
        == (1...3).map { "\($0): signal /signal/n by - {\"type\":\"t\",\"data\":\"d\"}" })
    #expect(
      try act(&scene, .signal(id: "n", content: ["data": "d"], to: "b"))
        == [#"2: signal /connection/b/signal/n by - {"data":"d"}"#])
    #expect(throws: RoomRefusal(404, "no such connection")) {
      try act(&scene, .signal(id: "n", content: [:], to: "z"))
    }
    let long = JSON.string(String(repeating: "x", count: 8191))
    #expect(throws: RoomRefusal(413, "too large")) {
      try act(&scene, .signal(id: "n", content: ["data": long], to: nil))
    }
    #expect(throws: RoomRefusal(400, "malformed")) {
      try act(&scene, .signal(id: "n", content: ["type": "ü"], to: nil))
    }
    #expect(throws: RoomRefusal(404, "no such session")) {
      try scene.directory.perform(.muteAll(active: true, excluding: []), in: "1_none", at: scene.now)
    }
  }

  @Test func restModerates() throws {
    var scene = RoomScene.call()
    #expect(try act(&scene, .mute(stream: "s")).allSatisfy { $0.contains("update /stream/s by - ") })
    #expect(try act(&scene, .muteAll(active: true, excluding: ["s"])).count == 3)
    #expect(
      try act(&scene, .forceUnpublish(stream: "s"))[0] == "1: deleted /stream/s by a (forceUnpublished)")
    #expect(
      try act(&scene, .forceDisconnect(connection: "b")) == [
        "1: deleted /connection/b by b (forceDisconnected)",
        "2: deleted /connection/b by b (forceDisconnected)",
        "3: deleted /connection/b by b (forceDisconnected)",
      ])
    for action in [
      RoomAction.mute(stream: "s"), .forceUnpublish(stream: "s"), .forceDisconnect(connection: "b"),
    ] {
      #expect(throws: RoomRefusal.self) { try act(&scene, action) }
    }
  }

  @Test func archivesAreAnnounced() throws {
    var scene = RoomScene.call()
    #expect(
      try act(&scene, .archiveStarted(id: "A", name: "film"))
        == (1...3).map {
          "\($0): created /archive/A by symphony.test {\"id\":\"A\",\"name\":\"film\",\"status\":\"started\"}"
        } + (1...3).map { "\($0): updated /stream/s by symphony.test {\"archiving\":true}" })
    #expect(throws: RoomRefusal(409, "exists already")) {
      try act(&scene, .archiveStarted(id: "A", name: ""))
    }
    #expect(scene.join(4, "c")[0].contains(#""archive":[{"id":"A","name":"film","status":"started"}]"#))
    #expect(
      scene.ask(4, .create, "/stream/t", RoomScene.stream).filter { $0.hasPrefix("4: updated") }
        == [#"4: updated /stream/t by symphony.test {"archiving":true}"#])
    for socket in 2...4 { _ = scene.close(socket, 1000) }
    #expect(
      try act(&scene, .archiveStopped(id: "A")) == [
        #"1: updated /archive/A by symphony.test {"status":"stopped"}"#,
        #"1: updated /stream/s by symphony.test {"archiving":false}"#,
      ])
    #expect(throws: RoomRefusal(404, "no such resource")) { try act(&scene, .archiveStopped(id: "A")) }
  }

  @Test func aSessionLivesAsLongAsItsArchive() throws {
    var scene = RoomScene.call()
    _ = try act(&scene, .archiveStarted(id: "A", name: ""))
    for socket in 1...3 { _ = scene.close(socket, 1000) }
    #expect(scene.directory.sessions == [RoomScene.sessionID])
    #expect(try act(&scene, .archiveStopped(id: "A")) == [])
    #expect(scene.directory.sessions == [])
  }

  @Test func eventsAreReported() {
    var scene = RoomScene()
    _ = scene.join(1, "a")
    func events(_ outputs: [RoomOutput]) -> [RoomEvent] {
      outputs.compactMap { if case .event(let event) = $0 { event } else { nil } }
    }
    let state = scene.directory.state(of: RoomScene.sessionID)
    #expect(
      events(scene.directory.closed(1, code: 1000, at: scene.now)) == [
        .connectionDestroyed(
          session: RoomScene.sessionID, state!.connections[0], reason: "clientDisconnected")
      ])
  }
}
