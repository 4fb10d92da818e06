import CommandLineKit
import Foundation
import OTKit
import Participant
import SessionServer

/// Where a session's credentials come from: flags, an app server, or a server of our own.
struct CredentialSource {
  let credentials: Credentials
  /// The page where others can join, if the server has one.
  let page: String?
  /// The server in this process, if it was started for this call.
  let embedded: SessionServer?
  /// Asks for credentials again; nil where there is nobody to ask.
  var renew: Participant.Renewal?

  private static let standardPort = 8080

  static func resolve(_ arguments: Arguments) async throws -> CredentialSource {
    // What is given on the command line wins over a server from the environment, and the other way round.
    let names = ["api-key", "session-id", "token"]
    let given = names.filter { arguments.text($0)?.isEmpty == false }
    let strongest = names.map { arguments.origin($0) }.max() ?? .defaultValue
    if !given.isEmpty, arguments.text("server") == nil || strongest >= arguments.origin("server") {
      return try direct(arguments, missing: names.filter { !given.contains($0) })
    }
    if let server = arguments.text("server") { return try await fetch(from: server, arguments) }
    return try await own(arguments)
  }

  private static func direct(_ arguments: Arguments, missing: [String]) throws -> CredentialSource {
    guard missing.isEmpty, let apiKey = arguments.text("api-key"), let session = arguments.text("session-id"),
      let token = arguments.text("token")
    else {
      let flags = missing.map { "--\($0)" }.joined(separator: " and ")
      throw Failure(.usage, "\(flags) missing: API key, session id and token go together")
    }
    let credentials = Credentials(
      apiKey: apiKey, sessionID: session, token: token, apiURL: arguments.text("api-url"))
    return CredentialSource(credentials: credentials, page: nil, embedded: nil)
  }

  private static func fetch(
    from server: String, _ arguments: Arguments, embedded: SessionServer? = nil
  ) async throws -> CredentialSource {
    let (room, apiURL) = (arguments.text("room"), arguments.text("api-url"))
    let (trust, timeout) = (ConnectOptions.trust(arguments), ConnectOptions.timeout(arguments))
    let renew: Participant.Renewal = { () async throws(OpenTokError) -> Credentials in
      var credentials = try await Credentials.fetch(from: server, room: room, trust: trust, timeout: timeout)
      credentials.apiURL = apiURL ?? credentials.apiURL
      return credentials
    }
    let credentials = try await renew()
    // An otchat server's page is where its API is.
    let isOurs = credentials.apiURL.map { server.hasPrefix($0) } ?? false
    return CredentialSource(
      credentials: credentials, page: isOurs ? page(credentials.apiURL, arguments) : nil, embedded: embedded,
      renew: renew)
  }

  /// The server that answers on the standard port if it is an otchat, else one of our own.
  private static func own(_ arguments: Arguments) async throws -> CredentialSource {
    let standard = "http://127.0.0.1:\(standardPort)"
    if await isOtchat(standard) { return try await fetch(from: standard, arguments) }
    var configuration = SessionServer.Configuration()
    configuration.port = standardPort
    let server: SessionServer
    do {
      server = try await SessionServer.start(configuration)
    } catch SessionServerError.web(.addressInUse) {
      configuration.port = 0
      server = try await SessionServer.start(configuration)
    }
    do {
      return try await fetch(from: server.url, arguments, embedded: server)
    } catch {
      await server.stop()
      throw error
    }
  }

  private static func isOtchat(_ url: String) async -> Bool {
    guard let health = ServerURL(url + "/healthz") else { return false }
    let client = HTTPClient(trust: .system, timeout: .seconds(1))
    guard let answer = try? await client.send(HTTPRequest(health), step: .credentials) else { return false }
    return answer.server.hasPrefix("otchat")
  }

  private static func page(_ origin: String?, _ arguments: Arguments) -> String? {
    guard let origin else { return nil }
    guard let room = arguments.text("room"),
      let encoded = room.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed)
    else { return origin + "/" }
    return origin + "/?room=" + encoded
  }
}
