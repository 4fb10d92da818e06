import Base
import Glibc
import TestSupport
import Testing

@testable import OTKit

@Suite struct HTTPClientTests {
  let client = HTTPClient(timeout: .seconds(60))

  private func get(_ url: String, _ client: HTTPClient? = nil) async throws(OpenTokError) -> HTTPResponse {
    guard let url = ServerURL(url) else { throw .invalidURL(url) }
    return try await (client ?? self.client).send(HTTPRequest(url), step: .credentials)
  }

  @Test func answersWithStatusHeadersAndBody() async throws {
    let server = try LocalServer(
      status: 418, headers: ["Content-Type: text/plain", "Server: otchat/1"], body: "short and stout")
    defer { server.stop() }
    let response = try await get(server.url + "/tea?milk=0")
    #expect(response.status == 418)
    #expect(response.contentType == "text/plain")
    #expect(response.server == "otchat/1")
    #expect(String(decoding: response.body, as: UTF8.self) == "short and stout")
    #expect(server.requests.first?.hasPrefix("GET /tea?milk=0 HTTP/1.1\r\n") == true)
  }

  @Test func postsABodyAndAnEmptyOne() async throws {
    let server = try LocalServer { connection, head in
      let length = head.split(separator: "\r\n").first { $0.hasPrefix("Content-Length: ") }
      let count = length.flatMap { Int($0.dropFirst(16)) } ?? -1
      let body = count > 0 ? connection.read(count) ?? [] : []
      connection.write(LocalServer.response(status: 200, body: "\(count) \(body)"))
    }
    defer { server.stop() }
    var request = HTTPRequest(try #require(ServerURL(server.url)))
    request.method = "POST"
    request.body = [1, 2]
    #expect(
      String(decoding: try await client.send(request, step: .request).body, as: UTF8.self) == "2 [1, 2]")
    request.body = []
    #expect(String(decoding: try await client.send(request, step: .request).body, as: UTF8.self) == "0 []")
  }

  @Test func followsRedirectsAndKeepsSecretsFromOtherOrigins() async throws {
    let other = try LocalServer(body: "there")
    let server = try LocalServer { [url = other.url] connection, head in
      let target = head.hasPrefix("GET /a ") ? "/b" : url + "/c"
      connection.write(LocalServer.response(status: 302, headers: ["Location: \(target)"], body: ""))
    }
    defer { server.stop() }
    defer { other.stop() }
    var request = HTTPRequest(try #require(ServerURL(server.url + "/a")))
    request.secretHeaders = [("X-OPENTOK-AUTH", "hush")]
    request.headers = [("Accept", "application/json")]
    let response = try await client.send(request, step: .credentials)
    #expect(String(decoding: response.body, as: UTF8.self) == "there")
    #expect(response.url.text == other.url + "/c")
    #expect(server.requests.map { $0.contains("hush") } == [true, true])
    #expect(other.requests.map { $0.contains("hush") } == [false])
    #expect(other.requests.first?.contains("Accept: application/json") == true)
  }

  @Test func givesUpOnARedirectLoop() async throws {
    let server = try LocalServer(status: 302, headers: ["Location: /again"], body: "")
    defer { server.stop() }
    await #expect(throws: OpenTokError.tooManyRedirects(url: server.url + "/")) {
      try await get(server.url + "/")
    }
    #expect(server.requests.count == 6)
  }

  @Test(arguments: [
    "ftp://127.0.0.1/a?key=hush", "ftp://me:hush@127.0.0.1/a", "https://127.0.0.1:99999/a?key=hush#hush",
  ])
  func anAddressThatCannotBeUsedShowsNoKey(_ target: String) async throws {
    let server = try LocalServer(status: 302, headers: ["Location: \(target)"], body: "")
    defer { server.stop() }
    func error(_ body: () async throws(OpenTokError) -> Void) async -> OpenTokError? {
      do throws(OpenTokError) { try await body() } catch { return error }
      return nil
    }
    let redirected = await error { () throws(OpenTokError) in _ = try await get(server.url) }
    let named = await error { () throws(OpenTokError) in _ = try await Credentials.fetch(from: target) }
    let api = await error { () throws(OpenTokError) in
      let credentials = Credentials(apiKey: "1", sessionID: "S", token: "T", apiURL: target)
      _ = try await SessionInfoRequest(
        credentials: credentials, connectionID: "c", trust: .system, timeout: .seconds(5)
      ).send()
    }
    for error in [redirected, named, api] {
      let error = try #require(error)
      #expect(error.message.hasPrefix("not a web address: '"), "\(error)")
      #expect(error.message.contains("127.0.0.1"), "\(error)")
      #expect(!String(reflecting: error).contains("hush") && !error.message.contains("hush"))
    }
  }

  @Test func boundsTheBody() async throws {
    let server = try LocalServer(body: String(repeating: "x", count: 3000))
    defer { server.stop() }
    var client = client
    client.maximumBodySize = 2999
    await #expect(throws: OpenTokError.answerTooLarge(url: server.url + "/", limit: 2999)) {
      try await get(server.url + "/", client)
    }
    client.maximumBodySize = 3000
    #expect(try await get(server.url + "/", client).body.count == 3000)
  }

  @Test func tellsRefusedUnknownAndSilentApart() async throws {
    let closed = try LocalServer(body: "")
    closed.stop()
    await #expect(throws: OpenTokError.connectionRefused(host: "127.0.0.1", port: closed.port)) {
      try await get(closed.url)
    }
    await #expect(throws: OpenTokError.hostNotFound(host: "no-such-host.invalid")) {
      try await get("http://no-such-host.invalid/")
    }
    let silent = try LocalServer { connection, _ in _ = connection.read(1) }
    defer { silent.stop() }
    await #expect(throws: OpenTokError.timedOut(.credentials, seconds: 0.2)) {
      try await get(silent.url, HTTPClient(timeout: .milliseconds(200)))
    }
    let chatty = try LocalServer(bytes: "SSH-2.0-OpenSSH\r\n")
    defer { chatty.stop() }
    await #expect(throws: OpenTokError.notHTTP(url: chatty.url + "/")) { try await get(chatty.url) }
  }

  @Test func cancellingEndsTheWaitAtOnce() async throws {
    let silent = try LocalServer { connection, _ in _ = connection.read(1) }
    defer { silent.stop() }
    let task = Task { () -> OpenTokError? in
      do throws(OpenTokError) {
        _ = try await get(silent.url)
        return nil
      } catch {
        return error
      }
    }
    try await eventually("the request is on its way") { !silent.requests.isEmpty }
    let cancelled = MonotonicClock.now()
    task.cancel()
    #expect(await task.value == .cancelled)
    #expect(MonotonicClock.now() - cancelled < .seconds(50))
  }

  @Test func aServerThatHangsUpInTheHandshakeHasNoWrongCertificate() async throws {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(listener) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, size) == 0 && getsockname(listener, $0, &size) == 0
      }
    }
    try #require(isBound && listen(listener, 4) == 0)
    let thread = MediaThread(name: "hangs up") {
      let client = accept(listener, nil, nil)
      var hello = [UInt8](repeating: 0, count: 4096)
      _ = read(client, &hello, hello.count)
      close(client)
    }
    let url = "https://127.0.0.1:\(UInt16(bigEndian: address.sin_port))/session"
    await #expect(throws: OpenTokError.tlsFailed(host: "127.0.0.1", detail: "the handshake failed")) {
      try await get(url)
    }
    #expect(thread.join(until: MonotonicClock.now() + .seconds(60)))
  }

  @Test func tellsThatAServerDoesNotSpeakTLS() async throws {
    let plain = try LocalServer(body: "hello")
    defer { plain.stop() }
    for trust in [TLSTrust.system, TLSTrust(insecure: true)] {
      await #expect(throws: OpenTokError.notTLS(host: "127.0.0.1", port: plain.port)) {
        try await get("https://127.0.0.1:\(plain.port)/", HTTPClient(trust: trust, timeout: .seconds(60)))
      }
    }
  }

  @Test func verifiesTLS() async throws {
    let certificate = try TestCertificate()
    let server = try LocalServer(certificate: certificate) { connection, _ in
      connection.write(LocalServer.response(status: 200, body: "safe"))
    }
    defer { server.stop() }
    let url = "https://127.0.0.1:\(server.port)/"
    await #expect(
      throws: OpenTokError.tlsFailed(host: "127.0.0.1", detail: "its certificate is self-signed")
    ) { try await get(url) }
    let trusting = HTTPClient(trust: TLSTrust(certificateFile: certificate.path))
    #expect(try await get(url, trusting).body == Array("safe".utf8))
    await #expect(
      throws: OpenTokError.tlsFailed(host: "localhost", detail: "its certificate is for another name")
    ) {
      try await get("https://localhost:\(server.port)/", trusting)
    }
    #expect(try await get(url, HTTPClient(trust: TLSTrust(insecure: true))).body == Array("safe".utf8))
    await #expect(throws: OpenTokError.certificateFileUnreadable(path: "/nowhere.pem")) {
      try await get(url, HTTPClient(trust: TLSTrust(certificateFile: "/nowhere.pem")))
    }
  }
}
