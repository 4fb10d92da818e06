import Archiver
import Base
import CommandLineKit
import Glibc
import OTKit
import Participant
import SessionServer

/// Where a session's credentials come from: flags, an app server, or a server of our own.
struct CredentialSource {
  let credentials: Credentials
  /// The page where others can join, if the server has one.
  let page: String?
  /// Whether the page wants the access key that the server's address had.
  var pageNeedsKey = false
  /// The server in this process, if it was started for this call.
  let embedded: SessionServer?
  /// What that server has recorded.
  var recorded: HostedArchives?
  /// Asks for credentials again; nil where there is nobody to ask.
  var renew: Participant.Renewal?
  /// The server's archives, where there is a server to ask.
  var archives: ArchiveService?
  /// What asking for the credentials took; nil: nobody was asked.
  var time: Duration?
  /// What was strange about how it was started.
  var warning: String?

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
      Log.info("connect", "asking \(ServerURL.shown(server)) for credentials")
      var credentials = try await Credentials.fetch(from: server, room: room, trust: trust, timeout: timeout)
      credentials.apiURL = apiURL ?? credentials.apiURL
      return credentials
    }
    let began = MonotonicClock.now()
    let credentials: Credentials
    do {
      credentials = try await telling(unless: arguments.boolean("quiet"), server) { try await renew() }
    } catch let error as OpenTokError {
      throw ConnectFailure(error, [.init(.credentials, MonotonicClock.now() - began)])
    }
    let time = MonotonicClock.now() - began
    let archives = ArchiveService(server: server, room: room, trust: trust, timeout: timeout)
    // An otchat server's page is where its API is.
    guard let endpoint = Credentials.endpoint(of: server, room: arguments.text("room")),
      credentials.apiURL.flatMap({ ServerURL($0) })?.origin == endpoint.origin
    else {
      return CredentialSource(
        credentials: credentials, page: nil, embedded: embedded, renew: renew, archives: archives, time: time)
    }
    var page = endpoint
    (page.path, page.query) = ("/", nil)
    if let room = endpoint.room { page = page.appendingQuery("room", room) }
    // The key itself is not repeated.
    let needsKey = endpoint.query?.contains("accessKey=") == true
    if needsKey { page = page.appendingQuery("accessKey", "KEY") }
    return CredentialSource(
      credentials: credentials, page: page.text, pageNeedsKey: needsKey, embedded: embedded, renew: renew,
      archives: archives, time: time)
  }

  /// Says who is waited for when it takes long.
  private static func telling<Answer>(
    unless quiet: Bool, _ server: String, _ body: () async throws -> Answer
  ) async throws -> Answer {
    let notice = Task {
      try await Task.sleep(for: .seconds(1))
      if !quiet { Output.note("waiting for \(ServerURL.shown(server))…") }
    }
    defer { notice.cancel() }
    return try await body()
  }

  /// What others can do with the page.
  var invitation: String? {
    guard let page else { return nil }
    return "others can join at \(page)"
      + (pageNeedsKey ? " (KEY is the access key)" : "")
      + (embedded == nil ? "" : "; the call ends for all when this otchat leaves")
  }

  /// Ends the server of our own, if there is one. Returns the files of what it has recorded.
  func end() async -> [String] {
    guard let embedded else { return [] }
    guard let recorded else {
      await embedded.stop()
      return []
    }
    return await recorded.files(stopping: embedded)
  }

  /// The server that answers on the standard port if it is an otchat, else one of our own.
  private static func own(_ arguments: Arguments) async throws -> CredentialSource {
    let standard = "http://127.0.0.1:\(standardPort)"
    if await isOtchat(standard) { return try await fetch(from: standard, arguments) }
    var configuration = SessionServer.Configuration()
    configuration.port = standardPort
    configuration.recorders = .standard
    let server: SessionServer
    let recorded = HostedArchives()
    var warning: String?
    do {
      server = try await SessionServer.start(configuration) { recorded.note($0) }
    } catch SessionServerError.web(.addressInUse) {
      configuration.port = 0
      server = try await SessionServer.start(configuration) { recorded.note($0) }
      warning =
        "port \(standardPort) belongs to something that is no otchat, so the server is on port \(server.port)"
    }
    do {
      var source = try await fetch(from: server.url, arguments, embedded: server)
      source.warning = warning
      source.recorded = recorded
      return source
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
}
