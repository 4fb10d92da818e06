import Base
import Glibc
import OpenTokProtocol
import TestSupport
import Testing

@testable import SessionServer

/// A server that goes away and another one in its place, over real sockets.
@Suite struct RestartTests {
  private final class Asked: Sendable {
    let answer = Lock<JSON?>(nil)
  }

  private func withKeptSessions(
    _ directory: borrowing TemporaryDirectory, restarts: Bool = true, key: String = "100",
    recorders: FakeRecorders? = nil,
    _ body: (SessionServer) async throws -> Void
  ) async throws {
    var configuration = SessionServer.Configuration()
    configuration.port = 0
    configuration.apiKey = key
    configuration.apiSecret = "test-secret"
    configuration.stateDirectory = directory.path
    configuration.keepsSessions = true
    configuration.recorders = recorders?.factory
    configuration.gracePeriod = .seconds(600)
    let server = try await SessionServer.start(configuration)
    do {
      try await body(server)
    } catch {
      await server.stop()
      throw error
    }
    await server.stop(restarts: restarts)
  }

  @Test func clientsComeBackToTheirSession() async throws {
    let directory = TemporaryDirectory()
    var clients: [SignallingClient] = []
    try await withKeptSessions(directory) { server in
      let anna = try SignallingClient(server, query: "role=moderator", id: "anna")
      let bert = try SignallingClient(server, id: "bert")
      for client in [anna, bert] { try client.join() }
      #expect(try anna.publish("stream-of-anna").status == 200)
      let muted = try anna.request(
        RaptorMessage(.update, anna.base, content: ["reason": "mute", "active": true]))
      #expect(muted.status == 200)
      clients = [anna, bert]
    }
    for client in clients { #expect(try client.closeCode() == 1012) }
    try await withKeptSessions(directory) { server in
      for client in clients { try client.resume(at: server.port) }
      let session = clients[0].base.session
      let streams = try server.json(
        "GET", "/v2/project/100/session/\(session)/stream", headers: ["X-TB-PARTNER-AUTH": "100:test-secret"])
      #expect(streams["items"]?[0]?["id"] == "stream-of-anna")
      // Who comes now finds everybody, and is muted.
      let carl = try SignallingClient(server, id: "carl")
      let state = try carl.join()
      #expect(state["connection"]?.arrayValue?.map { $0["id"] } == ["anna", "bert", "carl"])
      #expect(state["mute"]?["active"] == true)
      let signal = RaptorURI.Resource.signal(id: "n", to: nil)
      _ = try clients[0].request(RaptorMessage(.signal, carl.base.with(signal), content: ["data": "hello"]))
      #expect(try clients[1].next(.signal).content["data"] == "hello")
      #expect(try carl.next(.signal).content["data"] == "hello")
    }
  }

  @Test func aServerThatEndsForGoodLeavesNothing() async throws {
    let directory = TemporaryDirectory()
    var anna: SignallingClient?
    try await withKeptSessions(directory, restarts: false) { server in
      anna = try SignallingClient(server, id: "anna")
      try anna?.join()
    }
    #expect(try anna?.closeCode() == 1001)
    try await withKeptSessions(directory) { server in
      try anna?.resume(at: server.port)
      #expect(try anna?.closeCode() == 1003)
    }
  }

  @Test func whoIsAwayForLongIsNotWaitedFor() async throws {
    let directory = TemporaryDirectory()
    var anna: SignallingClient?
    try await withKeptSessions(directory) { server in
      anna = try SignallingClient(server, id: "anna")
      try anna?.join()
    }
    let sessions = directory.path + "/sessions"
    let before = [
      timespec(tv_sec: time(nil) - 100, tv_nsec: 0), timespec(tv_sec: time(nil) - 100, tv_nsec: 0),
    ]
    #expect(utimensat(AT_FDCWD, sessions + "/server.lock", before, 0) == 0)
    try await withKeptSessions(directory) { server in
      let bert = try SignallingClient(server, id: "bert")
      #expect(try bert.join()["connection"]?.arrayValue?.map { $0["id"] } == ["bert"])
      try anna?.resume(at: server.port)
      #expect(try anna?.closeCode() == 1003)
    }
  }

  /// What the database holds of sessions, seen from outside.
  private func records(_ directory: borrowing TemporaryDirectory) throws -> [String] {
    let database = try Database(stateDirectory: directory.path)
    return try database.transaction { (connection) throws(SessionServerError) in
      try connection.rows("SELECT record FROM session").compactMap { $0[0]?.text }
    }
  }

  @Test func whatCannotBeWrittenIsTriedAgain() async throws {
    let directory = TemporaryDirectory()
    var anna: SignallingClient?
    try await withKeptSessions(directory) { server in
      anna = try SignallingClient(server, id: "anna")
      try anna?.join()
      try await eventually("a record") { try records(directory).count == 1 }
      func change(_ sql: String) throws {
        try Database(stateDirectory: directory.path).transaction { (connection) throws(SessionServerError) in
          try connection.run(all: sql)
        }
      }
      try change("CREATE TRIGGER full BEFORE INSERT ON session BEGIN SELECT RAISE(ABORT, 'full'); END")
      #expect(try anna?.publish("stream-of-anna").status == 200)
      try await eventually("a failure") { await server.isWritingBroken }
      #expect(try records(directory).allSatisfy { !$0.contains("stream-of-anna") })
      try change("DROP TRIGGER full")
      try await eventually("the stream on the disk") {
        try records(directory).contains { $0.contains("stream-of-anna") }
      }
      #expect(await !server.isWritingBroken)
    }
  }

  @Test func aDiskThatHangsHoldsNobodyUp() async throws {
    let directory = TemporaryDirectory()
    let recorders = FakeRecorders()
    let signed = ["X-TB-PARTNER-AUTH": "100:test-secret"]
    try await withKeptSessions(directory, recorders: recorders) { server in
      let disk = Semaphore()
      await server.disk.add { _ = disk.wait(until: Instant(nanoseconds: .max)) }
      defer { disk.post() }
      let anna = try SignallingClient(server, id: "anna")
      let bert = try SignallingClient(server, id: "bert")
      for client in [anna, bert] { try client.join() }
      #expect(try anna.publish("stream-of-anna").status == 200)
      let body: JSON = ["sessionId": .string(anna.base.session)]
      // Who asks for an archive is answered when that is written down.
      let asked = Asked()
      _ = MediaThread(name: "asks") {
        let answer = try? server.json("POST", "/v2/project/100/archive", headers: signed, body: body)
        asked.answer.withLock { $0 = answer }
      }
      // Longer than a change waits to be written, and than a tick.
      for number in 0..<25 {
        try await Task.sleep(for: .milliseconds(50))
        let signal = anna.base.with(.signal(id: "n\(number)", to: nil))
        #expect(
          try anna.request(RaptorMessage(.signal, signal, content: ["data": .integer(Int64(number))])).status
            == 200)
        #expect(try bert.next(.signal).content["data"]?.integerValue == Int64(number))
      }
      #expect(try records(directory).isEmpty)
      #expect(recorders.calls.isEmpty)
      #expect(asked.answer.withLock { $0 } == nil)
      disk.post()
      try await eventually("the answer") { asked.answer.withLock { $0 } != nil }
      let archive = try #require(asked.answer.withLock { $0 })
      let id = try #require(archive["id"]?.stringValue)
      #expect(archive["status"] == "started")
      let path = "/v2/project/100/archive/\(id)"
      #expect(try server.request("POST", path + "/stop", headers: signed).status == 200)
      try await eventually("the archive is finished") {
        try server.json("GET", path, headers: signed)["status"] == "available"
      }
      #expect(recorders.calls == ["make composed 640x480", "start", "stop"])
      try await eventually("the session on the disk") {
        try records(directory).contains { $0.contains("bert") }
      }
      #expect(try server.request("DELETE", path, headers: signed).status == 204)
      try await eventually("the archive is gone") { access(directory.path + "/archives/" + id, F_OK) != 0 }
    }
  }

  @Test func aSessionRecordsItselfAgainWhenAPublisherIsBack() async throws {
    let directory = TemporaryDirectory()
    let recorders = FakeRecorders()
    let signed = ["X-TB-PARTNER-AUTH": "100:test-secret"]
    var (session, bert) = ("", SignallingClient?.none)
    try await withKeptSessions(directory, recorders: recorders) { server in
      let answer = try server.request(
        "POST", "/session/create", headers: signed, body: [UInt8]("archiveMode=always".utf8))
      session = try #require(try answer.json()[0]?["session_id"]?.stringValue)
      let now = WallClock.microseconds() / 1_000_000
      let token = try #require(server.token(session: session, role: .publisher, now: now))
      for id in ["anna", "bert", "carl"] {
        let client = try SignallingClient(server, session: session, token: token, id: id)
        try client.join()
        if id != "carl" { #expect(try client.publish("stream-of-\(id)").status == 200) }
        if id == "bert" { bert = client }
      }
      try await eventually("it is recorded") { recorders.calls == ["make composed 640x480", "start"] }
    }
    recorders.set { $0.calls = [] }
    try await withKeptSessions(directory, recorders: recorders) { server in
      func count() throws -> JSON? {
        try server.json("GET", "/v2/project/100/archive?sessionId=\(session)", headers: signed)["count"]
      }
      #expect(try count() == 1, "nobody is back")
      try bert?.resume(at: server.port)
      try await eventually("it is recorded again") {
        recorders.calls.contains("start")
      }
      #expect(try count() == 2)
      // Back once more: one archive goes on.
      try bert?.resume(at: server.port)
      _ = try bert?.publish("another")
      #expect(try count() == 2)
    }
  }

  @Test func aStoreThatCannotBeLockedSaysWhy() throws {
    let directory = TemporaryDirectory()
    let path = directory.path + "/sessions"
    let state = try StateDirectory(path: path)
    let database = try Database(stateDirectory: directory.path)
    #expect(mkdir(state.file("server.lock"), 0o700) == 0)
    #expect(throws: SessionServerError.state(path: state.file("server.lock"), reason: "Is a directory")) {
      _ = try SessionStore(path: path, database: database)
    }
    #expect(rmdir(state.file("server.lock")) == 0)
    let store = try #require(try SessionStore(path: path, database: database))
    #expect(try SessionStore(path: path, database: database) == nil)
    #expect(try store.load(apiKey: "100").isEmpty)
  }

  @Test func takesOverTheSessionsOfAnOlderVersion() throws {
    let directory = TemporaryDirectory()
    let state = try StateDirectory(path: directory.path + "/sessions")
    let project = ProjectCredentials(apiKey: "100", apiSecret: "secret")
    let session = project.sessionID(ofRoom: "kitchen").text
    let record: JSON = ["session": .string(session), "generation": 3]
    _ = try state.write("a.json", record.serialized())
    _ = try state.write("b.json", [123])
    // Of a server that died in the middle of writing.
    _ = try state.write("a.json.17-4", [123])
    let database = try Database(stateDirectory: directory.path)
    for _ in 0..<2 {
      let store = try #require(try SessionStore(path: state.path, database: database))
      #expect(try store.load(apiKey: "100") == [record])
      #expect(try store.load(apiKey: "another") == [])
      #expect(state.names.filter { $0.first != "." } == ["server.lock"])
    }
  }

  @Test func twoServersDoNotShareTheirSessions() async throws {
    let directory = TemporaryDirectory()
    var anna: SignallingClient?
    try await withKeptSessions(directory) { first in
      anna = try SignallingClient(first, id: "anna")
      try anna?.join()
      try await withKeptSessions(directory) { second in
        try anna?.resume(at: second.port)
        #expect(try anna?.closeCode() == 1003)
      }
      try anna?.resume(at: first.port)
      #expect(try anna?.publish("stream-of-anna").status == 200)
    }
    // Another key's are left alone.
    try await withKeptSessions(directory, key: "200") { _ in }
    try await withKeptSessions(directory) { server in
      try anna?.resume(at: server.port)
      #expect(try anna?.publish("another-of-anna").status == 200)
    }
  }
}
