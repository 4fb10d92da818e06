import OpenTokProtocol
import Testing

@testable import OTKit
@testable import Participant

@Suite struct ParticipantRollTests {
  private func connection(_ id: String, data: String = "") -> Connection {
    Connection(ConnectionInfo(id: id, creationTime: 0, data: data))
  }

  private func stream(_ id: String, _ name: String, of connection: String, hasAudio: Bool = true)
    -> OTKit.Stream
  {
    OTKit.Stream(
      StreamInfo(
        id: id, name: name, creationTime: 0, connection: ConnectionInfo(id: connection, creationTime: 0),
        channels: [ChannelInfo(id: "audio1", kind: .audio, active: hasAudio)]))
  }

  @Test func itFollowsTheEvents() {
    var roll = ParticipantRoll()
    func update(_ event: SessionEvent) { _ = roll.update(event) }
    update(.connectionCreated(connection("a", data: "guest")))
    update(.sessionConnected(sessionID: "s", connection("me")))
    update(.connectionCreated(connection("me")))
    update(.publisherStreamCreated(stream("own", "Ada", of: "me")))
    update(.streamCreated(stream("1", "Bob", of: "b")))
    #expect(roll.entries.map(\.connection.id) == ["a", "me", "b"])
    #expect(roll.entries.map(\.name) == ["guest", "Ada", "Bob"])
    #expect(roll.entries.map(\.isOwn) == [false, true, false])
    update(.streamPropertyChanged(stream("1", "Bob", of: "b", hasAudio: false), .hasAudio(true, false)))
    #expect(roll.entries[2].streams.map(\.hasAudio) == [false])
    update(.streamDestroyed(stream("1", "Bob", of: "b"), .forceUnpublished))
    #expect(roll.entries[2].streams.isEmpty)
    update(.connectionDestroyed(connection("b"), .forceDisconnected))
    #expect(roll.entries.map(\.connection.id) == ["a", "me"])
    var roll2 = roll
    #expect(!roll2.update(.sessionReconnecting(.silence)) && roll2.entries == roll.entries)
    update(.sessionDisconnected(.clientDisconnected, nil))
    #expect(roll.entries.isEmpty)
  }

  @Test func anIdIsMeantBeforeAName() {
    var roll = ParticipantRoll()
    // Who takes another's id for a name is not meant by it.
    for event: SessionEvent in [
      .streamCreated(stream("1", "b", of: "a")), .streamCreated(stream("2", "1", of: "b")),
      .streamCreated(stream("3", "Bob", of: "c")), .streamCreated(stream("4", "Bob", of: "d")),
      .connectionCreated(connection("e", data: "Bob")), .connectionCreated(connection("f")),
    ] {
      _ = roll.update(event)
    }
    func meant(_ who: String) -> [String] { roll.entries(of: who).map(\.connection.id) }
    #expect(meant("b") == ["b"])
    #expect(meant("1") == ["a"])
    #expect(meant("Bob") == ["c", "d", "e"])
    #expect(meant("") == [] && meant("nobody") == [])
  }
}
