/// Records one archive: joins the session through the server (`ArchiverCredentials`), subscribes, and writes
/// files into the request's directory.
///
/// The server calls `start` once, then the others in any order, then `stop` once; nothing after that, and
/// nothing after a failure was reported. A session without streams is recorded too: they may come.
package protocol ArchiveRecorder: Sendable {
  /// Returns when it is in the session and what comes is recorded.
  func start() async throws(ArchiveError)
  /// Of a composed archive, from now on.
  func setLayout(_ layout: ArchiveLayout) async
  /// The classes that a stream has in layouts, such as `focus` and `full`.
  func setLayoutClasses(_ classes: [String], ofStream id: String) async
  /// Records that stream too, or changes what of it is recorded. Only with manual streams.
  func addStream(_ id: String, hasAudio: Bool, hasVideo: Bool) async
  /// Only with manual streams.
  func removeStream(_ id: String) async
  /// Leaves the session and finishes the file.
  func stop() async throws(ArchiveError) -> ArchiveFile
}

/// A finished archive.
package struct ArchiveFile: Equatable, Sendable {
  /// Absolute, in the request's directory: `archive.mp4` or `archive.zip`.
  package var path: String
  package var durationSeconds: Double
  package var sizeBytes: Int64

  package init(path: String, durationSeconds: Double, sizeBytes: Int64) {
    self.path = path
    self.durationSeconds = durationSeconds
    self.sizeBytes = sizeBytes
  }
}

/// Why an archive fails. The texts become the archive's `reason`: no tokens in them.
package enum ArchiveError: Error, Equatable, Sendable {
  /// The recorder cannot enter the session, or was thrown out of it.
  case session(String)
  /// Nothing can be written: no space, no right.
  case output(String)
  /// An encoder or muxer that is missing or fails.
  case media(String)
  /// There was nothing to record, or nothing of it can be recovered.
  case empty

  package var text: String {
    switch self {
    case .session(let reason): "the session cannot be recorded: \(reason)"
    case .output(let reason): "the file cannot be written: \(reason)"
    case .media(let reason): "the media cannot be recorded: \(reason)"
    case .empty: "nothing was recorded"
    }
  }
}

/// How the server gets its recorders; without one it records no archives.
package struct ArchiveRecorderFactory: Sendable {
  /// Tells the server that a recorder that had started has failed. At most once; from any thread.
  package typealias FailureReport = @Sendable (ArchiveError) -> Void

  /// A recorder that has not started yet.
  package var make:
    @Sendable (ArchiveRequest, ArchiverCredentials, @escaping FailureReport) -> any ArchiveRecorder

  /// Finishes what a recorder wrote whose server died in the middle, from the request's directory alone.
  package var recover: @Sendable (ArchiveRequest) async throws(ArchiveError) -> ArchiveFile

  package init(
    make:
      @escaping @Sendable (ArchiveRequest, ArchiverCredentials, @escaping FailureReport) ->
      any ArchiveRecorder,
    recover: @escaping @Sendable (ArchiveRequest) async throws(ArchiveError) -> ArchiveFile
  ) {
    self.make = make
    self.recover = recover
  }
}
