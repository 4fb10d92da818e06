import Base
import OpenTokProtocol
import TestSupport
import Testing

@testable import OTKit

/// What a WebSocketClient told.
private final class Record: Sendable {
  private let list = Lock<[WebSocketClient.Event]>([])
  var events: [WebSocketClient.Event] { list.withLock { $0 } }
  func append(_ event: WebSocketClient.Event) { list.withLock { $0.append(event) } }
}

@Suite struct WebSocketClientTests {
  private func connect(
    _ server: LocalServer, scheme: String = "ws", host: String = "127.0.0.1", trust: TLSTrust = .system
  ) throws -> (WebSocketClient, Record) {
    let record = Record()
    let url = try #require(ServerURL("\(scheme)://\(host):\(server.port)/rumor?socketId=1"))
    return (WebSocketClient(connectingTo: url, trust: trust) { record.append($0) }, record)
  }

  /// Sends each message back, in `pieces` frames, until told to close.
  private func echo(_ certificate: TestCertificate? = nil, pieces: Int = 1) throws -> LocalServer {
    try LocalServer(certificate: certificate) { connection, head in
      connection.acceptWebSocket(head)
      while let (opcode, payload) = connection.readFrame() {
        if opcode == 8 { return connection.writeFrame(opcode: 8, payload) }
        guard opcode == 2 else { continue }
        let size = max(1, (payload.count + pieces - 1) / pieces)
        for start in stride(from: 0, to: payload.count, by: size) {
          let end = min(start + size, payload.count)
          connection.writeFrame(
            opcode: start == 0 ? 2 : 0, final: end == payload.count, Array(payload[start..<end]))
        }
      }
    }
  }

  @Test func messagesGoThereAndBackWhole() async throws {
    let server = try echo(pieces: 3)
    defer { server.stop() }
    let (socket, record) = try connect(server)
    // Before it is open: they wait.
    socket.send([1, 2, 3])
    let long = (0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    socket.send(long)
    try await eventually("both are back") { record.events.count == 3 }
    #expect(record.events == [.opened, .message([1, 2, 3]), .message(long)])
    socket.close(code: 1000)
    try await eventually("closed") { record.events.last == .closed(code: 1000) }
    #expect(server.requests.first?.hasPrefix("GET /rumor?socketId=1 HTTP/1.1\r\n") == true)
    #expect(server.requests.first?.contains("Host: 127.0.0.1:\(server.port)\r\n") == true)
  }

  @Test(arguments: [1000, 1003, 1011, 1005, 1006]) func tellsHowTheServerClosed(_ code: Int) async throws {
    let server = try LocalServer { connection, head in
      connection.acceptWebSocket(head)
      _ = connection.readFrame()
      switch code {
      case 1006: break
      case 1005: connection.writeFrame(opcode: 8, [])
      default: connection.writeFrame(opcode: 8, [UInt8(code >> 8), UInt8(code & 255)])
      }
      if code != 1006 { _ = connection.readFrame() }
    }
    defer { server.stop() }
    let (socket, record) = try connect(server)
    socket.send([0])
    try await eventually("closed", state: { "\(record.events)" }) { record.events.count == 2 }
    #expect(record.events == [.opened, .closed(code: code)])
  }

  @Test func anOversizedMessageClosesTheConnection() async throws {
    let server = try LocalServer { connection, head in
      connection.acceptWebSocket(head)
      connection.writeFrame(opcode: 2, [UInt8](repeating: 7, count: RumorFrame.maximumServerSize))
      connection.writeFrame(opcode: 2, [UInt8](repeating: 0, count: RumorFrame.maximumServerSize + 1))
      _ = connection.readFrame()
    }
    defer { server.stop() }
    let (socket, record) = try connect(server)
    try await eventually("closed") { record.events.count == 3 }
    let largest = [UInt8](repeating: 7, count: RumorFrame.maximumServerSize)
    #expect(record.events == [.opened, .message(largest), .closed(code: 1009)])
    _ = socket
  }

  /// What comes of a frame after it was refused must not be kept anywhere.
  @Test func aFrameWithoutEndIsNotReadOn() async throws {
    let isCutOff = Lock(false)
    let server = try LocalServer { connection, head in
      connection.acceptWebSocket(head)
      connection.write([0x82, 127, 0, 0, 1, 0, 0, 0, 0, 0])
      let piece = [UInt8](repeating: 0xA5, count: 1 << 16)
      for _ in 0..<4096 where !isCutOff.withLock({ $0 }) {
        if !connection.write(piece) { isCutOff.withLock { $0 = true } }
      }
    }
    defer { server.stop() }
    let (socket, record) = try connect(server)
    try await eventually("the server is cut off") { isCutOff.withLock { $0 } }
    #expect(record.events == [.opened, .closed(code: 1009)])
    _ = socket
  }

  @Test func textIsNoMessage() async throws {
    let server = try LocalServer { connection, head in
      connection.acceptWebSocket(head)
      connection.writeFrame(opcode: 1, Array("hello".utf8))
      connection.writeFrame(opcode: 2, [7])
      _ = connection.readFrame()
    }
    defer { server.stop() }
    let (socket, record) = try connect(server)
    try await eventually("the binary one is there") { record.events.count >= 2 }
    #expect(record.events == [.opened, .message([7])])
    _ = socket
  }

  @Test func abortingEndsIt() async throws {
    let server = try echo()
    defer { server.stop() }
    let (socket, record) = try connect(server)
    try await eventually("open") { record.events == [.opened] }
    socket.abort()
    try await eventually("closed") { record.events == [.opened, .closed(code: 1006)] }
  }

  /// libwebsockets gives such a connection up without a word of failure: whoever ends it then must not touch it.
  @Test func aServerThatTakesConnectionsAndSaysNothingIsGivenUp() async throws {
    let server = try LocalServer { connection, _ in _ = connection.readFrame() }
    defer { server.stop() }
    let (socket, record) = try connect(server)
    try await eventually("given up") { !record.events.isEmpty }
    socket.abort()
    socket.send([1])
    let echo = try echo()
    defer { echo.stop() }
    let (other, answers) = try connect(echo)
    other.send([2])
    try await eventually("the next connection goes on") { answers.events.count == 2 }
    #expect(answers.events == [.opened, .message([2])])
    #expect(
      record.events == [
        .failed(.unreachable(host: "127.0.0.1", detail: "it takes connections and does not answer"))
      ])
  }

  @Test func saysWhyItDidNotOpen() async throws {
    let closed = try LocalServer(body: "")
    closed.stop()
    let (refused, refusal) = try connect(closed)
    try await eventually("refused") { !refusal.events.isEmpty }
    #expect(refusal.events == [.failed(.connectionRefused(host: "127.0.0.1", port: closed.port))])

    let plain = try LocalServer(body: "just a page")
    defer { plain.stop() }
    let (page, answer) = try connect(plain)
    try await eventually("answered") { !answer.events.isEmpty }
    #expect(answer.events == [.failed(.notWebSocket(url: "ws://127.0.0.1:\(plain.port)/rumor"))])

    let (nowhere, unknown) = try connect(plain, host: "no-such-host.invalid")
    try await eventually("not found") { !unknown.events.isEmpty }
    #expect(unknown.events == [.failed(.hostNotFound(host: "no-such-host.invalid"))])
    withExtendedLifetime((refused, page, nowhere)) {}
  }

  @Test func verifiesTLS() async throws {
    let certificate = try TestCertificate()
    let server = try echo(certificate)
    defer { server.stop() }
    let (distrusting, failure) = try connect(server, scheme: "wss")
    try await eventually("refused") { !failure.events.isEmpty }
    #expect(
      failure.events == [
        .failed(.tlsFailed(host: "127.0.0.1", detail: "its certificate is self-signed"))
      ])
    for trust in [TLSTrust(certificateFile: certificate.path), TLSTrust(insecure: true)] {
      let (socket, record) = try connect(server, scheme: "wss", trust: trust)
      socket.send([9])
      try await eventually("echoed", state: { "\(record.events)" }) {
        record.events == [.opened, .message([9])]
      }
      socket.close(code: 1000)
    }
    let (unreadable, missing) = try connect(server, trust: TLSTrust(certificateFile: "/nowhere.pem"))
    try await eventually("refused") { !missing.events.isEmpty }
    #expect(missing.events == [.failed(.certificateFileUnreadable(path: "/nowhere.pem"))])
    withExtendedLifetime((distrusting, unreadable)) {}
  }

  @Test func aNameWithSeveralAddressesIsTriedThrough() async throws {
    // localhost is ::1 first on many machines; the server listens on 127.0.0.1 only.
    let server = try echo()
    defer { server.stop() }
    let (socket, record) = try connect(server, host: "localhost")
    socket.send([5])
    try await eventually("echoed", state: { "\(record.events)" }) {
      record.events == [.opened, .message([5])]
    }
  }
}
