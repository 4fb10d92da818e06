import Base
import OpenTokProtocol

/// Keeps the sessions so that they go on after a restart.
extension SessionServer {
  /// What has changed is written so soon, in one go.
  private static let writingDelay = Duration.milliseconds(50)
  /// Writing takes at most this part of the time, however large the sessions are.
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
    guard let records = sessionStore?.load(apiKey: apiKey), !records.isEmpty else { return }
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
    let delay = max(Self.writingDelay, writingDuration * Self.writingShare)
    Task {
      try? await Task.sleep(for: delay)
      isWritingPlanned = false
      writeSessions()
    }
  }

  func writeSessions() {
    guard let sessionStore else { return }
    let began = MonotonicClock.now()
    for (session, record) in rooms.drainRecords() { sessionStore.keep(record, of: session) }
    writingDuration = MonotonicClock.now() - began
  }
}
