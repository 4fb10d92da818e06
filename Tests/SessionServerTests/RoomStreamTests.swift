import OpenTokProtocol
import SessionServer
import Testing

/// Publishing, subscribing, and what publisher and subscriber tell each other.
struct RoomStreamTests {
  let iceAnswer = #"{"content":{"iceServers":[{"url":"stun:s","username":null,"credential":null}]}}"#

  @Test func publish() {
    var scene = RoomScene()
    _ = scene.join(1, "a")
    _ = scene.join(2, "b")
    #expect(
      scene.ask(1, .create, "/stream/s", RoomScene.stream) == [
        "1: 200 t3 \(iceAnswer)", "1: created /stream/s by a", "2: created /stream/s by a",
      ])
    let stream = scene.directory.state(of: RoomScene.sessionID)?.streams.first
    #expect(
      stream
        == StreamInfo(
          id: "s", name: "stream", creationTime: 1_700_000_000_000,
          connection: ConnectionInfo(
            id: "a", creationTime: 1_700_000_000_000, data: "data",
            permissions: [.publish, .subscribe, .signal]),
          channels: [
            ChannelInfo(id: "video1", kind: .video, width: 640, height: 480),
            ChannelInfo(id: "audio1", kind: .audio),
          ]))
    // One who comes later finds it in the state.
    #expect(scene.join(3, "c")[0].contains(#""stream":[{"id":"s","name":"stream""#))
  }

  @Test func publishIsRefused() {
    var scene = RoomScene.call {
      $0.limits.streamsPerConnection = 2
      $0.limits.streamsPerSession = 3
    }
    _ = scene.join(4, "v", .subscriber)
    #expect(scene.ask(4, .create, "/stream/y", RoomScene.stream) == ["4: 403 t7 not permitted"])
    #expect(scene.ask(2, .create, "/stream/s", RoomScene.stream) == ["2: 409 t8 exists already"])
    #expect(scene.ask(2, .create, "/stream/%20", RoomScene.stream) == ["2: 400 t9 malformed"])
    #expect(
      scene.ask(2, .create, "/stream/y", ["name": .string(String(repeating: "x", count: 1025))]) == [
        "2: 400 t10 malformed"
      ])
    #expect(
      scene.ask(2, .create, "/stream/y", ["channel": [["id": "a/b", "type": "audio"]]]) == [
        "2: 400 t11 malformed"
      ])
    #expect(scene.ask(2, .create, "/stream/y", [1]) == ["2: 400 t12 malformed"])
    #expect(scene.ask(1, .create, "/stream/y", RoomScene.stream).count == 5)
    #expect(scene.ask(1, .create, "/stream/z", RoomScene.stream) == ["1: 409 t14 streamLimitExceeded"])
    #expect(scene.ask(2, .create, "/stream/z", [:]).count == 5)
    #expect(scene.ask(3, .create, "/stream/w", [:]) == ["3: 409 t16 streamLimitExceeded"])
  }

  @Test func unpublish() {
    var scene = RoomScene.call()
    #expect(
      scene.ask(1, .delete, "/stream/s", nil) == [
        "1: 200 t6", "1: deleted /stream/s by a (clientDisconnected)",
        "2: deleted /stream/s by a (clientDisconnected)",
        "3: deleted /stream/s by a (clientDisconnected)",
      ])
    #expect(scene.ask(1, .delete, "/stream/s") == ["1: 404 t7 no such stream"])
    // The native SDK ends its subscription to a stream that is gone.
    #expect(scene.ask(2, .delete, "/stream/s/subscriber/x", nil) == ["2: 200 t8"])
  }

  @Test func channelsChange() {
    var scene = RoomScene.call()
    #expect(
      scene.ask(1, .update, "/stream/s/channel/audio1", ["active": false, "activeReason": "auto"]) == [
        "1: 200 t6", #"1: updated /stream/s/channel/audio1 by a {"active":false}"#,
        #"2: updated /stream/s/channel/audio1 by a {"active":false}"#,
        #"3: updated /stream/s/channel/audio1 by a {"active":false}"#,
      ])
    let wild: JSON = [
      "width": 1280, "height": -1, "orientation": 1e300, "frameRate": "30", "source": 1,
      "disableWarning": true,
      "congestionLevel": 3,
    ]
    #expect(
      scene.ask(1, .update, "/stream/s/channel/video1", wild)[1]
        == #"1: updated /stream/s/channel/video1 by a {"width":1280,"disableWarning":true}"#)
    #expect(scene.ask(1, .update, "/stream/s/channel/video1", ["congestionLevel": 3]) == ["1: 200 t8"])
    let channels = scene.directory.state(of: RoomScene.sessionID)?.streams[0].channels
    #expect(
      channels == [
        ChannelInfo(id: "video1", kind: .video, width: 1280, height: 480),
        ChannelInfo(id: "audio1", kind: .audio, active: false),
      ])
    #expect(
      scene.ask(2, .update, "/stream/s/channel/audio1", ["active": true]) == ["2: 403 t9 not permitted"])
    #expect(
      scene.ask(3, .update, "/stream/s/channel/audio1", ["active": true]) == ["3: 403 t10 not permitted"])
    #expect(
      scene.ask(1, .update, "/stream/s/channel/audio2", ["active": true]) == ["1: 404 t11 no such channel"])
    #expect(
      scene.ask(1, .update, "/stream/y/channel/audio1", ["active": true]) == ["1: 404 t12 no such stream"])
  }

  @Test func subscribe() {
    var scene = RoomScene.call()
    #expect(
      scene.ask(3, .create, "/stream/s/subscriber/y", ["id": "y", "connection": "m"]) == [
        "3: 200 t6 \(iceAnswer)", #"1: created /stream/s/subscriber/y by m {"id":"y","connection":"m"}"#,
        #"1: generateoffer /stream/s/subscriber/y by m {"peerId":"peer-1-2","sourceStreamId":"P2P","simulcastEnabled":false}"#,
      ])
    #expect(
      scene.ask(3, .update, "/stream/s/subscriber/y/channel/video1", ["active": false]) == ["3: 200 t7"])
    #expect(scene.ask(3, .update, "/stream/s/subscriber/y", [:]) == ["3: 200 t8"])
    #expect(scene.ask(2, .update, "/stream/s/subscriber/y", [:]) == ["2: 403 t9 not permitted"])
    #expect(scene.ask(2, .delete, "/stream/s/subscriber/y", [:]) == ["2: 403 t10 not permitted"])
    #expect(
      scene.ask(3, .delete, "/stream/s/subscriber/y", [:]) == [
        "3: 200 t11", "1: deleted /stream/s/subscriber/y by m",
      ])
    #expect(scene.ask(3, .delete, "/stream/s/subscriber/y", [:]) == ["3: 404 t12 no such subscriber"])
    #expect(scene.ask(3, .update, "/stream/s/subscriber/y", [:]) == ["3: 404 t13 no such subscriber"])
  }

  @Test func subscribeIsRefused() {
    var scene = RoomScene.call { $0.limits.subscribersPerConnection = 1 }
    _ = scene.join(4, "p", .publisherOnly)
    #expect(scene.ask(4, .create, "/stream/s/subscriber/y") == ["4: 403 t7 not permitted"])
    #expect(scene.ask(3, .create, "/stream/none/subscriber/y") == ["3: 404 t8 no such stream"])
    #expect(scene.ask(3, .create, "/stream/s/subscriber/x") == ["3: 409 t9 exists already"])
    #expect(scene.ask(3, .create, "/stream/s/subscriber/a b") == ["3: 400 t10 malformed"])
    #expect(scene.ask(2, .create, "/stream/s/subscriber/y") == ["2: 409 t11 streamLimitExceeded"])
  }

  @Test func offersAnswersAndCandidatesGoToTheOtherSide() {
    var scene = RoomScene.call()
    let path = "/stream/s/subscriber/x"
    #expect(
      scene.ask(1, .offer, path, ["peerId": "wrong", "sdp": "v=0\r\n", "sourceStreamId": "MANTIS"]) == [
        "1: 200 t6", #"2: offer \#(path) by a {"peerId":"peer-1-1","sdp":"v=0\r\n","sourceStreamId":"P2P"}"#,
      ])
    // The native SDK leaves the peer id out, web SDK 2.7 both.
    #expect(
      scene.ask(2, .answer, path, ["sdp": "v=0"]) == [
        "2: 200 t7", #"1: answer \#(path) by b {"sdp":"v=0","peerId":"peer-1-1","sourceStreamId":"P2P"}"#,
      ])
    #expect(scene.ask(2, .candidate, path, ["candidate": "c"])[1].hasPrefix("1: candidate \(path) by b"))
    #expect(scene.ask(1, .candidate, path, ["candidate": "c"])[1].hasPrefix("2: candidate \(path) by a"))
    #expect(scene.ask(2, .offer, path, ["sdp": "v=0"])[1].hasPrefix("1: offer \(path) by b"))
    #expect(scene.ask(1, .prAnswer, path, ["sdp": "v=0"])[1].hasPrefix("2: pranswer \(path) by a"))
    #expect(scene.ask(3, .offer, path, ["sdp": "v=0"]) == ["3: 403 t12 not permitted"])
    #expect(scene.ask(1, .offer, "/stream/s/subscriber/y", [:]) == ["1: 404 t13 no such subscriber"])
    #expect(scene.ask(1, .offer, "/stream/y/subscriber/x", [:]) == ["1: 404 t14 no such stream"])
    #expect(scene.ask(1, .offer, "/stream/s", [:]) == ["1: 404 t15 no such resource"])
  }

  @Test func whatIsRelayedHasLimits() {
    var scene = RoomScene.call()
    let path = "/stream/s/subscriber/x"
    func text(_ count: Int) -> JSON { .string(String(repeating: "x", count: count)) }
    #expect(scene.ask(2, .candidate, path, ["candidate": text(4080)]).count == 2)
    #expect(scene.ask(2, .candidate, path, ["candidate": text(4096)]) == ["2: 413 t7 too large"])
    #expect(scene.ask(2, .answer, path, ["sdp": text(131_000)]).count == 2)
    #expect(scene.ask(2, .answer, path, ["sdp": text(131_072)]) == ["2: 413 t9 too large"])
  }

  @Test func whoSendsTooMuchIsRefusedAndTheRecipientStays() {
    var scene = RoomScene.call { $0.limits.unacknowledgedBytes = 40_000 }
    let candidate: JSON = ["candidate": .string(String(repeating: "x", count: 4000))]
    let answers = (0..<20).map { _ in scene.ask(2, .candidate, "/stream/s/subscriber/x", candidate) }
    #expect(answers[2].count == 2)
    #expect(answers[19] == ["2: 429 t25 too many requests"])
    #expect(scene.ask(2, .signal, "/connection/a/signal/n") == ["2: 429 t26 too many requests"])
    #expect(scene.ask(3, .create, "/stream/s/subscriber/y") == ["3: 429 t27 too many requests"])
    for number in 1...100 {
      _ = scene.receive(RumorFrame(.status, headers: ["TRANSACTION-ID": "srv-1-\(number)"]), on: 1)
    }
    #expect(scene.ask(2, .candidate, "/stream/s/subscriber/x", candidate).count == 2)
    #expect(scene.ask(2, .signal, "/connection/a/signal/n").count == 2)
  }

  @Test func theStateHasALimit() throws {
    var scene = RoomScene.call { $0.limits.stateBytes = 2500 }
    // Names count as they are written: each of these characters takes six bytes.
    #expect(
      scene.ask(1, .create, "/stream/t", ["name": .string(String(repeating: "\u{1}", count: 171))]) == [
        "1: 400 t6 malformed"
      ])
    let long: JSON = ["name": .string(String(repeating: "\u{1}", count: 170))]
    #expect(scene.ask(1, .create, "/stream/t", long).count == 4)
    #expect(scene.ask(1, .create, "/stream/u", long) == ["1: 409 t8 streamLimitExceeded"])
    let source: JSON = ["source": .string(String(repeating: "\u{1}", count: 64))]
    #expect(scene.ask(1, .update, "/stream/s/channel/video1", source).count == 4)
    #expect(scene.ask(1, .update, "/stream/s/channel/audio1", source) == ["1: 413 t10 too large"])
    var answer = ""
    for number in 4..<12 where !answer.contains("409") {
      answer = scene.join(number, "c\(number)")[0]
      #expect(number > 4 || answer.hasPrefix("4: 200"))
    }
    #expect(answer.hasSuffix("connectionLimitExceeded"))
    let state = try #require(scene.directory.state(of: RoomScene.sessionID))
    #expect((2450...2800).contains(state.json.serialized().count))
    #expect(state.streams.map(\.id) == ["s", "t"])
    #expect(state.streams[0].channels.map(\.source) == [source["source"]?.stringValue, nil])
  }

  @Test func aSocketTakesTheStateAndAllThatIsSentAgain() {
    let limits = RoomConfiguration.Limits()
    let kept = limits.unacknowledgedBytes + limits.unacknowledgedMessages * WebSocket.bytesAroundMessage
    #expect(limits.stateBytes + 2 * kept < WebServer.Limits().queuedBytes)
    #expect(limits.stateBytes < 2 << 20)
    #expect(limits.stateBytes < RumorFrame.maximumServerSize)
  }

  @Test func theStateIsNotForEverAsked() {
    var scene = RoomScene.call {
      $0.limits.stateRate = 5
      $0.limits.stateBurst = 4
    }
    #expect((0..<2).map { _ in scene.ask(2, .read, "") }.allSatisfy { $0 == ["2: read by -"] })
    for _ in 0..<2 { #expect(scene.ask(2, .create, "/connection/b")[0].hasPrefix("2: 200")) }
    #expect(scene.ask(2, .read, "") == ["2: 429 t10 too many requests"])
    #expect(scene.ask(2, .create, "/connection/b") == ["2: 429 t11 too many requests"])
    #expect(scene.ask(1, .read, "") == ["1: read by -"])
    _ = scene.pass(.milliseconds(200))
    #expect(scene.ask(2, .read, "") == ["2: read by -"])
  }

  @Test func oneConnectionHasFewSubscribersToAStream() {
    var scene = RoomScene.call()
    for id in ["y", "z", "w"] { #expect(scene.ask(2, .create, "/stream/s/subscriber/\(id)").count == 3) }
    #expect(scene.ask(2, .create, "/stream/s/subscriber/v") == ["2: 409 t9 streamLimitExceeded"])
    #expect(scene.ask(3, .create, "/stream/s/subscriber/v").count == 3)
    _ = scene.ask(2, .delete, "/stream/s/subscriber/x")
    #expect(scene.ask(2, .create, "/stream/s/subscriber/u").count == 3)
  }

  @Test func candidatesUnderTheNameOfAnEndedSubscriptionReachItsSuccessor() {
    var scene = RoomScene.call()
    _ = scene.ask(2, .delete, "/stream/s/subscriber/x")
    #expect(scene.ask(1, .candidate, "/stream/s/subscriber/x") == ["1: 404 t7 no such subscriber"])
    _ = scene.ask(2, .create, "/stream/s/subscriber/y")
    #expect(
      scene.ask(1, .candidate, "/stream/s/subscriber/x") == [
        "1: 200 t9",
        #"2: candidate /stream/s/subscriber/y by a {"peerId":"peer-1-2","sourceStreamId":"P2P"}"#,
      ])
    #expect(scene.ask(1, .offer, "/stream/s/subscriber/x") == ["1: 404 t10 no such subscriber"])
  }

  @Test func oneMaySubscribeToItself() {
    var scene = RoomScene()
    _ = scene.join(1, "a")
    _ = scene.ask(1, .create, "/stream/s", RoomScene.stream)
    #expect(scene.ask(1, .create, "/stream/s/subscriber/x").count == 3)
    #expect(scene.ask(1, .offer, "/stream/s/subscriber/x", ["sdp": "v=0"])[1].hasPrefix("1: offer"))
    #expect(scene.ask(1, .answer, "/stream/s/subscriber/x", ["sdp": "v=0"])[1].hasPrefix("1: answer"))
    #expect(scene.close(1, 1000) == [])
  }

  @Test func captionsReachSubscribers() {
    var scene = RoomScene.call()
    let path = "/stream/s/channel/audio1/data/1"
    #expect(
      scene.ask(1, .data, path, ["type": "data", "data": "{}"]) == [
        "1: 200 t6", #"2: data \#(path) by a {"type":"data","data":"{}"}"#,
      ])
    #expect(scene.ask(2, .data, path, [:]) == ["2: 403 t7 not permitted"])
    let long = JSON.string(String(repeating: "x", count: 8192))
    #expect(scene.ask(1, .data, path, ["data": long]) == ["1: 413 t8 too large"])
    #expect(scene.ask(1, .data, "/stream/s/channel/c/data/1", [:]) == ["1: 404 t9 no such channel"])
  }
}
