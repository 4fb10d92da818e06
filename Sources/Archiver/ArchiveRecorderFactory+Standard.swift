import Base
import SessionServer

extension ArchiveRecorderFactory {
  /// Records by a subscriber of our own engine: MP4, or a ZIP of WebM files.
  package static let standard = ArchiveRecorderFactory { request, credentials, report in
    let failures = Failures()
    let output: any ArchiveOutput =
      switch request.outputMode {
      case .composed: ComposedOutput(request) { failures.tell($0) }
      case .individual: IndividualOutput(request, apiKey: credentials.apiKey) { failures.tell($0) }
      }
    let archiver = SessionArchiver(request, credentials, output: output, report: report)
    failures.set(archiver)
    return archiver
  } recover: { request async throws(ArchiveError) in
    try await onOwnThread { () throws(ArchiveError) in
      switch request.outputMode {
      case .composed: try ComposedOutput.recover(request)
      case .individual: try IndividualOutput.recover(request)
      }
    }
  }

  /// An output's way to its archiver, which is made after it.
  private final class Failures: Sendable {
    private struct Target {
      weak var archiver: SessionArchiver?
    }

    private let target = Lock(Target())

    func set(_ archiver: SessionArchiver) { target.withLock { $0.archiver = archiver } }

    func tell(_ error: ArchiveError) {
      guard let archiver = target.withLock({ $0.archiver }) else { return }
      Task { await archiver.fail(error) }
    }
  }
}
