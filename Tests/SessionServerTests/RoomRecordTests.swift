import OpenTokProtocol
import SessionServer
import Testing

/// Sessions that go on in another process.
struct RoomRecordTests {
  /// What a server that starts now makes of what the scene's server has written down.
  private func restart(_ scene: RoomScene) -> (RoomScene, [String]) {
    var dead = scene
    let records = dead.directory.drainRecords().compactMap(\.record)
    // Through text, as in a file.
    let read = records.compactMap { try? JSON(parsing: $0.serialized()) }
    var scene = RoomScene()
    scene.now = dead.now
    let lines = scene.lines(scene.directory.restore(read, at: scene.now))
    return (scene, lines)
  }

  private func resume(_ id: String) -> String { "socketId=socket-of-\(id)&reconnect=true&attempt=2" }

  @Test func whoComesBackGoesOnWithStreamsAndSubscriptions() throws {
    let before = RoomScene.call()
    var (scene, lines) = restart(before)
    #expect(lines == [])
    #expect(scene.directory.state(of: RoomScene.sessionID) == before.directory.state(of: RoomScene.sessionID))
    for (socket, id) in [(11, "a"), (12, "b"), (13, "m")] { #expect(scene.open(socket, resume(id)) == []) }
    // The peer connection of a and b still has a name for both.
    #expect(
      scene.ask(11, .offer, "/stream/s/subscriber/x", ["sdp": "v=0"])[1].hasPrefix(
        "12: offer /stream/s/subscriber/x by a"))
    #expect(scene.ask(13, .delete, "/stream/s").contains("11: deleted /stream/s by a (forceUnpublished)"))
  }

  @Test func idsMadeHereAreNewToThoseWhoWereThere() {
    var (scene, _) = restart(RoomScene.call())
    #expect(scene.open(12, resume("b")) == [])
    let message = RaptorMessage(
      .signal, RaptorURI(partner: "100", session: RoomScene.sessionID), content: [:])
    let signal = try? scene.directory.perform(
      .signal(id: "n", content: message.content, to: "b"), in: RoomScene.sessionID, at: scene.now)
    guard case .send(let frame, to: 12)? = signal?.first else {
      Issue.record("no signal came")
      return
    }
    #expect(frame.transactionID == "srv-2-1")
  }

  @Test func muteOnEntryAndLayoutClassesStay() throws {
    var before = RoomScene.call()
    _ = before.ask(
      3, .update, "", ["reason": "mute", "channels": ["audio"], "active": true, "exclusion": []])
    let classes = ["s": ["focus", "full"]]
    _ = try before.directory.perform(.setLayoutClasses(classes), in: RoomScene.sessionID, at: before.now)
    let (scene, _) = restart(before)
    #expect(scene.directory.state(of: RoomScene.sessionID)?.muteOnEntry == true)
    #expect(scene.directory.layoutClasses(of: RoomScene.sessionID) == classes)
  }

  @Test func whoDoesNotComeBackIsGoneAfterTheGracePeriod() {
    var (scene, _) = restart(RoomScene.call())
    #expect(scene.open(12, resume("b")) == [])
    #expect(scene.pass(.seconds(19)) == [])
    #expect(
      scene.pass(.seconds(1)) == [
        "12: deleted /stream/s by a (networkDisconnected)",
        "12: deleted /connection/a by a (networkDisconnected)",
        "12: deleted /connection/m by m (networkDisconnected)",
      ])
    #expect(scene.directory.connectionCount == 1)
  }

  @Test func recordingsHaveDiedWithTheServer() throws {
    var before = RoomScene.call()
    _ = try before.directory.perform(
      .archiveStarted(id: "film", name: "f"), in: RoomScene.sessionID, at: before.now)
    var (scene, _) = restart(before)
    #expect(scene.directory.state(of: RoomScene.sessionID)?.archives == [])
    #expect(
      scene.open(12, resume("b")) == [
        #"12: updated /archive/film by symphony.test {"status":"stopped"}"#,
        #"12: updated /stream/s by symphony.test {"archiving":false}"#,
      ])
  }

  @Test func whoCannotBeNamedIsGoneAtOnce() {
    var before = RoomScene()
    _ = before.join(1, "a")
    _ = before.open(2)
    _ = before.ask(2, .create, "/connection/nobody", token: RoomScene.token(.publisher))
    let (scene, _) = restart(before)
    #expect(scene.directory.state(of: RoomScene.sessionID)?.connections.map(\.id) == ["a"])
  }

  @Test func aSessionThatIsOverLeavesNothing() {
    var scene = RoomScene()
    #expect(!scene.directory.hasChanges)
    _ = scene.join(1, "a")
    #expect(scene.directory.drainRecords().map { $0.record == nil } == [false])
    #expect(!scene.directory.hasChanges)
    // Messages alone are not kept.
    _ = scene.ask(1, .signal, "/signal/n")
    #expect(!scene.directory.hasChanges)
    _ = scene.close(1, 1000)
    #expect(scene.directory.drainRecords().map { $0.record == nil } == [true])
  }

  @Test(arguments: [
    "{}", "[]", #"{"session":"x"}"#, #"{"session":5,"generation":-1}"#,
    #"{"session":"\#(RoomScene.sessionID)","generation":9007199254740993,"connections":[{"id":"a"}]}"#,
    #"{"session":"\#(RoomScene.sessionID)","connections":[{"socketId":"s"},5],"streams":[{},[]]}"#,
  ]) func whatIsNoRecordIsNoSession(text: String) throws {
    var scene = RoomScene()
    let lines = scene.lines(scene.directory.restore([try JSON(parsing: [UInt8](text.utf8))], at: scene.now))
    #expect(lines == [])
    #expect(scene.directory.sessions == [])
    #expect(scene.join(1, "a").count == 2)
  }

  @Test func aTokensLayoutClassesAreThoseOfItsStreams() {
    var scene = RoomScene()
    let token = Token(
      apiKey: "100", sessionID: RoomScene.sessionID, createTime: 1_699_999_990, expireTime: 1_700_003_600,
      nonce: "1", initialLayoutClassList: "focus  full"
    ).signed(secret: "secret")
    _ = scene.open(1) + scene.ask(1, .create, "/connection/a", token: token)
    #expect(scene.ask(1, .create, "/stream/s", RoomScene.stream).first?.hasPrefix("1: 200") == true)
    #expect(scene.directory.layoutClasses(of: RoomScene.sessionID) == ["s": ["focus", "full"]])
    #expect(scene.ask(1, .delete, "/stream/s").first == "1: 200 t3")
    #expect(scene.directory.layoutClasses(of: RoomScene.sessionID) == [:])
  }
}
