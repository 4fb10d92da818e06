import Base
import CommandLineKit
import FoundationEssentials
import Glibc
import OTKit
import OpenTokProtocol
import Participant
import Terminal

/// `otchat archive start|stop|list|view|delete`, through a server's archive routes.
struct ArchiveCommand {
  private let arguments: Arguments
  private let server: String
  private let service: ArchiveService

  static let standardServer = "http://127.0.0.1:8080"

  init(_ arguments: Arguments) throws {
    self.arguments = arguments
    server = arguments.text("server") ?? Self.standardServer
    guard
      let service = ArchiveService(
        server: server, room: arguments.text("room"), trust: ConnectOptions.trust(arguments),
        timeout: ConnectOptions.timeout(arguments))
    else { throw OpenTokError.invalidURL(ServerURL.shown(server)) }
    self.service = service
  }

  func run() async throws {
    do {
      switch arguments.command.path.last {
      case "start": show(try await service.start(session: try await session(), options: options))
      case "stop": show(try await service.stop(try await archive { $0.status == "started" }))
      case "list": list(try await service.list(session: try await session()))
      case "view":
        let id = try await archive { _ in true }
        let archive = try await service.get(id)
        isJSON ? show(archive) : Output.write(service.page(of: archive) + "\n")
      case "delete": try await service.delete(try await archive { _ in false })
      default: throw Failure(.internalError, "no code for '\(arguments.command.name)'")
      }
    } catch let error as ArchiveServiceError {
      throw Failure(error)
    }
  }

  private var isJSON: Bool { arguments.boolean("json") }

  /// The named one, or the server's.
  private func session() async throws -> String {
    if let id = arguments.text("session-id"), !id.isEmpty { return id }
    return try await Credentials.fetch(
      from: server, room: arguments.text("room"), trust: ConnectOptions.trust(arguments),
      timeout: ConnectOptions.timeout(arguments)
    ).sessionID
  }

  /// The named archive, or the session's latest of that kind.
  private func archive(_ isMeant: (RemoteArchive) -> Bool) async throws -> String {
    if let id = arguments.operands.first { return id }
    guard let latest = try await service.list(session: try await session()).first(where: isMeant) else {
      throw Failure(.unavailable, "the session has no such archive", hint: "'otchat archive list' shows them")
    }
    return latest.id
  }

  private var options: JSON {
    var options: JSON = [:]
    for (flag, key) in [
      ("name", "name"), ("output-mode", "outputMode"), ("resolution", "resolution"),
      ("stream-mode", "streamMode"),
    ] {
      if arguments.isGiven(flag), let text = arguments.text(flag) { options[key] = .string(text) }
    }
    if arguments.isGiven("layout"), let layout = arguments.text("layout") {
      options["layout"] = ["type": .string(layout)]
    }
    return options
  }

  private func show(_ archive: RemoteArchive) {
    Output.write(isJSON ? archive.json.text + "\n" : archive.id + "\n")
  }

  private func list(_ archives: [RemoteArchive]) {
    if isJSON {
      for archive in archives { Output.write(archive.json.text + "\n") }
      return
    }
    for archive in archives {
      let created = Date(timeIntervalSince1970: Double(archive.createdAt) / 1000).formatted(.iso8601)
      let columns = [
        archive.id, created, archive.status.padded(to: 9),
        "\(archive.duration) s", "\((archive.size + 999) / 1000) kB",
        PrintableText.truncated(archive.name, to: 60),
      ]
      Output.write(columns.joined(separator: "  ").trimmed + "\n")
    }
  }
}

extension Failure {
  /// - Parameter error: why a server did nothing with an archive.
  init(_ error: ArchiveServiceError) {
    switch error {
    case .unanswered(let error): self.init(error as any Error)
    case .refused(let status, let message):
      let code: ExitCode =
        switch status {
        case 401, 403: .refused
        case 400: .usage
        default: .unavailable
        }
      let hint: String? =
        switch status {
        case 403: "--server URL?accessKey=KEY, if the server asks for a key"
        case 400 where message.hasPrefix("no client"):
          "who is to be recorded comes first, and --room is the room: 'otchat connect --room NAME'"
        default: nil
        }
      self.init(code, error.text, hint: hint)
    case .noArchives:
      self.init(.protocolError, error.text, hint: "--server names an otchat server or one like it")
    }
  }
}
