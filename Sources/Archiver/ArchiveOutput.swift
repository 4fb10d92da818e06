import Base
import MediaIO
import OTKit
import SessionServer

/// Where the streams of an archive go.
protocol ArchiveOutput: Actor {
  /// The most streams it bears at a time.
  static var maximumStreams: Int { get }

  /// From now on the archive's time runs.
  func begin() throws(ArchiveError)
  /// Takes the media of a stream that is about to be subscribed to.
  func add(_ stream: OTKit.Stream, hasAudio: Bool, hasVideo: Bool) throws(ArchiveError)
    -> any EncodedMediaSink
  /// What is wanted of a stream has changed, or whether its publisher sends a picture.
  func update(_ streamID: String, hasAudio: Bool, hasVideo: Bool)
  func setLayout(_ layout: ArchiveLayout)
  func setClasses(_ classes: [String], ofStream id: String)
  /// All sinks have been told of their end. Completes the archive.
  func finish() async throws(ArchiveError) -> ArchiveFile
  /// Closes the files, so that they can be recovered.
  func abandon() async
}

/// Work with files that may be large, off the shared pool, on which the server's signalling runs.
func onOwnThread<Value: Sendable>(
  _ body: @escaping @Sendable () throws(ArchiveError) -> Value
) async throws(ArchiveError) -> Value {
  let result = await withCheckedContinuation { continuation in
    do throws(ThreadError) {
      _ = try MediaThread.start(name: "archive") {
        do throws(ArchiveError) {
          continuation.resume(returning: Result<Value, ArchiveError>.success(try body()))
        } catch {
          continuation.resume(returning: .failure(error))
        }
      }
    } catch {
      continuation.resume(returning: .failure(ArchiveError(error)))
    }
  }
  return try result.get()
}

extension ArchiveError {
  init(_ error: ThreadError) { self = .media(error.message) }

  init(_ error: SourceError) {
    switch error {
    case .cannotWrite(_, let reason): self = .output(reason)
    case .fileMissing, .noAudio, .noVideo, .notDecodable: self = .empty
    default: self = .media(error.message)
    }
  }
}
