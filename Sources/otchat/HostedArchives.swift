import Base
import SessionServer

/// What the server in this process has recorded: when it is gone, files are all that is left of that.
final class HostedArchives: Sendable {
  private let finished = Lock<[Archive]>([])

  /// To be told of every event of the server.
  func note(_ event: SessionServerEvent) {
    guard case .archive(let archive) = event, archive.status == .available else { return }
    finished.withLock { $0.append(archive) }
  }

  /// Stops the server; a recording under way is finished.
  ///
  /// - Returns: the files that were recorded, in the order in which they were finished.
  func files(stopping server: SessionServer) async -> [String] {
    await server.stop()
    return finished.withLock { $0 }.compactMap { server.file(of: $0) }
  }
}
