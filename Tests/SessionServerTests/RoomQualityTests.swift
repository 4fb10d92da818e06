import OpenTokProtocol
import SessionServer
import Testing

/// A publisher takes a subscriber's picture away for lack of bandwidth, and the subscriber is told as clients
/// expect it of OpenTok.
struct RoomQualityTests {
  private static let path = "/stream/s/subscriber/x/channel/video1"

  @Test func theSubscriberIsToldByTheServer() {
    var scene = RoomScene.call()
    #expect(
      scene.ask(1, .update, Self.path, ["active": false, "activeReason": "quality"]) == [
        "1: 200 t6", #"2: update \#(Self.path) by symphony.test {"active":false}"#,
      ])
    #expect(
      scene.ask(1, .update, Self.path, ["active": true, "activeReason": "quality", "more": "x"]) == [
        "1: 200 t7", #"2: update \#(Self.path) by symphony.test {"active":true}"#,
      ])
    #expect(
      scene.ask(1, .update, Self.path, ["disableWarning": true, "activeReason": "quality"]) == [
        "1: 200 t8", #"2: updated /stream/s/channel/video1 by symphony.test {"disableWarning":true}"#,
      ])
    #expect(scene.ask(1, .update, Self.path, ["activeReason": "quality"]) == ["1: 200 t9"])
  }

  @Test func onlyThePublisherMayAndOnlyOfWhatThereIs() {
    var scene = RoomScene.call()
    let content: JSON = ["active": false, "activeReason": "quality"]
    for socket in [2, 3] as [RoomSocket] {
      #expect(scene.ask(socket, .update, Self.path, content).first?.contains("403") == true)
    }
    for path in ["/stream/s/subscriber/y/channel/video1", "/stream/s/subscriber/x/channel/video2"] {
      let lines = scene.ask(1, .update, path, content)
      #expect(lines.count == 1 && lines[0].contains("404"), "\(lines)")
    }
    // What a subscriber wants for itself, with whatever reason its client gives, is told nobody.
    #expect(scene.ask(2, .update, Self.path, ["active": false, "activeReason": "auto"]).count == 1)
    #expect(scene.ask(1, .update, Self.path, ["active": false]).first?.contains("403") == true)
  }

  @Test func whoFollowsPreferencesIsToldOfThem() {
    var scene = RoomScene()
    _ = scene.join(1, "a", content: ["capabilities": ["forceMute", "subscriberPreferences"]])
    _ = scene.join(2, "b")
    _ = scene.ask(1, .create, "/stream/s", RoomScene.stream)
    _ = scene.ask(2, .create, "/stream/s/subscriber/x", ["id": "x"])
    func told(_ content: JSON, path: String = Self.path, by socket: RoomSocket = 2) -> [String] {
      scene.ask(socket, .update, path, content).filter { !$0.contains(" 200 ") }
    }
    #expect(
      told(["preferredWidth": 160, "preferredHeight": 120, "active": true]) == [
        #"1: update \#(Self.path) by b {"preferredWidth":160,"preferredHeight":120}"#
      ])
    #expect(
      told(["restrictFrameRate": true]) == [#"1: update \#(Self.path) by b {"restrictFrameRate":true}"#])
    // Nothing but numbers that can be some, and only of one's own subscription.
    #expect(told(["preferredFrameRate": -1, "preferredWidth": "x", "restrictFrameRate": .null]) == [])
    #expect(told(["preferredFrameRate": 1e300, "active": false]) == [])
    #expect(told(["preferredFrameRate": 5], path: "/stream/s/subscriber/x/channel/video2") == [])
    #expect(told(["preferredFrameRate": 5], by: 1).first?.contains("403") == true)
  }

  @Test func othersAreNotToldOfPreferences() {
    var scene = RoomScene.call()
    #expect(scene.ask(2, .update, Self.path, ["preferredFrameRate": 5]).count == 1)
  }
}
