import Base
import Codecs
import Glibc
import MediaIO
import OTKit
import OpenTokProtocol
import SessionServer

/// A WebM file a stream, as it was encoded, and at the end a ZIP file of them with a manifest.
///
/// The manifest is kept beside the files from the first stream on, so that a ZIP file can be made of what a
/// server that died has left.
actor IndividualOutput: ArchiveOutput {
  static let maximumStreams = 50

  private let request: ArchiveRequest
  private let failed: @Sendable (ArchiveError) -> Void
  private var manifest: ArchiveManifest
  private var start = Instant.zero
  private var recorders: [StreamRecorder] = []
  private var failure: ArchiveError?

  /// - Parameter failed: nothing is recorded any more; from any thread.
  init(_ request: ArchiveRequest, apiKey: String, failed: @escaping @Sendable (ArchiveError) -> Void) {
    self.request = request
    self.failed = failed
    manifest = ArchiveManifest(
      createdAt: 0, id: request.archiveID, name: request.name, partnerID: apiKey,
      sessionID: request.sessionID)
  }

  func begin() throws(ArchiveError) {
    start = MonotonicClock.now()
    manifest.createdAt = WallClock.microseconds() / 1000
    try Self.save(manifest, request)
  }

  func add(_ stream: OTKit.Stream, hasAudio: Bool, hasVideo: Bool) throws(ArchiveError)
    -> any EncodedMediaSink
  {
    let name = fileName(stream.id)
    let size = stream.videoDimensions.map { VideoSize(width: $0.width, height: $0.height) }
    manifest.files.append(
      ArchiveManifest.File(
        connectionData: stream.connection.data, filename: name, startTimeOffset: offset(MonotonicClock.now()),
        stopTimeOffset: offset(MonotonicClock.now()), streamID: stream.id,
        videoType: hasVideo ? stream.videoType?.rawValue : nil))
    let (events, relay) = AsyncStream.makeStream(of: StreamRecorder.Event.self)
    let recorder: StreamRecorder
    do throws(ThreadError) {
      recorder = try StreamRecorder(
        StreamRecorder.Configuration(
          path: request.directory + "/" + name, hasAudio: hasAudio && stream.carriesAudio,
          hasVideo: hasVideo && stream.videoType != nil, videoSize: size)
      ) { relay.yield($0) }
    } catch {
      manifest.files.removeLast()
      throw ArchiveError(error)
    }
    recorders.append(recorder)
    Task {
      for await event in events {
        take(event, name, recorder)
        if case .finished = event { break }
      }
    }
    return recorder
  }

  /// A stream that was recorded before has a second file. Ids come from the server, and are no paths.
  private func fileName(_ streamID: String) -> String {
    let safe = streamID.filter { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }
    let before = manifest.files.filter { $0.streamID == streamID }.count
    return safe + (before == 0 ? "" : "-\(before + 1)") + ".webm"
  }

  private func offset(_ time: Instant) -> Int64 { max(0, (time - start).nanoseconds / 1_000_000) }

  private func take(_ event: StreamRecorder.Event, _ name: String, _ recorder: StreamRecorder) {
    let index = manifest.files.firstIndex { $0.filename == name }
    switch event {
    case .started(_, let time):
      if let index { manifest.files[index].startTimeOffset = offset(time) }
      do throws(ArchiveError) { try Self.save(manifest, request) } catch { fail(error) }
    case .failed(let error): fail(ArchiveError(error))
    case .finished(let summary):
      recorders.removeAll { $0 === recorder }
      guard let index else { return }
      if let time = summary.start {
        manifest.files[index].size = summary.bytes
        manifest.files[index].stopTimeOffset = offset(time + summary.duration)
      } else {
        manifest.files.remove(at: index)
      }
    }
  }

  private func fail(_ error: ArchiveError) {
    guard failure == nil else { return }
    failure = error
    failed(error)
  }

  func update(_ streamID: String, hasAudio: Bool, hasVideo: Bool) {}
  func setLayout(_ layout: ArchiveLayout) {}
  func setClasses(_ classes: [String], ofStream id: String) {}

  func finish() async throws(ArchiveError) -> ArchiveFile {
    let duration = MonotonicClock.now() - start
    await abandon()
    if let failure { throw failure }
    let (manifest, request) = (manifest, request)
    return try await onOwnThread { () throws(ArchiveError) in
      try Self.complete(manifest, request, duration: duration.seconds)
    }
  }

  func abandon() async {
    for recorder in recorders { recorder.mediaEnded() }
    while !recorders.isEmpty { try? await Task.sleep(for: .milliseconds(5)) }
    try? Self.save(manifest, request)
  }

  // MARK: Files

  private static func manifestPath(_ request: ArchiveRequest) -> String {
    request.directory + "/streams.json"
  }

  private static func save(_ manifest: ArchiveManifest, _ request: ArchiveRequest) throws(ArchiveError) {
    let path = manifestPath(request)
    let bytes = Array(manifest.json.text.utf8)
    let descriptor = open(path + ".partial", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw .output(String(cString: strerror(errno))) }
    let count = write(descriptor, bytes, bytes.count)
    let reason = count < 0 ? errno : ENOSPC
    close(descriptor)
    guard count == bytes.count else { throw .output(String(cString: strerror(reason))) }
    guard rename(path + ".partial", path) == 0 else { throw .output(String(cString: strerror(errno))) }
  }

  private static func complete(_ manifest: ArchiveManifest, _ request: ArchiveRequest, duration: Double)
    throws(ArchiveError) -> ArchiveFile
  {
    let target = request.directory + "/archive.zip"
    let partial = target + ".partial"
    do throws(ArchiveError) {
      var zip = try StoredZIP(path: partial)
      for file in manifest.files {
        try zip.add(file.filename, contentsOf: request.directory + "/" + file.filename)
      }
      try zip.add("\(manifest.id).json", Array(manifest.json.text.utf8))
      try zip.finish()
    } catch {
      unlink(partial)
      throw error
    }
    guard rename(partial, target) == 0 else { throw .output(String(cString: strerror(errno))) }
    for file in manifest.files { unlink(request.directory + "/" + file.filename) }
    unlink(manifestPath(request))
    return ArchiveFile(path: target, durationSeconds: duration, sizeBytes: fileSize(target))
  }

  /// Of what a recorder that did not end has left.
  static func recover(_ request: ArchiveRequest) throws(ArchiveError) -> ArchiveFile {
    guard let json = read(manifestPath(request)), var manifest = ArchiveManifest(json) else { throw .empty }
    var files: [ArchiveManifest.File] = []
    for var file in manifest.files {
      let path = request.directory + "/" + file.filename
      do throws(SourceError) {
        let length = try MediaRemuxer.remux(path, to: path + ".partial", .webm)
        guard rename(path + ".partial", path) == 0 else {
          throw .cannotWrite(path: path, reason: String(cString: strerror(errno)))
        }
        file.size = fileSize(path)
        file.stopTimeOffset = file.startTimeOffset + length.nanoseconds / 1_000_000
        files.append(file)
      } catch {
        unlink(path + ".partial")
        if case .output(let reason) = ArchiveError(error) { throw .output(reason) }
        Log.info("archive", "\(file.filename) cannot be recovered: \(error.message)")
      }
    }
    guard !files.isEmpty else { throw .empty }
    manifest.files = files
    let end = files.map(\.stopTimeOffset).max() ?? 0
    return try complete(manifest, request, duration: Double(end) / 1000)
  }

  private static func read(_ path: String) -> JSON? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: Int(min(fileSize(path), 1 << 24)))
    let count = Glibc.read(descriptor, &bytes, bytes.count)
    return count == bytes.count ? try? JSON(parsing: bytes) : nil
  }
}
