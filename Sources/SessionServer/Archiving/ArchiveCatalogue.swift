import Base
import OpenTokProtocol

/// All archives of a server and what becomes of them.
///
/// A pure state machine: recorders, files and rooms are the shell's, which does what `drain` says and tells
/// what came of it. `advance` has to be called about once a second while archives are recorded.
package struct ArchiveCatalogue: Sendable {
  package struct Limits: Sendable {
    /// Recorded at once: a composed one takes a good part of a processor.
    package var recordings = 8
    /// After which an archive ends, and an automatic one is followed by the next.
    package var duration = Duration.seconds(4 * 3600)
    /// An archive ends that long after the last client has left.
    package var withoutClients = Duration.seconds(60)
    /// An archive ends after that long if no client has published since it began.
    package var withoutStreams = Duration.seconds(60)
    /// That are recorded into one archive.
    package var streams = 50

    package init() {}
  }

  /// Who is in a session.
  package struct Occupancy: Equatable, Sendable {
    package var clients = 0
    package var streams: [Archive.Stream] = []

    package init(clients: Int = 0, streams: [Archive.Stream] = []) {
      self.clients = clients
      self.streams = streams
    }
  }

  /// An archive that is being recorded, or whose file is being finished.
  private struct Recording {
    let began: Instant
    /// The recorder is in the session, and the clients have been told.
    var isRunning = false
    var hadStreams = false
    var lastOccupied: Instant
  }

  package let limits: Limits
  private(set) var archives: [String: Archive] = [:]
  private var recordings: [String: Recording] = [:]
  private var outputs: [ArchiveOutput] = []

  /// - Parameter archives: the kept ones. What a dead server did not finish is to be recovered.
  package init(_ archives: [Archive] = [], limits: Limits = Limits()) {
    self.limits = limits
    for archive in archives {
      self.archives[archive.id] = archive
      if archive.status == .started || archive.status == .stopped { recover(archive.id, Reason.restarted) }
    }
  }

  enum Reason {
    static let user = "user initiated"
    static let sessionEnded = "session ended"
    static let noStreams = "no client published"
    static let tooLong = "maximum duration exceeded"
    static let restarted = "the server ended while it was recording"
    static let serverEnds = "the server was stopped"
  }

  /// What has been decided since the last call.
  package mutating func drain() -> [ArchiveOutput] {
    defer { outputs = [] }
    return outputs
  }

  package var isRecording: Bool { !recordings.isEmpty }

  /// The newest first.
  package func list(session: String? = nil) -> [Archive] {
    archives.values.filter { session == nil || $0.sessionID == session }
      .sorted { ($0.createdAt, $0.id) > ($1.createdAt, $1.id) }
  }

  package func archive(_ id: String) throws(RoomRefusal) -> Archive {
    guard let archive = archives[id] else { throw .noArchive }
    return archive
  }

  // MARK: Asked for

  /// - Parameter id: a new UUID.
  package mutating func start(
    _ options: ArchiveOptions, id: String, session: String, occupancy: Occupancy, at now: RoomTime
  ) throws(RoomRefusal) -> Archive {
    guard occupancy.clients > 0 else { throw RoomRefusal(400, "no client is in the session") }
    guard !isRecording(session, tag: options.multiArchiveTag) else {
      throw RoomRefusal(409, "the session is being recorded")
    }
    guard recordings.count < limits.recordings else {
      throw RoomRefusal(409, "the server records as many archives as it can")
    }
    var archive = Archive(id: id, sessionID: session, options: options, createdAt: now.unixMilliseconds)
    if options.streamMode == .auto {
      archive.streams = occupancy.streams.prefix(limits.streams).map { archive.entry(for: $0) }
    }
    archives[id] = archive
    recordings[id] = Recording(
      began: now.instant, hadStreams: !occupancy.streams.isEmpty, lastOccupied: now.instant)
    outputs += [.keep(archive), .record(archive)]
    return archive
  }

  /// The clients are told at once; the file follows.
  package mutating func stop(_ id: String) throws(RoomRefusal) -> Archive {
    let archive = try archive(id)
    guard archive.status == .started, let ended = end(id, Reason.user) else {
      throw RoomRefusal(409, "the archive is not being recorded")
    }
    return ended
  }

  package mutating func delete(_ id: String) throws(RoomRefusal) {
    let archive = try archive(id)
    guard archive.status == .available || archive.status == .failed else {
      throw RoomRefusal(409, "the archive is not finished")
    }
    archives[id] = nil
    outputs.append(.erase(id))
  }

  package mutating func setLayout(_ layout: ArchiveLayout, of id: String) throws(RoomRefusal) {
    let archive = try running(id)
    guard archive.options.outputMode == .composed else {
      throw RoomRefusal(400, "individual streams have no layout")
    }
    archives[id]?.layout = layout
    outputs.append(.tell(id, .layout(layout)))
    keep(id)
  }

  package mutating func addStream(
    _ stream: String, hasAudio: Bool, hasVideo: Bool, to id: String, known: Bool
  ) throws(RoomRefusal) {
    let archive = try manual(id)
    guard known else { throw .noStream }
    let entry = Archive.Stream(id: stream, hasAudio: hasAudio, hasVideo: hasVideo)
    if let index = archive.streams.firstIndex(where: { $0.id == stream }) {
      archives[id]?.streams[index] = entry
    } else {
      guard archive.streams.count < limits.streams else {
        throw RoomRefusal(409, "an archive holds at most \(limits.streams) streams")
      }
      archives[id]?.streams.append(entry)
    }
    outputs.append(.tell(id, .add(entry)))
    keep(id)
  }

  package mutating func removeStream(_ stream: String, from id: String) throws(RoomRefusal) {
    let archive = try manual(id)
    guard archive.streams.contains(where: { $0.id == stream }) else { throw .noStream }
    outputs.append(.tell(id, .remove(stream)))
  }

  private func running(_ id: String) throws(RoomRefusal) -> Archive {
    let archive = try archive(id)
    guard archive.status == .started else { throw RoomRefusal(409, "the archive is not being recorded") }
    return archive
  }

  private func manual(_ id: String) throws(RoomRefusal) -> Archive {
    let archive = try running(id)
    guard archive.options.streamMode == .manual else {
      throw RoomRefusal(405, "streams are chosen only if the archive's streamMode is manual")
    }
    return archive
  }

  private func isRecording(_ session: String, tag: String) -> Bool {
    archives.values.contains {
      $0.status == .started && $0.sessionID == session && $0.options.multiArchiveTag == tag
    }
  }

  // MARK: Told

  /// A stream is published, in a session that may want an archive.
  ///
  /// - Parameters:
  ///   - automatic: what the session is to be recorded with from its first stream on.
  ///   - id: a new UUID, for the archive if one is started.
  package mutating func streamCreated(
    _ stream: Archive.Stream, session: String, automatic: ArchiveOptions?, id: String, occupancy: Occupancy,
    at now: RoomTime
  ) {
    if let automatic, !archives.values.contains(where: { $0.status == .started && $0.sessionID == session }) {
      _ = try? start(automatic, id: id, session: session, occupancy: occupancy, at: now)
    }
    for archive in archives.values where archive.status == .started && archive.sessionID == session {
      recordings[archive.id]?.hadStreams = true
      guard archive.options.streamMode == .auto, archive.streams.count < limits.streams,
        !archive.streams.contains(where: { $0.id == stream.id })
      else { continue }
      archives[archive.id]?.streams.append(archive.entry(for: stream))
      keep(archive.id)
    }
  }

  package mutating func layoutClasses(_ classes: [String], ofStream stream: String, session: String) {
    for archive in archives.values where archive.status == .started && archive.sessionID == session {
      outputs.append(.tell(archive.id, .layoutClasses(classes, ofStream: stream)))
    }
  }

  /// The recorder is in the session.
  package mutating func recorderStarted(_ id: String) {
    guard let archive = archives[id], archive.status == .started, recordings[id]?.isRunning == false else {
      return
    }
    recordings[id]?.isRunning = true
    outputs += [.announce(archive), .changed(archive)]
  }

  /// The recorder could not start, failed later, or cannot stop: what it wrote may be worth something.
  package mutating func recorderFailed(_ id: String, _ error: ArchiveError) {
    guard let archive = archives[id], let recording = recordings[id] else { return }
    if archive.status == .started { announceEnd(archive) }
    recordings[id] = nil
    if recording.isRunning, error != .empty { recover(id, error.text) } else { fail(id, error.text) }
  }

  /// The file is finished, by its recorder or out of what a dead one left.
  package mutating func finished(_ id: String, _ file: ArchiveFile) {
    guard archives[id]?.status == .stopped, let name = file.path.split(separator: "/").last else { return }
    recordings[id] = nil
    archives[id]?.status = .available
    archives[id]?.file = String(name)
    archives[id]?.sizeBytes = file.sizeBytes
    archives[id]?.durationSeconds = file.durationSeconds
    changed(id)
  }

  /// Nothing can be made of what a recorder left.
  package mutating func recoveryFailed(_ id: String) {
    guard let archive = archives[id], archive.status == .stopped else { return }
    fail(id, archive.reason)
  }

  /// Lets time pass: ends what has lasted too long or has nobody to record.
  package mutating func advance(to now: RoomTime, newID: () -> String, occupancy: (String) -> Occupancy) {
    for (id, recording) in recordings {
      guard let archive = archives[id], archive.status == .started else { continue }
      let present = occupancy(archive.sessionID)
      if present.clients > 0 { recordings[id]?.lastOccupied = now.instant }
      if now.instant - recording.began >= limits.duration {
        end(id, Reason.tooLong)
        guard archive.options.isAutomatic, !present.streams.isEmpty else { continue }
        _ = try? start(
          archive.options, id: newID(), session: archive.sessionID, occupancy: present, at: now)
      } else if present.clients == 0, now.instant - recording.lastOccupied >= limits.withoutClients {
        end(id, Reason.sessionEnded)
      } else if !recording.hadStreams, now.instant - recording.began >= limits.withoutStreams {
        end(id, Reason.noStreams)
      }
    }
  }

  /// The server is about to stop: every archive is finished.
  package mutating func stopAll() {
    for archive in archives.values where archive.status == .started { end(archive.id, Reason.serverEnds) }
  }

  // MARK: Inside

  @discardableResult
  private mutating func end(_ id: String, _ reason: String) -> Archive? {
    guard var archive = archives[id] else { return nil }
    announceEnd(archive)
    archive.status = .stopped
    archive.reason = reason
    archives[id] = archive
    outputs.append(.tell(id, .stop))
    changed(id)
    return archive
  }

  private mutating func announceEnd(_ archive: Archive) {
    if recordings[archive.id]?.isRunning == true { outputs.append(.announceEnd(archive)) }
  }

  private mutating func recover(_ id: String, _ reason: String) {
    archives[id]?.status = .stopped
    archives[id]?.reason = reason
    if let archive = archives[id] { outputs.append(.recover(archive)) }
    changed(id)
  }

  private mutating func fail(_ id: String, _ reason: String) {
    archives[id]?.status = .failed
    archives[id]?.reason = reason
    changed(id)
  }

  private mutating func keep(_ id: String) {
    if let archive = archives[id] { outputs.append(.keep(archive)) }
  }

  /// Its status is another one.
  private mutating func changed(_ id: String) {
    guard let archive = archives[id] else { return }
    outputs += [.keep(archive), .changed(archive)]
  }
}

/// What the catalogue wants done, in this order.
package enum ArchiveOutput: Equatable, Sendable {
  /// Write down how the archive is now.
  case keep(Archive)
  /// Make a recorder and start it.
  case record(Archive)
  case tell(String, RecorderCommand)
  /// Make a file of what a recorder left behind.
  case recover(Archive)
  /// Remove the archive's files and record.
  case erase(String)
  /// Tell the clients that they are recorded, or no longer.
  case announce(Archive)
  case announceEnd(Archive)
  /// The status is another: for logs and callbacks.
  case changed(Archive)
}

/// What a recorder is told while it runs.
package enum RecorderCommand: Equatable, Sendable {
  case layout(ArchiveLayout)
  case layoutClasses([String], ofStream: String)
  case add(Archive.Stream)
  case remove(String)
  case stop
}
