import OpenTokProtocol

@testable import SessionServer

/// A started session server on a free port, with a known key and secret and nothing kept.
func withSessionServer(
  configure change: @Sendable (inout SessionServer.Configuration) -> Void = { _ in },
  report: @escaping @Sendable (SessionServerEvent) -> Void = { _ in },
  _ body: (SessionServer) async throws -> Void
) async throws {
  var configuration = SessionServer.Configuration()
  configuration.port = 0
  configuration.apiKey = "100"
  configuration.apiSecret = "test-secret"
  configuration.stateDirectory = nil
  change(&configuration)
  let server = try await SessionServer.start(configuration, report: report)
  do {
    try await body(server)
  } catch {
    await server.stop()
    throw error
  }
  await server.stop()
}

extension Answer {
  func json() throws -> JSON { try JSON(parsing: body) }
}

extension SessionServer {
  nonisolated func request(
    _ method: String, _ path: String, headers: [String: String] = [:], body: [UInt8]? = nil
  ) throws -> Answer {
    try LoopbackClient(port: port).request(method, path, headers: headers, body: body)
  }

  nonisolated func json(
    _ method: String, _ path: String, headers: [String: String] = [:], body: JSON? = nil
  ) throws -> JSON {
    try request(method, path, headers: headers, body: body?.serialized()).json()
  }
}
