import Base
import CommandLineKit
import OTKit
import OpenTokProtocol
import Participant
import SessionServer

/// Credentials for the participants of a run, all for one session: of an app server, or of a server of our
/// own.
struct ScenarioCredentials {
  private static let room = "scenario"

  /// Where they come from.
  let url: String
  /// The server in this process, if there is one.
  let embedded: SessionServer?
  private let room: String?
  private let trust: TLSTrust

  init(_ arguments: Arguments) async throws {
    trust = ConnectOptions.trust(arguments)
    if let url = arguments.text("server") {
      self.url = url
      embedded = nil
      room = arguments.text("room")
      return
    }
    var configuration = SessionServer.Configuration()
    configuration.port = 0
    // Many participants come from one address.
    configuration.stateDirectory = nil
    let server = try await SessionServer.start(configuration)
    embedded = server
    url = server.url
    room = arguments.text("room") ?? Self.room
  }

  /// The archives of the participants' session.
  func archives() -> ArchiveControl {
    ArchiveControl(ArchiveService(server: url, room: nil, trust: trust, timeout: .seconds(10)))
  }

  /// Fresh ones, and what asking for them took.
  func get(_ role: Role, timeout: Duration) async throws -> (Credentials, time: Duration) {
    let began = MonotonicClock.now()
    do {
      let credentials = try await ask(role, timeout)
      return (credentials, MonotonicClock.now() - began)
    } catch let error as OpenTokError {
      throw ConnectFailure(error, [.init(.credentials, MonotonicClock.now() - began)])
    }
  }

  private func ask(_ role: Role, _ timeout: Duration) async throws -> Credentials {
    guard embedded == nil, role != .publisher, let endpoint = Credentials.endpoint(of: url, room: room) else {
      var credentials = try await Credentials.fetch(from: url, room: room, trust: trust, timeout: timeout)
      if let embedded,
        let token = embedded.token(
          session: credentials.sessionID, role: role, now: WallClock.microseconds() / 1_000_000)
      {
        credentials.token = token
      }
      return credentials
    }
    let credentials = try await Credentials.fetch(
      from: endpoint.appendingQuery("role", role.rawValue).text, trust: trust, timeout: timeout)
    if let given = try? Token.inspect(credentials.token).role, given != role {
      throw Failure(
        .refused, "the app server gave a token for a \(given.rawValue) where a \(role.rawValue) is needed",
        hint: "it is asked for by ?role=\(role.rawValue)")
    }
    return credentials
  }
}
