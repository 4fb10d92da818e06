import Base

@testable import SessionServer

/// An actor that is home to a `WebServer` whose routes are of use to tests only.
actor WebServerHost {
  nonisolated let loop = ServiceLoop(name: "test-web")
  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  private var server: WebServer?
  private(set) var opened: [HTTPRequest] = []
  private(set) var messages: [[UInt8]] = []
  private(set) var ends: [WebSocketEnd] = []
  private(set) var timers = 0
  private var port = 0

  var connectionCount: Int { server?.connectionCount ?? 0 }
  var queuedBytes: Int { server?.webSockets.map(\.queuedBytes).reduce(0, +) ?? 0 }

  func start(_ change: @Sendable (inout WebServer.Configuration) -> Void = { _ in }) throws -> Int {
    var configuration = WebServer.Configuration()
    configuration.port = 0
    change(&configuration)
    let listening = try WebServer.listen(configuration)
    port = listening.port
    server = try WebServer(
      loop: loop, configuration: configuration, listening: listening,
      handlers: WebServer.Handlers(
        request: { self.answer($0) },
        refusal: { $0.path == "/socket" ? nil : .failure(404, "no WebSocket here") },
        opened: { self.opened.append($0.request) },
        message: { self.receive($1, from: $0) },
        closed: { self.ends.append($1) },
        timer: { self.timers += 1 }))
    return port
  }

  func stop() {
    server?.close()
    server = nil
  }

  func send(_ bytes: [UInt8]) { server?.webSockets.forEach { $0.send(bytes) } }
  func closeSockets(code: Int) { server?.webSockets.forEach { $0.close(code: code, reason: "test") } }
  func wake(at instant: Instant?) { server?.wake(at: instant) }
  func stopListening() { server?.stopListening() }

  /// Sends to each socket until its limit cuts it off; how much one held at most.
  func flood(_ bytes: [UInt8], times: Int) -> Int {
    var most = 0
    for _ in 0..<times {
      server?.webSockets.forEach {
        $0.send(bytes)
        most = max(most, $0.queuedBytes)
      }
    }
    return most
  }

  private func answer(_ request: HTTPRequest) -> HTTPResponse {
    switch request.path {
    case "/big": return HTTPResponse(contentType: "text/plain", body: [UInt8](repeating: 65, count: 300_000))
    case "/nothing": return .noContent
    case "/echo", "/caf\u{E9}":
      let query = request.query.map { "\($0.name)=\($0.value)" }.joined(separator: "|")
      let headers = request.headers.filter { $0.key.hasPrefix("x-") }.sorted { $0.key < $1.key }
        .map { "\($0.key)=\($0.value)" }.joined(separator: "|")
      let text = "\(request.method.rawValue) \(request.path) [\(query)] [\(headers)] "
      return HTTPResponse(contentType: "text/plain", body: [UInt8](text.utf8) + request.body)
    default: return .failure(404, "not \"found\"")
    }
  }

  private func receive(_ message: [UInt8], from socket: WebSocket) {
    messages.append(message)
    if message.starts(with: [UInt8]("echo".utf8)) { socket.send(message) }
  }
}

/// A server on a free port for the time of `body`.
func withServer(
  _ change: @Sendable (inout WebServer.Configuration) -> Void = { _ in },
  _ body: (WebServerHost, Int) async throws -> Void
) async throws {
  let host = WebServerHost()
  let port = try await host.start(change)
  do {
    try await body(host, port)
  } catch {
    await host.stop()
    throw error
  }
  await host.stop()
}
