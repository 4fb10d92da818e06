import SessionServer
import TestSupport
import Testing

/// Recorded clients of four versions, replayed into our rooms; see `RoomReplay` for what may differ.
struct RoomReplayTests {
  @Test(arguments: try Trace.names())
  func answersLikeTheRecordedServer(name: String) throws {
    var replay = RoomReplay(try Trace(name: name))
    try replay.run()
    #expect(Set(replay.ours.keys) == Set(replay.recorded.keys))
    for (connection, recorded) in replay.recorded {
      let ours = replay.ours[connection] ?? []
      for (index, pair) in zip(recorded, ours).enumerated() where pair.0 != pair.1 {
        Issue.record("\(name), \(connection), frame \(index): recorded \(pair.0), ours \(pair.1)")
        break
      }
      #expect(ours.count == recorded.count, "\(name), \(connection)")
    }
    #expect(replay.ourCloses == replay.recordedCloses)
    for (uri, peers) in replay.peers { #expect(peers.count == 1, "\(uri)") }
    #expect(Set(replay.peers.values.flatMap { $0 }).count == replay.peers.count)
    #expect(replay.endedWithLeave.allSatisfy { replay.peers[$0] != nil })
    #expect(replay.directory.sessions == [])
    #expect(replay.directory.socketCount == 0)
  }
}
