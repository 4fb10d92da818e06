import Base
import OpenTokProtocol
import TestSupport
import Testing

@testable import SessionServer

@Suite struct HiddenMemberTests {
  /// a publishes s on socket 1, b is on 2, m on 3; the recorder r on 4.
  private func recordedCall(
    _ change: (inout RoomConfiguration) -> Void = { _ in }
  ) -> (scene: RoomScene, joining: [String]) {
    var scene = RoomScene.call(change)
    var joining = scene.open(4, "socketId=socket-of-r")
    joining += scene.ask(4, .create, "/connection/r", token: scene.archiverToken)
    return (scene, joining)
  }

  @Test func nobodyHearsOfARecorder() throws {
    var (scene, joining) = recordedCall()
    // Its own coming and what is there; nothing on 1, 2 and 3.
    #expect(joining.count == 2)
    #expect(joining[0].hasPrefix("4: 200"))
    #expect(joining[0].contains(#""id":"s""#))
    #expect(joining[1] == "4: created /connection/r by symphony.test")
    let state = try #require(scene.directory.state(of: RoomScene.sessionID))
    #expect(state.connections.map(\.id) == ["a", "b", "m"])
    #expect(scene.directory.connectionCount == 3)
    #expect(scene.close(4, 1000) == [])
    #expect(scene.directory.connectionCount == 3)
  }

  @Test func aRecorderSubscribesInTheServersName() {
    var (scene, _) = recordedCall()
    let subscribed = scene.ask(4, .create, "/stream/s/subscriber/y", ["id": "y"])
    #expect(subscribed.count == 3)
    #expect(subscribed[1] == #"1: created /stream/s/subscriber/y by symphony.test {"id":"y"}"#)
    #expect(subscribed[2].hasPrefix("1: generateoffer /stream/s/subscriber/y by symphony.test"))
    let offered = scene.ask(1, .offer, "/stream/s/subscriber/y", ["sdp": "v=0"])
    #expect(offered.last?.hasPrefix("4: offer /stream/s/subscriber/y by a") == true)
    let answered = scene.ask(4, .answer, "/stream/s/subscriber/y", ["sdp": "v=0"])
    #expect(answered.last?.hasPrefix("1: answer /stream/s/subscriber/y by symphony.test") == true)
    // The publisher ends its peer connection, also when the recorder just goes away.
    #expect(scene.close(4, 1000) == ["1: deleted /stream/s/subscriber/y by symphony.test"])
  }

  @Test func aRecorderMayNothingElse() {
    var (scene, _) = recordedCall()
    #expect(scene.ask(4, .create, "/stream/z", RoomScene.stream).first?.hasPrefix("4: 403") == true)
    #expect(scene.ask(4, .signal, "/signal/n", ["data": "x"]).first?.hasPrefix("4: 403") == true)
    #expect(scene.ask(4, .delete, "/connection/a").first?.hasPrefix("4: 403") == true)
    #expect(scene.ask(3, .delete, "/connection/r").first?.hasPrefix("3: 404") == true, "nor is it found")
  }

  @Test func aRecorderTakesNobodysPlace() {
    var (scene, joining) = recordedCall { $0.limits.connectionsPerSession = 3 }
    #expect(joining.count == 2)
    #expect(scene.join(5, "d").last?.contains("connectionLimitExceeded") == true)
  }

  @Test func onlyTheServerMakesRecorders() {
    var scene = RoomScene.call()
    let other = ArchiverKey().token(apiKey: "100", sessionID: RoomScene.sessionID, now: 1_700_000_000)
    _ = scene.open(4)
    #expect(
      scene.ask(4, .create, "/connection/r", token: other).first?.hasSuffix("invalid token") == true)
    // A token of the recorder's opens no other session.
    #expect(
      scene.ask(4, .create, "/connection/r", token: scene.archiverToken, session: "1_other").first?
        .hasSuffix("invalid token") == true)
  }

  @Test(arguments: ["127.0.0.1", "0.0.0.0"])
  func aRecorderComesStraightToTheServer(host: String) async throws {
    try await withSessionServer(configure: {
      $0.host = host
      $0.isOpen = true
      $0.publicURL = "https://call.example"
    }) { server in
      let session = await server.project.sessionID(ofRoom: "a").text
      let credentials = await server.archiverCredentials(session)
      #expect(credentials.apiURL == "http://127.0.0.1:\(server.port)")
      #expect(credentials.certificateFile == nil)
      let info = try server.json(
        "GET", "/session/\(session)?extended=true",
        headers: ["X-OPENTOK-AUTH": credentials.token])
      #expect(info[0]?["messaging_url"] == "ws://127.0.0.1/rumorwebsocketsv2")
      #expect(!"\(credentials)".contains(credentials.token))
    }
  }
}

extension RoomScene {
  var archiverToken: String {
    directory.configuration.archiverKey.token(
      apiKey: "100", sessionID: Self.sessionID, now: now.unixMilliseconds / 1000)
  }
}
