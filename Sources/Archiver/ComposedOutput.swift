import Base
import Codecs
import Glibc
import MediaIO
import OTKit
import SessionServer

/// All streams in one MP4 file: fragments while it is being recorded, an index at its beginning in the end.
actor ComposedOutput: ArchiveOutput {
  static let maximumStreams = 16

  private let request: ArchiveRequest
  private let failed: @Sendable (ArchiveError) -> Void
  private var composer: Composer?
  private var sources: [String: CompositionSource] = [:]
  private var classes: [String: [String]] = [:]
  private let endings: AsyncStream<Composer.Result>
  private let ending: AsyncStream<Composer.Result>.Continuation

  /// - Parameter failed: nothing is recorded any more; from any thread.
  init(_ request: ArchiveRequest, failed: @escaping @Sendable (ArchiveError) -> Void) {
    self.request = request
    self.failed = failed
    (endings, ending) = AsyncStream.makeStream()
  }

  func begin() throws(ArchiveError) {
    let configuration = Composer.Configuration(
      path: Self.workingPath(request),
      size: VideoSize(width: request.width & ~1, height: request.height & ~1), hasAudio: request.hasAudio,
      hasVideo: request.hasVideo, maximumBitrate: request.maximumBitrate)
    let (failed, ending) = (failed, ending)
    do throws(ThreadError) {
      composer = try Composer(configuration) {
        failed(ArchiveError($0))
      } ended: {
        ending.yield($0)
        ending.finish()
      }
    } catch {
      throw ArchiveError(error)
    }
    setLayout(request.layout)
  }

  func add(_ stream: OTKit.Stream, hasAudio: Bool, hasVideo: Bool) throws(ArchiveError)
    -> any EncodedMediaSink
  {
    let source = CompositionSource(
      streamID: stream.id, name: stream.name, isScreen: stream.videoType == .screen,
      hasVideo: hasVideo && stream.hasVideo)
    source.setHasAudio(hasAudio)
    source.setClasses(classes[stream.id] ?? [])
    sources[stream.id] = source
    composer?.add(source)
    return source
  }

  func update(_ streamID: String, hasAudio: Bool, hasVideo: Bool) {
    sources[streamID]?.setHasAudio(hasAudio)
    sources[streamID]?.setHasVideo(hasVideo)
  }

  func setLayout(_ layout: ArchiveLayout) {
    composer?.setLayout(
      CompositionLayout(
        CompositionLayout.Kind(layout.kind), screenshareKind: layout.screenshareKind.map { .init($0) }))
  }

  func setClasses(_ classes: [String], ofStream id: String) {
    self.classes[id] = classes
    sources[id]?.setClasses(classes)
  }

  func finish() async throws(ArchiveError) -> ArchiveFile {
    let result = await end()
    guard let result else { throw .empty }
    if let failure = result.failure { throw ArchiveError(failure) }
    let request = request
    return try await onOwnThread { () throws(ArchiveError) in
      try Self.complete(request, duration: result.duration)
    }
  }

  func abandon() async { _ = await end() }

  private func end() async -> Composer.Result? {
    guard let composer else { return nil }
    composer.stop()
    for await result in endings { return result }
    return nil
  }

  // MARK: Files

  private static func workingPath(_ request: ArchiveRequest) -> String {
    request.directory + "/recording.mp4"
  }

  /// Of what there is, however it came to its end.
  static func recover(_ request: ArchiveRequest) throws(ArchiveError) -> ArchiveFile {
    try complete(request, duration: nil)
  }

  private static func complete(_ request: ArchiveRequest, duration: Duration?) throws(ArchiveError)
    -> ArchiveFile
  {
    let target = request.directory + "/archive.mp4"
    let working = workingPath(request)
    // It may have died right behind the renaming.
    guard access(working, F_OK) == 0 || access(target, F_OK) != 0 else {
      return ArchiveFile(path: target, durationSeconds: try seconds(of: target), sizeBytes: fileSize(target))
    }
    let partial = target + ".partial"
    let length: Duration
    do throws(SourceError) {
      length = try MediaRemuxer.remux(working, to: partial, .mp4)
    } catch {
      unlink(partial)
      throw ArchiveError(error)
    }
    guard rename(partial, target) == 0 else { throw .output(String(cString: strerror(errno))) }
    unlink(working)
    return ArchiveFile(
      path: target, durationSeconds: (duration ?? length).seconds, sizeBytes: fileSize(target))
  }

  private static func seconds(of path: String) throws(ArchiveError) -> Double {
    do throws(SourceError) {
      return try MediaRemuxer.length(path).seconds
    } catch {
      throw ArchiveError(error)
    }
  }
}

extension CompositionLayout.Kind {
  /// A stylesheet of one's own is more than is understood: the grid.
  init(_ kind: ArchiveLayout.Kind) {
    self =
      switch kind {
      case .bestFit, .custom: .bestFit
      case .pip: .pip
      case .verticalPresentation: .verticalPresentation
      case .horizontalPresentation: .horizontalPresentation
      }
  }
}
