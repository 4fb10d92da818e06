import Base
import OpenTokProtocol

/// Keeps the sessions so that they go on after a restart.
extension SessionServer {
  /// What has changed is written so soon, in one go.
  private static let writingDelay = Duration.milliseconds(50)
  /// With sessions so large that they take long to put together.
  private static let maximumDelay = Duration.seconds(2)
  /// Clients have long stopped trying to come back: they do so for a minute.
  private static let maximumAbsence = Duration.seconds(80)
  /// Putting together what is written takes at most this part of the service thread's time.
  private static let collectingShare = 20

  static func sessionStore(
    _ configuration: Configuration, _ database: Database?
  ) throws(SessionServerError) -> SessionStore? {
    guard configuration.keepsSessions, let path = configuration.stateDirectory, let database else {
      return nil
    }
    let store = try SessionStore(path: path + "/sessions", database: database)
    if store == nil {
      Log.warning("serve", "another server keeps its sessions in \(path): these end with this process")
    }
    return store
  }

  /// Goes on with what a server that died left.
  func restoreSessions() throws(SessionServerError) {
    guard let sessionStore else { return }
    let records = try sessionStore.load(apiKey: apiKey)
    guard !records.isEmpty else { return }
    guard sessionStore.absence < Self.maximumAbsence else {
      try sessionStore.keep(records.compactMap { $0["session"]?.stringValue }.map { ($0, nil) })
      let seconds = sessionStore.absence.components.seconds
      return Log.info("serve", "\(records.count) sessions of a server that ended \(seconds) s ago are over")
    }
    carryOut(rooms.restore(records, at: now))
    Log.info("serve", "\(rooms.sessions.count) sessions go on, with \(rooms.connectionCount) connections")
    for session in rooms.sessions {
      unreturnedStreams.formUnion((rooms.state(of: session)?.streams ?? []).map(\.id))
    }
    tick()
  }

  /// Recording by itself begins with a stream; in a session of a server that died, with the first one whose
  /// publisher is back.
  func returned(on socket: RoomSocket) {
    guard !unreturnedStreams.isEmpty else { return }
    for (session, stream) in rooms.streams(ofPublisherOn: socket)
    where unreturnedStreams.remove(stream.id) != nil {
      archiveNoticed(stream, in: session)
    }
  }

  /// Something may have changed that is to be kept.
  func sessionsChanged() {
    guard sessionStore != nil, rooms.hasChanges, !isWriting else { return }
    isWriting = true
    let delay = min(max(Self.writingDelay, collectingDuration * Self.collectingShare), Self.maximumDelay)
    Task {
      try? await Task.sleep(for: delay)
      if let sessionStore { await keep(drainRecords(), in: sessionStore) }
      isWriting = false
      // What cannot be written is tried again with the next tick.
      if !isWritingBroken { sessionsChanged() }
    }
  }

  /// Says that this server is there. Of a disk that hangs it is asked once.
  func touchSessions() {
    guard let sessionStore, !isTouching else { return }
    isTouching = true
    Task {
      await disk.run { sessionStore.touch() }
      isTouching = false
    }
  }

  /// Keeps the sessions for the next server: what happens to them from now on is not their end. They are kept once
  /// the disk is through with it (`DiskQueue.finish`).
  func leaveSessions() {
    guard let store = sessionStore else { return }
    let records = drainRecords()
    sessionStore = nil
    disk.add {
      Self.tell(Self.fault { () throws(SessionServerError) in try store.keep(records) })
      store.release()
    }
  }

  private func drainRecords() -> [(session: String, record: JSON?)] {
    let began = MonotonicClock.now()
    defer { collectingDuration = MonotonicClock.now() - began }
    return rooms.drainRecords()
  }

  private func keep(_ records: [(session: String, record: JSON?)], in store: SessionStore) async {
    let (fault, duration) = await disk.run {
      let began = MonotonicClock.now()
      let fault = Self.fault { () throws(SessionServerError) in try store.keep(records) }
      return (fault, MonotonicClock.now() - began)
    }
    metrics.writeTimes.add(duration)
    if fault != nil { for (session, _) in records { rooms.keepAgain(session) } }
    if !isWritingBroken { Self.tell(fault) }
    isWritingBroken = fault != nil
  }

  private static func fault(_ body: () throws(SessionServerError) -> Void) -> SessionServerError? {
    do throws(SessionServerError) {
      try body()
      return nil
    } catch {
      return error
    }
  }

  private static func tell(_ fault: SessionServerError?) {
    guard let fault else { return }
    Log.error("serve", "sessions would not outlive this server: \(fault.text); tried again and again")
  }
}
