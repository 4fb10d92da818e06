import Archiver
import Base
import CommandLineKit
import FoundationEssentials
import Glibc
import OpenTokProtocol
import Participant
import SessionServer
import Terminal

/// `otchat serve`: the session server until SIGTERM, SIGINT or SIGHUP, or until SIGUSR1 if it is to be started
/// again.
struct ServeCommand {
  private let arguments: Arguments

  init(_ arguments: Arguments) throws {
    var arguments = arguments
    // Only the one that is named: what lies about is connect's.
    if let path = arguments.text("config") { try ConfigurationFile.merge(path, into: &arguments) }
    self.arguments = arguments
  }

  func run() async throws {
    let log = try LogOutput(arguments, isStructured: arguments.text("log-format") == "json")
    if arguments.boolean("daemon") {
      guard arguments.text("events") != "-" else {
        throw Failure(.usage, "--daemon has no standard output for --events -", hint: "name a file")
      }
      if !Daemon.isChild { return try Daemon.start() }
    }
    if let path = arguments.text("pid-file") { try expectNoServer(of: path) }
    DescriptorLimit.raise()
    let (endings, end) = AsyncStream.makeStream(of: Ending.self)
    // Watched before anything is there that would have to be ended.
    let signals = SignalWatch.stream(of: [SIGTERM, SIGINT, SIGHUP, SIGUSR1])
    Task {
      for await signal in signals where signal != 0 { end.yield(.signal(signal)) }
    }
    let events = try arguments.text("events").map { path in
      EventWriter(descriptor: try EventOutput.open(path)) { end.yield(.eventsLost(errno: $0)) }
    }
    let server: SessionServer
    do {
      server = try await SessionServer.start(try configuration()) { event in
        events?.write(event.json(at: WallClock.microseconds()))
      }
    } catch {
      events?.close()
      throw error
    }
    let ending: Ending
    do {
      if let path = arguments.text("pid-file") { try write("\(getpid())\n", to: path) }
      if arguments.text("events") != "-" { try tell("listening on \(server.url)\n") }
      if Daemon.isChild { Daemon.detach(keepingErrors: log.isFile) }
      ending = await first(of: endings)
    } catch {
      await finish(server, events)
      throw error
    }
    var restarts = false
    if case .signal(SIGUSR1) = ending { restarts = true }
    await finish(server, events, restarts: restarts)
    switch ending {
    case .signal(SIGINT): exit(ExitCode.interrupted.rawValue)
    case .signal: break
    case .eventsLost(let number): throw Failure(lost: number, of: "events")
    }
  }

  private enum Ending {
    case signal(Int32)
    case eventsLost(errno: Int32)
  }

  /// Whoever waits for the server to be ready would wait for ever.
  private func tell(_ line: String) throws(Failure) {
    if let number = DescriptorOutput.write(line, to: STDOUT_FILENO) {
      throw Failure(lost: number, of: "to standard output")
    }
  }

  /// A server goes on without the file of its events, whose end is told; not when it was to tell a program.
  private func first(of endings: AsyncStream<Ending>) async -> Ending {
    for await ending in endings {
      guard case .eventsLost(let number) = ending, arguments.text("events") != "-" else { return ending }
      Output.note("warning: \(Failure(lost: number, of: "events").message)")
    }
    return .signal(SIGTERM)
  }

  private func finish(_ server: SessionServer, _ events: EventWriter?, restarts: Bool = false) async {
    await server.stop(restarts: restarts)
    events?.close()
    if let path = arguments.text("pid-file") { unlink(path) }
  }

  private func configuration() throws -> SessionServer.Configuration {
    var configuration = SessionServer.Configuration()
    configuration.host = arguments.text("host") ?? configuration.host
    configuration.port = arguments.integer("port") ?? configuration.port
    configuration.publicURL = arguments.text("public-url")
    configuration.apiKey = arguments.text("api-key")
    configuration.apiSecret = arguments.text("api-secret")
    if arguments.origin("api-secret") == .argument {
      Output.note("warning: --api-secret can be read in the process list; OTCHAT_API_SECRET cannot")
    }
    switch (arguments.text("tls-cert"), arguments.text("tls-key")) {
    case (let certificate?, let key?):
      configuration.certificate = CertificateFiles(certificate: certificate, key: key)
    case (nil, nil): configuration.isSelfSigned = arguments.boolean("tls")
    default: throw Failure(.usage, "--tls-cert and --tls-key go together")
    }
    configuration.accessKey = arguments.text("access-key")
    configuration.isOpen = arguments.boolean("open")
    // Absolute, since --daemon changes the directory.
    configuration.archiveDirectory = arguments.text("archive-dir").map { URL(filePath: $0).path }
    configuration.recorders = .standard
    configuration.keepsSessions = true
    if let seconds = arguments.integer("archive-max-duration") {
      configuration.archiveLimits.duration = .seconds(seconds)
    }
    if let count = arguments.integer("connections-per-address") {
      configuration.limits.connectionsOfOneHost = count
    }
    configuration.callbacks = try callbacks()
    configuration.turnURLs = arguments.text("turn-url").map { [$0] } ?? []
    configuration.turnSecret = arguments.text("turn-secret")
    return configuration
  }

  private func callbacks() throws -> Callbacks? {
    let (session, archive) = (arguments.text("session-callback"), arguments.text("archive-callback"))
    for (flag, url) in [("session-callback", session), ("archive-callback", archive)] {
      guard let url else { continue }
      guard Callbacks.isURL(url) else {
        throw Failure(
          .usage, "--\(flag) needs an http or https URL without a user's name",
          hint: "for example https://example.org/events")
      }
    }
    guard session != nil || archive != nil else { return nil }
    return .posting(sessionURL: session, archiveURL: archive)
  }

  /// The file belongs to a server as long as its process is there.
  private func expectNoServer(of path: String) throws {
    guard let text = try? String(contentsOfFile: path, encoding: .utf8),
      let process = pid_t(text.trimmed), process > 1,
      let program = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(process)/exe"),
      program.split(separator: "/").last?.hasPrefix("otchat") == true
    else { return }
    throw Failure(
      .cannotWrite, "\(path) belongs to a server that is running: process \(process)",
      hint: "'kill \(process)' ends it")
  }

  private func write(_ text: String, to path: String) throws {
    do {
      try text.write(toFile: path, atomically: true, encoding: .utf8)
    } catch {
      throw Failure(
        .cannotWrite, "cannot write \(path)", hint: "does the folder exist, and may it be written to?")
    }
  }
}

extension SessionServerEvent {
  /// `{"event": NAME, "time": …, …}`, with the names of the client's events.
  func json(at microseconds: Int64) -> JSON {
    let (name, fields) = record
    var object: JSON.Object = ["event": .string(name), "time": .number(Double(microseconds) / 1e6)]
    for (key, value) in fields { object[key] = value }
    return .object(object)
  }

  private var record: (String, JSON.Object) {
    switch self {
    case .listening(let url): ("listening", ["url": .string(url)])
    case .archive(let archive):
      (
        "archive" + archive.status.rawValue.prefix(1).uppercased() + archive.status.rawValue.dropFirst(),
        [
          "sessionId": .string(archive.sessionID), "archiveId": .string(archive.id),
          "name": .string(archive.options.name), "reason": .string(archive.reason),
          "duration": .number(archive.durationSeconds), "size": .integer(archive.sizeBytes),
        ]
      )
    case .room(.connectionCreated(let session, let connection)):
      ("connectionCreated", ["sessionId": .string(session), "connectionId": .string(connection.id)])
    case .room(.connectionDestroyed(let session, let connection, let reason)):
      (
        "connectionDestroyed",
        [
          "sessionId": .string(session), "connectionId": .string(connection.id), "reason": .string(reason),
        ]
      )
    case .room(.streamCreated(let session, let stream)):
      (
        "streamCreated",
        [
          "sessionId": .string(session), "streamId": .string(stream.id), "name": .string(stream.name),
          "connectionId": .string(stream.connection.id),
        ]
      )
    case .room(.streamDestroyed(let session, let stream, let reason)):
      (
        "streamDestroyed",
        [
          "sessionId": .string(session), "streamId": .string(stream.id), "name": .string(stream.name),
          "connectionId": .string(stream.connection.id), "reason": .string(reason),
        ]
      )
    }
  }
}
