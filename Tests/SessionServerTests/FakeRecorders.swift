import Base
import Glibc
import SessionServer

/// Recorders that write a few bytes and tell what was asked of them.
final class FakeRecorders: Sendable {
  struct State {
    var calls: [String] = []
    var startError: ArchiveError?
    var stopError: ArchiveError?
    var recoverError: ArchiveError?
    /// Recorders wait in `start` or `stop` until it is lifted.
    var isHeld = false
    var failures: [String: ArchiveRecorderFactory.FailureReport] = [:]
    var credentials: [ArchiverCredentials] = []
  }

  static let contents = [UInt8]((0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
  let state = Lock(State())

  var calls: [String] { state.withLock { $0.calls } }

  func set(_ change: @Sendable (inout State) -> Void) { state.withLock { change(&$0) } }

  func note(_ call: String) { state.withLock { $0.calls.append(call) } }

  func fail(_ id: String, _ error: ArchiveError) {
    state.withLock { $0.failures[id] }?(error)
  }

  /// Until it is lifted.
  func hold() async {
    while state.withLock({ $0.isHeld }) { try? await Task.sleep(for: .milliseconds(2)) }
  }

  func write(_ request: ArchiveRequest) throws(ArchiveError) -> ArchiveFile {
    let path = request.directory + (request.outputMode == .composed ? "/archive.mp4" : "/archive.zip")
    let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    guard descriptor >= 0, Glibc.write(descriptor, Self.contents, Self.contents.count) == Self.contents.count
    else { throw .output("no file") }
    close(descriptor)
    return ArchiveFile(path: path, durationSeconds: 6.4, sizeBytes: Int64(Self.contents.count))
  }

  var factory: ArchiveRecorderFactory {
    ArchiveRecorderFactory(
      make: { request, credentials, failure in
        self.state.withLock {
          $0.failures[request.archiveID] = failure
          $0.credentials.append(credentials)
          $0.calls.append("make \(request.outputMode.rawValue) \(request.width)x\(request.height)")
        }
        return FakeRecorder(recorders: self, request: request)
      },
      recover: { request throws(ArchiveError) in
        self.note("recover")
        if let error = self.state.withLock({ $0.recoverError }) { throw error }
        return try self.write(request)
      })
  }
}

private struct FakeRecorder: ArchiveRecorder {
  let recorders: FakeRecorders
  let request: ArchiveRequest

  func start() async throws(ArchiveError) {
    recorders.note("start")
    await recorders.hold()
    if let error = recorders.state.withLock({ $0.startError }) { throw error }
  }

  func setLayout(_ layout: ArchiveLayout) async { recorders.note("layout \(layout.kind.rawValue)") }

  func setLayoutClasses(_ classes: [String], ofStream id: String) async {
    recorders.note("classes \(classes.joined(separator: " ")) of \(id)")
  }

  func addStream(_ id: String, hasAudio: Bool, hasVideo: Bool) async {
    recorders.note("add \(id)\(hasAudio ? " audio" : "")\(hasVideo ? " video" : "")")
  }

  func removeStream(_ id: String) async { recorders.note("remove \(id)") }

  func stop() async throws(ArchiveError) -> ArchiveFile {
    recorders.note("stop")
    await recorders.hold()
    if let error = recorders.state.withLock({ $0.stopError }) { throw error }
    return try recorders.write(request)
  }
}
