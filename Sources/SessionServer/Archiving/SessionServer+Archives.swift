import Base
import OpenTokProtocol

/// Carries out what the catalogue of archives decides: recorders, files, and what clients are told.
extension SessionServer {
  /// A recorder that runs: what it is told goes through a queue, so that everything comes in order.
  struct Recording {
    let commands: AsyncStream<RecorderCommand>.Continuation
    /// Nil until the disk has given it.
    var lock: ArchiveLock?
  }

  /// Whether archives can be recorded here.
  var recordsArchives: Bool { configuration.recorders != nil && store != nil }

  func carryOutArchives() {
    while true {
      let outputs = archives.drain()
      if outputs.isEmpty { break }
      outputs.forEach(carryOut)
    }
    if archives.isRecording, !isTicking { tick() }
  }

  private func carryOut(_ output: ArchiveOutput) {
    switch output {
    case .keep(let archive): keep(archive)
    case .record(let archive): record(archive)
    case .tell(let id, let command): recordings[id]?.commands.yield(command)
    case .recover(let archive): recover(archive)
    case .erase(let id): erase(id)
    case .announce(let archive):
      announce(.archiveStarted(id: archive.id, name: archive.options.name), in: archive.sessionID)
    case .announceEnd(let archive): announce(.archiveStopped(id: archive.id), in: archive.sessionID)
    case .changed(let archive):
      Log.info("serve", "archive \(archive.id) \(archive.status.rawValue): \(archive.reason)")
      report(.archive(archive))
      if let delivery = callbacks[.archive] {
        var body = json(archive, at: ownAddress)
        body["event"] = "archive"
        delivery.add(body, session: archive.sessionID)
      }
    }
  }

  private func keep(_ archive: Archive) {
    write(archive.id) { (store) throws(SessionServerError) in try store.keep(archive) }
  }

  private func erase(_ id: String) {
    write(id) { (store) throws(SessionServerError) in try store.erase(id) }
  }

  private func write(
    _ id: String, _ body: @escaping @Sendable (ArchiveStore) throws(SessionServerError) -> Void
  ) {
    guard let store else { return }
    hasWritten = true
    disk.add {
      do throws(SessionServerError) {
        try body(store)
      } catch {
        Log.error("serve", "the record of archive \(id) cannot be written: \(error.text)")
      }
    }
  }

  /// Nobody may be there any more to be told.
  private func announce(_ action: RoomAction, in session: String) {
    if let outputs = try? rooms.perform(action, in: session, at: now) { carryOut(outputs) }
  }

  private func record(_ archive: Archive) {
    let (commands, queue) = AsyncStream.makeStream(of: RecorderCommand.self)
    recordings[archive.id] = Recording(commands: queue)
    for (stream, classes) in rooms.layoutClasses(of: archive.sessionID) {
      queue.yield(.layoutClasses(classes, ofStream: stream))
    }
    Task { await self.start(archive, commands) }
  }

  private func start(_ archive: Archive, _ commands: AsyncStream<RecorderCommand>) async {
    let id = archive.id
    guard let recorders = configuration.recorders, let store, let lock = await disk.run({ store.lock(id) })
    else {
      return recorderFailed(id, .output("\(id) cannot be made in the archive directory"))
    }
    recordings[id]?.lock = lock
    let recorder = recorders.make(
      archive.request(directory: store.directory(id)), archiverCredentials(archive.sessionID)
    ) { error in
      Task { await self.recorderFailed(id, error) }
    }
    await run(recorder, id, commands)
  }

  private func run(
    _ recorder: any ArchiveRecorder, _ id: String, _ commands: AsyncStream<RecorderCommand>
  ) async {
    do throws(ArchiveError) {
      try await recorder.start()
    } catch {
      return recorderFailed(id, error)
    }
    archives.recorderStarted(id)
    carryOutArchives()
    for await command in commands {
      switch command {
      case .layout(let layout): await recorder.setLayout(layout)
      case .layoutClasses(let classes, let stream):
        await recorder.setLayoutClasses(classes, ofStream: stream)
      case .add(let stream):
        await recorder.addStream(stream.id, hasAudio: stream.hasAudio, hasVideo: stream.hasVideo)
      case .remove(let stream): await recorder.removeStream(stream)
      case .stop:
        let result = await Self.result { () async throws(ArchiveError) in try await recorder.stop() }
        // One that has failed meanwhile is recovered.
        guard let recording = recordings.removeValue(forKey: id) else { return }
        settle(id, result)
        return release(recording.lock)
      }
    }
  }

  private func release(_ lock: ArchiveLock?) {
    if let lock { disk.add { lock.release() } }
  }

  private func settle(_ id: String, _ result: Result<ArchiveFile, ArchiveError>) {
    switch result {
    case .success(let file): archives.finished(id, file)
    case .failure(let error): archives.recorderFailed(id, error)
    }
    carryOutArchives()
  }

  private static func result(
    _ body: () async throws(ArchiveError) -> ArchiveFile
  ) async -> Result<ArchiveFile, ArchiveError> {
    do throws(ArchiveError) { return .success(try await body()) } catch { return .failure(error) }
  }

  private func recorderFailed(_ id: String, _ error: ArchiveError) {
    Log.warning("serve", "archive \(id): \(error.text)")
    let recording = recordings.removeValue(forKey: id)
    recording?.commands.finish()
    release(recording?.lock)
    archives.recorderFailed(id, error)
    carryOutArchives()
  }

  private func recover(_ archive: Archive) {
    guard let recorders = configuration.recorders, let store else { return }
    let request = archive.request(directory: store.directory(archive.id))
    recoveries += 1
    Task {
      guard let lock = await disk.run({ store.lock(archive.id) }) else {
        recoveries -= 1
        return
      }
      do {
        archives.finished(archive.id, try await recorders.recover(request))
      } catch {
        archives.recoveryFailed(archive.id)
      }
      carryOutArchives()
      release(lock)
      recoveries -= 1
    }
  }

  /// Finishes all archives, within reason; meanwhile the recorders leave their sessions.
  func stopArchives() async {
    archives.stopAll()
    carryOutArchives()
    let deadline = MonotonicClock.now() + .seconds(20)
    while !recordings.isEmpty || recoveries > 0, MonotonicClock.now() < deadline {
      try? await Task.sleep(for: .milliseconds(10))
    }
  }

  /// A stream came, in a session that may be recorded, or is to be from its first stream on.
  func archiveNoticed(_ stream: StreamInfo, in session: String) {
    guard recordsArchives else { return }
    let automatic = SessionID(session)?.automaticArchive.flatMap { ArchiveOptions(automatic: $0) }
    archives.streamCreated(
      Archive.Stream(stream), session: session, automatic: automatic, id: UUID.v4(),
      occupancy: rooms.occupancy(of: session), at: now)
    if let classes = rooms.layoutClasses(of: session)[stream.id] {
      archives.layoutClasses(classes, ofStream: stream.id, session: session)
    }
    carryOutArchives()
  }
}
