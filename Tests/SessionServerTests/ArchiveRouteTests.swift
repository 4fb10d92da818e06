import Base
import OpenTokProtocol
import TestSupport
import Testing

@testable import SessionServer

@Suite struct ArchiveRouteTests {
  private static let signed = ["X-TB-PARTNER-AUTH": "100:test-secret"]
  private static let archives = "/v2/project/100/archive"

  private func withRecordingServer(
    _ directory: borrowing TemporaryDirectory, _ recorders: FakeRecorders = FakeRecorders(),
    configure change: @Sendable (inout SessionServer.Configuration) -> Void = { _ in },
    report: @escaping @Sendable (SessionServerEvent) -> Void = { _ in },
    _ body: (SessionServer) async throws -> Void
  ) async throws {
    let path = directory.path + "/archives"
    let factory = recorders.factory
    try await withSessionServer(
      configure: {
        $0.archiveDirectory = path
        $0.recorders = factory
        change(&$0)
      }, report: report, body)
  }

  /// What the REST API answers to who may ask.
  private func ask(
    _ server: SessionServer, _ method: String, _ path: String, _ body: JSON? = nil
  ) throws -> Answer {
    try server.request(method, Self.archives + path, headers: Self.signed, body: body?.serialized())
  }

  private func publisher(_ server: SessionServer, id: String = "anna") throws -> SignallingClient {
    let client = try SignallingClient(server, id: id)
    try client.join()
    #expect(try client.publish("stream-of-\(id)").status == 200)
    return client
  }

  /// Of the token, or set before the recording began.
  @Test func theRecorderHearsOfLayoutClassesThatWereThereBefore() async throws {
    let directory = TemporaryDirectory()
    let recorders = FakeRecorders()
    try await withRecordingServer(directory, recorders) { server in
      let anna = try publisher(server)
      let session = anna.base.session
      let classes: JSON = ["items": [["id": "stream-of-anna", "layoutClassList": ["focus"]]]]
      let path = "/v2/project/100/session/\(session)/stream"
      #expect(try server.request("PUT", path, headers: Self.signed, body: classes.serialized()).status == 200)
      #expect(try ask(server, "POST", "", ["sessionId": .string(session)]).status == 200)
      try await eventually("the recorder hears of anna") {
        recorders.calls.contains("classes focus of stream-of-anna")
      }
      let token = Token(
        apiKey: "100", sessionID: session, createTime: WallClock.microseconds() / 1_000_000,
        expireTime: WallClock.microseconds() / 1_000_000 + 600, nonce: "1",
        initialLayoutClassList: "full right")
      let bert = try SignallingClient(
        server, session: session, token: token.signed(secret: "test-secret"), id: "bert")
      try bert.join()
      #expect(try bert.publish("stream-of-bert").status == 200)
      let streams = try server.json("GET", path, headers: Self.signed)
      #expect(streams["items"]?[1]?["layoutClassList"] == ["full", "right"])
      try await eventually("the recorder hears of bert") {
        recorders.calls.contains("classes full right of stream-of-bert")
      }
    }
  }

  private func untilAvailable(_ server: SessionServer, _ id: String) async throws -> JSON {
    var archive: JSON = [:]
    try await eventually("the archive is available") {
      archive = try ask(server, "GET", "/\(id)").json()
      return archive["status"] == "available"
    }
    return archive
  }

  @Test func anArchiveFromStartToEnd() async throws {
    let directory = TemporaryDirectory()
    let recorders = FakeRecorders()
    let statuses = Lock<[String]>([])
    try await withRecordingServer(
      directory, recorders,
      report: { event in
        if case .archive(let archive) = event { statuses.withLock { $0.append(archive.status.rawValue) } }
      }
    ) { server in
      let anna = try publisher(server)
      let session = anna.base.session
      let start: JSON = [
        "sessionId": .string(session), "name": "film", "resolution": "1280x720",
        "layout": ["type": "bestFit"],
      ]
      let started = try ask(server, "POST", "", start).json()
      let id = try #require(started["id"]?.stringValue)
      #expect(UUID.isWellFormed(id))
      #expect(started["status"] == "started")
      #expect(started["resolution"] == "1280x720")
      #expect(started["streams"]?[0]?["streamId"] == "stream-of-anna")
      #expect(started["url"] == .null)
      #expect((started["createdAt"]?.integerValue ?? 0) > 1_700_000_000_000)
      let created = try anna.next(.created)
      // Its own connection and stream come first.
      #expect(created.uri.resource == .connection("anna"))
      var told = try anna.next(.created)
      while told.uri.resource != .archive(id) { told = try anna.next(.created) }
      #expect(told.content == ["id": .string(id), "name": "film", "status": "started"])
      #expect(try anna.next(.updated).content == ["archiving": true])
      let late = try SignallingClient(server, id: "late")
      #expect(try late.join()["archive"]?[0]?["id"] == .string(id))
      let credentials = try #require(recorders.state.withLock { $0.credentials.first })
      #expect(credentials.sessionID == session)

      #expect(try ask(server, "PUT", "/\(id)/layout", ["type": "pip"]).status == 200)
      let classes: JSON = ["items": [["id": "stream-of-anna", "layoutClassList": ["focus"]]]]
      #expect(
        try server.request(
          "PUT", "/v2/project/100/session/\(session)/stream", headers: Self.signed,
          body: classes.serialized()
        ).status == 200)

      let stopped = try ask(server, "POST", "/\(id)/stop").json()
      #expect(stopped["status"] == "stopped")
      #expect(stopped["reason"] == "user initiated")
      #expect(try anna.next(.updated).content == ["status": "stopped"])
      #expect(try anna.next(.updated).content == ["archiving": false])
      let available = try await untilAvailable(server, id)
      #expect(available["duration"] == 6)
      #expect(available["size"] == 100_000)
      #expect(
        recorders.calls == [
          "make composed 1280x720", "start", "layout pip", "classes focus of stream-of-anna", "stop",
        ])
      #expect(statuses.withLock { $0 } == ["started", "stopped", "available"])

      #expect(try ask(server, "GET", "").json()["count"] == 1)
      #expect(try ask(server, "GET", "?sessionId=\(session)&count=5&offset=1").json()["items"] == [])
      #expect(try ask(server, "DELETE", "/\(id)").status == 204)
      #expect(try ask(server, "GET", "/\(id)").status == 404)
      #expect(try ask(server, "GET", "").json() == ["count": 0, "items": []])
    }
  }

  @Test func whatIsRefused() async throws {
    let directory = TemporaryDirectory()
    try await withRecordingServer(directory) { server in
      let anna = try publisher(server)
      let session = JSON.string(anna.base.session)
      #expect(try ask(server, "POST", "", [:]).status == 400)
      #expect(try ask(server, "POST", "", ["sessionId": "1_xx"]).status == 404)
      let other = JSON.string(await server.project.sessionID(ofRoom: "nobody").text)
      #expect(try ask(server, "POST", "", ["sessionId": other]).status == 400, "nobody is there")
      #expect(try ask(server, "POST", "", ["sessionId": session, "resolution": "9x9"]).status == 400)
      let id = try #require(try ask(server, "POST", "", ["sessionId": session]).json()["id"]?.stringValue)
      #expect(try ask(server, "POST", "", ["sessionId": session]).status == 409)
      #expect(try ask(server, "DELETE", "/\(id)").status == 409)
      #expect(try ask(server, "PATCH", "/\(id)/streams", ["addStream": "x"]).status == 405)
      #expect(try ask(server, "PATCH", "/\(id)/streams", [:]).status == 400)
      #expect(try ask(server, "PUT", "/\(id)/layout", ["type": "heap"]).status == 400)
      #expect(try ask(server, "POST", "/\(id)/stop").status == 200)
      #expect(try ask(server, "POST", "/\(id)/stop").status == 409)
      #expect(try ask(server, "POST", "/\(UUID.v4())/stop").status == 404)
      for query in ["?count=-1", "?count=1001", "?offset=x", "?sessionId=y"] {
        #expect(try ask(server, "GET", query).status == 400, "\(query)")
      }
      for path in ["", "/\(id)", "/\(id)/stop", "/\(id)/layout", "/\(id)/streams"] {
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE"] {
          let answer = try server.request(method, Self.archives + path, body: [])
          #expect([403, 405].contains(answer.status), "\(method) \(path) without a token")
        }
      }
    }
  }

  @Test func streamsAreChosen() async throws {
    let directory = TemporaryDirectory()
    let recorders = FakeRecorders()
    try await withRecordingServer(directory, recorders) { server in
      let anna = try publisher(server)
      let start: JSON = [
        "sessionId": .string(anna.base.session), "streamMode": "manual", "outputMode": "individual",
      ]
      let id = try #require(try ask(server, "POST", "", start).json()["id"]?.stringValue)
      let add: JSON = ["addStream": "stream-of-anna", "hasVideo": false]
      #expect(try ask(server, "PATCH", "/\(id)/streams", add).status == 204)
      #expect(try ask(server, "PATCH", "/\(id)/streams", ["addStream": "none"]).status == 404)
      #expect(try ask(server, "PATCH", "/\(id)/streams", ["removeStream": "stream-of-anna"]).status == 204)
      #expect(try ask(server, "POST", "/\(id)/stop").status == 200)
      let archive = try await untilAvailable(server, id)
      #expect(archive["url"]?.stringValue?.contains("/archive.zip?") == true)
      #expect(
        recorders.calls == [
          "make individual 640x480", "start", "add stream-of-anna audio", "remove stream-of-anna", "stop",
        ])
    }
  }

  @Test func theFileInParts() async throws {
    let directory = TemporaryDirectory()
    try await withRecordingServer(directory) { server in
      let anna = try publisher(server)
      let started = try server.json("POST", "/start/\(anna.base.session)")
      let id = try #require(started["id"]?.stringValue)
      let early = try server.request("GET", "/archive/\(id)/view").text
      #expect(early.contains("http-equiv=\"refresh\"") && !early.contains("<video"))
      #expect(try server.request("GET", "/archive/\(id)/archive.mp4").status == 404)
      _ = try server.request("GET", "/stop/\(id)")
      let archive = try await untilAvailable(server, id)
      let url = try #require(archive["url"]?.stringValue)
      let path = String(url.dropFirst("http://127.0.0.1".count))

      let client = try LoopbackClient(port: server.port)
      let whole = try client.request("GET", path)
      #expect(whole.status == 200)
      #expect(whole.headers["content-type"] == "video/mp4")
      #expect(whole.headers["accept-ranges"] == "bytes")
      #expect(isSame(whole.body, FakeRecorders.contents))
      // On the same connection.
      let part = try client.request("GET", path, headers: ["Range": "bytes=70000-99998"])
      #expect(part.status == 206)
      #expect(part.headers["content-range"] == "bytes 70000-99998/100000")
      #expect(isSame(part.body, Array(FakeRecorders.contents[70000...99998])))
      let tail = try client.request("GET", path, headers: ["Range": "bytes=-5"])
      #expect(tail.body == Array(FakeRecorders.contents.suffix(5)))
      let beyond = try client.request("GET", path, headers: ["Range": "bytes=100000-"])
      #expect(beyond.status == 416)
      #expect(beyond.headers["content-range"] == "bytes */100000")
      let stale = try client.request("GET", path, headers: ["Range": "bytes=1-2", "If-Range": "\"x\""])
      #expect(stale.status == 200)
      let head = try client.request("HEAD", path)
      #expect(head.headers["content-length"] == "100000")
      #expect(try client.request("GET", "/healthz").status == 200, "the connection goes on")

      let page = try server.request("GET", "/view").text
      #expect(page.contains("<video") && page.contains("/archive/\(id)/archive.mp4?expires="))
      #expect(try server.request("GET", "/archive/\(id)/view").text.contains("<video"))
    }
  }

  @Test func noPathLeadsElsewhere() async throws {
    let directory = TemporaryDirectory()
    try await withRecordingServer(directory) { server in
      let anna = try publisher(server)
      let id = try #require(try server.json("POST", "/start/\(anna.base.session)")["id"]?.stringValue)
      _ = try server.json("POST", "/stop/\(id)")
      _ = try await untilAvailable(server, id)
      for path in [
        "/archive/\(id)/archive.json", "/archive/\(id)/..%2farchive.json", "/archive/..%2f../archive.mp4",
        "/archive/\(id)/%2e%2e/\(id)/archive.json", "/archive/%2e/archive.mp4", "/view/..%2f..%2fetc",
        "/archive/\(id.uppercased())/archive.mp4",
      ] {
        let answer = try server.request("GET", path)
        #expect(answer.status == 404, "\(path): \(answer.status)")
      }
    }
  }

  @Test func strangersNeitherStartNorSee() async throws {
    let directory = TemporaryDirectory()
    try await withRecordingServer(
      directory,
      configure: {
        $0.host = "0.0.0.0"
        $0.accessKey = "sesame"
      }
    ) { server in
      let token = try #require(try server.json("GET", "/room/a?accessKey=sesame")["token"]?.stringValue)
      #expect(!token.isEmpty)
      let key = ["X-Access-Key": "sesame"]
      for path in ["/start", "/view", "/archive", "/archive/1/view", "/archive/1", "/archive/1/archive.mp4"] {
        #expect(try server.request("GET", path).status == 403, "\(path)")
        #expect([400, 200, 404].contains(try server.request("GET", path, headers: key).status), "\(path)")
      }
      #expect(try server.request("POST", "/archive/start").status == 403)
      #expect(try server.request("POST", "/stop/1").status == 403)
    }
    // Without a key only this machine can come, but not the pages of others that it shows.
    try await withRecordingServer(directory) { server in
      let anna = try publisher(server)
      let start = "/start/\(anna.base.session)"
      let stranger = ["Origin": "https://evil.example"]
      #expect(try server.request("POST", start, headers: stranger).status == 403)
      #expect(try server.request("GET", start, headers: ["Sec-Fetch-Site": "cross-site"]).status == 403)
      #expect(try server.request("GET", "/archive", headers: stranger).status == 403)
      let own = ["Origin": "http://127.0.0.1:\(server.port)", "Sec-Fetch-Site": "same-origin"]
      let id = try #require(
        try server.request("POST", start, headers: own).json()["id"]?.stringValue)
      _ = try server.json("POST", "/archive/\(id)/stop")
      let archive = try await untilAvailable(server, id)
      // An address that the API gave works for who was given it, and for that archive.
      let url = try #require(archive["url"]?.stringValue)
      let path = String(url.dropFirst("http://127.0.0.1".count))
      #expect(try server.request("GET", path, headers: stranger).status == 200)
      #expect(try server.request("GET", path + "0", headers: stranger).status == 403)
      let later = path.replacing("expires=", with: "expires=1")
      #expect(try server.request("GET", later, headers: stranger).status == 403)
    }
  }

  @Test func recordersThatFail() async throws {
    let directory = TemporaryDirectory()
    let recorders = FakeRecorders()
    try await withRecordingServer(directory, recorders) { server in
      let anna = try publisher(server)
      func start() throws -> String {
        try #require(try server.json("POST", "/start/\(anna.base.session)")["id"]?.stringValue)
      }
      func status(_ id: String) throws -> [JSON?] {
        let archive = try ask(server, "GET", "/\(id)").json()
        return [archive["status"], archive["reason"]]
      }
      recorders.set { $0.startError = .session("refused") }
      let first = try start()
      try await eventually("it fails") {
        try status(first) == ["failed", "the session cannot be recorded: refused"]
      }
      recorders.set { $0.startError = nil }
      let second = try start()
      try await eventually("the room is told") {
        await server.rooms.state(of: anna.base.session)?.archives.first?.id == second
      }
      recorders.fail(second, .output("no space"))
      try await eventually("what there is, is recovered") {
        try status(second) == ["available", "the file cannot be written: no space"]
      }
      let emptied = await server.rooms.state(of: anna.base.session)?.archives
      #expect(emptied == [])
      let third = try start()
      try await eventually("the room is told") {
        await server.rooms.state(of: anna.base.session)?.archives.first?.id == third
      }
      recorders.set { $0.stopError = .media("no end") }
      _ = try server.json("POST", "/stop/\(third)")
      try await eventually("what there is, is recovered") {
        try status(third) == ["available", "the media cannot be recorded: no end"]
      }
      recorders.set {
        $0.stopError = .empty
        $0.calls = []
      }
      let fourth = try start()
      try await eventually("it is recorded") { recorders.calls.contains("start") }
      _ = try server.json("POST", "/stop/\(fourth)")
      try await eventually("there is nothing") { try status(fourth) == ["failed", "nothing was recorded"] }
      #expect(try ask(server, "DELETE", "/\(fourth)").status == 204)
    }
  }

  @Test func archivesOutliveTheServer() async throws {
    let directory = TemporaryDirectory()
    let recorders = FakeRecorders()
    let ids = Lock<[String]>([])
    try await withRecordingServer(directory, recorders) { server in
      let anna = try publisher(server)
      let id = try #require(try server.json("POST", "/start/\(anna.base.session)")["id"]?.stringValue)
      try await eventually("it runs") { recorders.calls.contains("start") }
      ids.withLock { $0.append(id) }
    }
    // The server was stopped in an orderly way: the archive is finished.
    #expect(recorders.calls.last == "stop")
    let id = ids.withLock { $0[0] }
    // Without a state directory the database is beside the archives.
    let path = directory.path + "/archives"
    let store = ArchiveStore(path: path, database: try Database(stateDirectory: path))
    try await withRecordingServer(directory, recorders) { server in
      let archive = try ask(server, "GET", "/\(id)").json()
      #expect(archive["status"] == "available")
      #expect(archive["reason"] == "the server was stopped")
    }
    // As one that was killed leaves it.
    let kept = try #require(try store.load().first { $0.id == id })
    var running = kept
    running.status = .started
    running.file = nil
    try store.keep(running)
    recorders.set { $0.calls = [] }
    try await withRecordingServer(directory, recorders) { server in
      let archive = try await untilAvailable(server, id)
      #expect(archive["reason"] == "the server ended while it was recording")
      #expect(recorders.calls == ["recover"])
    }
    // As a version left it that kept the record beside the files; somebody may have copied it here.
    try store.database.transaction { (connection) throws(SessionServerError) in
      try connection.run("DELETE FROM archive")
    }
    let place = try StateDirectory(path: store.directory(id))
    for _ in 0..<2 {
      _ = try place.write("archive.json", kept.record.serialized())
      #expect(try store.load() == [kept])
      #expect(!place.names.contains("archive.json"))
    }
    // Another server of that directory is recording it: hands off.
    try store.keep(running)
    recorders.set { $0.calls = [] }
    let lock = try #require(store.lock(id))
    try await withRecordingServer(directory, recorders) { server in
      let answer = try ask(server, "GET", "/\(id)")
      #expect(answer.status == 404)
      #expect(recorders.calls == [])
    }
    lock.release()
  }

  @Test func sessionsThatAreAlwaysRecorded() async throws {
    let directory = TemporaryDirectory()
    let recorders = FakeRecorders()
    try await withRecordingServer(directory, recorders) { server in
      func create(_ form: String) throws -> Answer {
        try server.request("POST", "/session/create", headers: Self.signed, body: [UInt8](form.utf8))
      }
      let form = "archiveMode=always&archiveName=all%20of%20it&archiveResolution=1920x1080"
      let id = try #require(try create(form).json()[0]?["session_id"]?.stringValue)
      #expect(try create("archiveMode=sometimes").status == 400)
      #expect(try create("archiveMode=always&archiveResolution=2x2").status == 400)
      #expect(
        try create("archiveMode=always&archiveName=" + String(repeating: "n", count: 300)).status == 400)

      let token = Token(
        apiKey: "100", sessionID: id, createTime: WallClock.microseconds() / 1_000_000,
        expireTime: WallClock.microseconds() / 1_000_000 + 600, nonce: "1"
      ).signed(secret: "test-secret")
      let anna = try SignallingClient(server, session: id, token: token, id: "anna")
      try anna.join()
      #expect(try ask(server, "GET", "").json()["count"] == 0, "nothing is published yet")
      #expect(try anna.publish("s").status == 200)
      try await eventually("it is recorded") { recorders.calls == ["make composed 1920x1080", "start"] }
      let archive = try ask(server, "GET", "?sessionId=\(id)").json()["items"]?[0]
      #expect(archive?["name"] == "all of it")
      #expect(archive?["streams"]?[0]?["streamId"] == "s")
    }
  }
}

@Suite struct FileRangeTests {
  @Test(
    arguments: [
      (nil, FileRange.whole), ("bytes=0-", .part(0..<10)), ("bytes=2-3", .part(2..<4)),
      ("bytes=2-99", .part(2..<10)), ("bytes=2-9223372036854775807", .part(2..<10)),
      ("bytes=-3", .part(7..<10)),
      ("bytes=-99", .part(0..<10)), ("bytes=-0", .unsatisfiable), ("bytes=10-", .unsatisfiable),
      ("bytes=10-12", .unsatisfiable), ("bytes=3-2", .whole), ("bytes=a-b", .whole), ("bytes=-", .whole),
      ("bytes=1-2,4-5", .whole), ("lines=1-2", .whole), ("bytes=99999999999999999999-", .whole),
      ("bytes=1", .whole), ("bytes=--1", .whole), ("bytes=1-+2", .whole),
    ] as [(String?, FileRange)])
  func ranges(header: String?, expected: FileRange) {
    #expect(FileRange(header: header, size: 10) == expected)
  }

  @Test func anEmptyFileHasNoParts() {
    #expect(FileRange(header: "bytes=0-", size: 0) == .unsatisfiable)
    #expect(FileRange(header: "bytes=-1", size: 0) == .unsatisfiable)
    #expect(FileRange(header: nil, size: 0) == .whole)
  }
}
