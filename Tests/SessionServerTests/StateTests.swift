import Glibc
import OpenTokProtocol
import TestSupport
import Testing

@testable import SessionServer

/// A directory of its own, removed at the end.
struct TemporaryDirectory: ~Copyable {
  let path: String

  init() {
    var name = Array("/tmp/otchat-test-XXXXXX".utf8CString)
    path = name.withUnsafeMutableBufferPointer { buffer in
      guard let base = buffer.baseAddress, mkdtemp(base) != nil else { return "/tmp/none" }
      return String(cString: base)
    }
  }

  deinit {
    var inside = [path]
    while let directory = inside.last {
      var deeper = false
      if let listing = opendir(directory) {
        while let entry = readdir(listing) {
          let name = withUnsafeBytes(of: &entry.pointee.d_name) {
            String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
          }
          guard name != "." && name != ".." else { continue }
          if unlink("\(directory)/\(name)") != 0 {
            inside.append("\(directory)/\(name)")
            deeper = true
          }
        }
        closedir(listing)
      }
      if !deeper {
        rmdir(directory)
        inside.removeLast()
      }
    }
  }
}

private func mode(_ path: String) -> mode_t {
  var information = stat()
  return stat(path, &information) == 0 ? information.st_mode & 0o777 : 0
}

@Suite struct StateTests {
  @Test func aPlaceForArchivesThatIsNoneIsToldAtTheStart() throws {
    let temporary = TemporaryDirectory()
    let folder = temporary.path + "/a/archives"
    try ArchiveStore.prepare(folder)
    #expect(mode(folder) == 0o700)
    let file = temporary.path + "/file"
    close(open(file, O_CREAT | O_WRONLY, 0o600))
    #expect(throws: SessionServerError.archives(path: file, reason: "Not a directory")) {
      try ArchiveStore.prepare(file)
    }
    #expect(throws: SessionServerError.archives(path: file + "/in", reason: "Not a directory")) {
      try ArchiveStore.prepare(file + "/in")
    }
  }

  @Test func findsTheStandardPlace() {
    #expect(StateDirectory.standardPath { ["XDG_STATE_HOME": "/s", "HOME": "/h"][$0] } == "/s/otchat")
    #expect(
      StateDirectory.standardPath { ["XDG_STATE_HOME": "s", "HOME": "/h"][$0] } == "/h/.local/state/otchat")
    #expect(StateDirectory.standardPath { _ in nil } == nil)
  }

  @Test func keepsCredentialsForItsOwnerOnly() throws {
    let temporary = TemporaryDirectory()
    let path = temporary.path + "/a/b/otchat"
    func kept() throws -> ProjectCredentials {
      try ProjectCredentials.kept(
        in: Database(stateDirectory: path), besides: StateDirectory(path: path))
    }
    let first = try kept()
    #expect(first.apiKey.count == 8 && Int(first.apiKey) != nil)
    #expect(first.apiSecret.count == 40)
    #expect(mode(path) == 0o700)
    #expect(mode(path + "/otchat.db") == 0o600)
    chmod(path + "/otchat.db", 0o644)
    let second = try kept()
    #expect(second.apiKey == first.apiKey && second.apiSecret == first.apiSecret)
    #expect(mode(path + "/otchat.db") == 0o600)
  }

  @Test func takesOverTheCredentialsOfAnOlderVersion() throws {
    let temporary = TemporaryDirectory()
    let directory = try StateDirectory(path: temporary.path)
    _ = try directory.write("credentials.json", Array(#"{"apiKey":"123","apiSecret":"of old"}"#.utf8))
    for _ in 0..<2 {
      let database = try Database(stateDirectory: temporary.path)
      let kept = try ProjectCredentials.kept(in: database, besides: directory)
      #expect(kept.apiKey == "123" && kept.apiSecret == "of old")
      #expect(!directory.names.contains("credentials.json"))
    }
  }

  @Test func ofTwoWritersOneWins() throws {
    let temporary = TemporaryDirectory()
    let directory = try StateDirectory(path: temporary.path)
    #expect(try directory.write("x", [1]))
    #expect(try !directory.write("x", [2]))
    #expect(try directory.read("x") == [1])
    #expect(try directory.write("x", [3], replaces: true))
    #expect(try directory.read("x") == [3])
    #expect(try directory.read("y") == nil)
  }

  @Test func saysWhatIsWrongWithTheDirectory() throws {
    let temporary = TemporaryDirectory()
    let directory = try StateDirectory(path: temporary.path)
    _ = try directory.write("credentials.json", Array("{\"apiKey\":1}".utf8))
    #expect(throws: SessionServerError.badStateFile(path: temporary.path + "/credentials.json")) {
      try ProjectCredentials.kept(in: Database(stateDirectory: temporary.path), besides: directory)
    }
    #expect(directory.names.contains("credentials.json"), "it may be worth something to its owner")
    #expect(
      throws: SessionServerError.state(
        path: temporary.path + "/credentials.json/x", reason: "Not a directory")
    ) { try StateDirectory(path: temporary.path + "/credentials.json/x") }
  }

  @Test func aRoomNameAlwaysHasTheSameSession() {
    let project = ProjectCredentials(apiKey: "100", apiSecret: "secret")
    let other = ProjectCredentials(apiKey: "100", apiSecret: "another")
    let id = project.sessionID(ofRoom: "kitchen")
    #expect(id.text == project.sessionID(ofRoom: "kitchen").text)
    #expect(id.apiKey == "100" && SessionID(id.text) == id)
    #expect(id.text != project.sessionID(ofRoom: "Kitchen").text)
    #expect(id.text != other.sessionID(ofRoom: "kitchen").text)
  }

  @Test func checksTokensOfServerSDKs() {
    let project = ProjectCredentials(apiKey: "100", apiSecret: "secret")
    func token(_ claims: JSON, header: JSON = ["alg": "HS256", "typ": "JWT"], secret: String = "secret")
      -> String
    {
      let message = [header, claims].map { Base64.urlText($0.serialized()) }.joined(separator: ".")
      return message + "." + Base64.urlText(Signature.sha256(message.utf8, key: secret))
    }
    let claims: JSON = ["iss": "100", "ist": "project", "iat": 1000, "exp": 1180, "jti": "x"]
    func changed(_ key: String, _ value: JSON?) -> JSON {
      var changed = claims
      changed[key] = value
      return changed
    }
    #expect(ProjectToken.isValid(token(claims), for: project, now: 1100))
    #expect(ProjectToken.isValid(token(claims), for: project, now: 1209), "clocks may differ by 30 s")
    #expect(!ProjectToken.isValid(token(claims), for: project, now: 1210))
    #expect(!ProjectToken.isValid(token(claims), for: project, now: 969))
    #expect(!ProjectToken.isValid(token(claims, secret: "other"), for: project, now: 1100))
    #expect(!ProjectToken.isValid(token(claims, header: ["alg": "none"]), for: project, now: 1100))
    #expect(!ProjectToken.isValid(token(changed("iss", "101")), for: project, now: 1100))
    #expect(!ProjectToken.isValid(token(changed("exp", nil)), for: project, now: 1100))
    #expect(!ProjectToken.isValid(token(changed("ist", "account")), for: project, now: 1100))
    #expect(!ProjectToken.isValid(token(changed("scope", "session.connect")), for: project, now: 1100))
    for bad in ["", ".", "..", "a.b.c", "e30.e30.", token(claims) + "A", String(token(claims).dropLast(2))] {
      #expect(!ProjectToken.isValid(bad, for: project, now: 1100), "\(bad.count) characters")
    }
  }

  @Test func servesTLSWithACertificateOfItsOwn() async throws {
    let temporary = TemporaryDirectory()
    let directory = try StateDirectory(path: temporary.path)
    let files = try SelfSignedCertificate.kept(in: directory, host: "call.example")
    let pem = try directory.read("tls-cert.pem")
    #expect(mode(files.key) == 0o600)
    #expect(try SelfSignedCertificate.kept(in: directory, host: "call.example") == files)
    #expect(try directory.read("tls-cert.pem") == pem, "it is kept")
    #expect(try SelfSignedCertificate.kept(in: directory, host: "127.0.0.1") == files)
    #expect(try directory.read("tls-cert.pem") == pem, "it is for this machine too")
    _ = try SelfSignedCertificate.kept(in: directory, host: "192.0.2.7")
    #expect(try directory.read("tls-cert.pem") != pem, "another host needs another one")

    try await withServer({ $0.certificate = files }) { host, port in
      let client = try LoopbackClient(port: port)
      try client.startTLS()
      #expect(try client.request("GET", "/big").body.count == 300_000)
      let post = try client.request("POST", "/echo", body: [UInt8](repeating: 0x62, count: 16_000))
      #expect(post.status == 200, "a TLS record is longer than libwebsockets reads by itself")
      let socket = try WebSocketClient(port: port, path: "/socket", tls: true)
      let message = [UInt8]("echo".utf8) + [UInt8](repeating: 1, count: 100_000)
      try socket.send(message)
      #expect(isSame(try socket.receiveMessage(), message))
      try socket.sendClose(code: nil)
      try await eventually("it is closed") { await host.ends == [.closedByPeer(nil)] }

      let plain = try LoopbackClient(port: port)
      let redirect = try plain.request("GET", "/echo")
      #expect(redirect.status == 301)
      #expect(redirect.headers["location"]?.hasPrefix("https://127.0.0.1") == true)
      #expect(throws: LoopbackClient.Failure.self) { try WebSocketClient(port: port, path: "/socket") }
      #expect(try client.request("GET", "/echo").status == 200)
    }
  }

  @Test func refusesAKeyOfAnotherCertificate() throws {
    let temporary = TemporaryDirectory()
    let directory = try StateDirectory(path: temporary.path)
    let files = try SelfSignedCertificate.kept(in: directory, host: "localhost")
    let other = try #require(SelfSignedCertificate.make(host: "localhost"))
    _ = try directory.write("tls-key.pem", other.key, replaces: true)
    #expect(
      throws: WebServerError.badCertificate(
        reason: "\(files.key): no readable private key (PEM) of that certificate")
    ) { try files.check() }
  }
}
