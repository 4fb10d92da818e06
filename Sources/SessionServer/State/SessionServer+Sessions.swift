import Base
import OpenTokProtocol

/// Keeps the sessions so that they go on after a restart.
extension SessionServer {
  /// What has changed is written so soon, in one go.
  private static let writingDelay = Duration.milliseconds(50)
  /// On a disk that is slow.
  private static let maximumDelay = Duration.seconds(2)
  /// Clients have long stopped trying to come back: they do so for a minute.
  private static let maximumAbsence = Duration.seconds(80)
  /// Writing takes at most this part of the time, as long as the disk is not slower than `maximumDelay` allows.
  private static let writingShare = 20

  static func sessionStore(_ configuration: Configuration) throws(SessionServerError) -> SessionStore? {
    guard configuration.keepsSessions, let path = configuration.stateDirectory else { return nil }
    let store = try SessionStore(path: path + "/sessions")
    if store == nil {
      Log.warning("serve", "another server keeps its sessions in \(path): these end with this process")
    }
    return store
  }

  /// Goes on with what a server that died left.
  func restoreSessions() {
    guard let sessionStore else { return }
    let records = sessionStore.load(apiKey: apiKey)
    guard !records.isEmpty else { return }
    guard sessionStore.absence < Self.maximumAbsence else {
      for session in records.compactMap({ $0["session"]?.stringValue }) {
        try? sessionStore.keep(nil, of: session)
      }
      let seconds = sessionStore.absence.components.seconds
      return Log.info("serve", "\(records.count) sessions of a server that ended \(seconds) s ago are over")
    }
    carryOut(rooms.restore(records, at: now))
    Log.info("serve", "\(rooms.sessions.count) sessions go on, with \(rooms.connectionCount) connections")
    for session in rooms.sessions {
      // Recording by itself begins with a stream, and here they are.
      for stream in rooms.state(of: session)?.streams ?? [] { archiveNoticed(stream, in: session) }
    }
    tick()
  }

  /// Something may have changed that is to be kept.
  func sessionsChanged() {
    guard sessionStore != nil, rooms.hasChanges, !isWritingPlanned else { return }
    isWritingPlanned = true
    let delay = min(max(Self.writingDelay, writingDuration * Self.writingShare), Self.maximumDelay)
    Task {
      try? await Task.sleep(for: delay)
      isWritingPlanned = false
      writeSessions()
    }
  }

  func writeSessions() {
    guard let sessionStore else { return }
    let began = MonotonicClock.now()
    var fault: SessionServerError?
    for (session, record) in rooms.drainRecords() {
      do throws(SessionServerError) {
        try sessionStore.keep(record, of: session)
      } catch {
        fault = error
        rooms.keepAgain(session)
      }
    }
    if case .state(let path, let reason) = fault, !isWritingBroken {
      Log.error("serve", "sessions would not outlive this server: \(path): \(reason); tried again and again")
    }
    isWritingBroken = fault != nil
    writingDuration = MonotonicClock.now() - began
  }
}
