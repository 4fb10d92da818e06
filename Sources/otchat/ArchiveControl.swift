import Base
import OTKit
import Participant
import Terminal

/// Starts, stops and shows the archives of one session, for those who take part in it.
final class ArchiveControl: Sendable {
  private struct State {
    /// Being recorded, in the order in which they were started.
    var running: [String] = []
    var last: String?
    var sessionID: String?
  }

  private let service: ArchiveService?
  private let state = Lock(State())

  init(_ service: ArchiveService?) { self.service = service }

  /// To be told before anything is asked for.
  func enter(_ credentials: Credentials) { state.withLock { $0.sessionID = credentials.sessionID } }

  /// To be told of every event.
  func note(_ event: ParticipantEvent) {
    switch event {
    case .session(.archiveStarted(let id, _)):
      state.withLock {
        if !$0.running.contains(id) { $0.running.append(id) }
        $0.last = id
      }
    case .session(.archiveStopped(let id, _)): state.withLock { $0.running.removeAll { $0 == id } }
    default: break
    }
  }

  /// Who is in the session hears of it by the session's own events.
  func change(_ change: CallCommand.Switch, _ participant: Participant) async {
    let (sessionID, running) = state.withLock { ($0.sessionID, $0.running.last) }
    guard let service, let sessionID else { return await participant.refuse(Self.noServer) }
    do throws(ArchiveServiceError) {
      switch (change.applied(to: running != nil), running) {
      case (true, nil): _ = try await service.start(session: sessionID)
      case (false, let id?): _ = try await service.stop(id)
      case (true, _): await participant.refuse("the session is being recorded")
      case (false, nil): await participant.refuse("the session is not being recorded")
      }
    } catch {
      await participant.refuse(error.text)
    }
  }

  /// The address of the page that shows the session's latest archive; nil after telling why not.
  func page(_ participant: Participant) async -> String? {
    let (sessionID, last) = state.withLock { ($0.sessionID, $0.last) }
    guard let service, let sessionID else {
      await participant.refuse(Self.noServer)
      return nil
    }
    do throws(ArchiveServiceError) {
      if let id = last { return service.page(of: try await service.get(id)) }
      if let latest = try await service.list(session: sessionID).first { return service.page(of: latest) }
      await participant.refuse("the session has no archive")
    } catch {
      await participant.refuse(error.text)
    }
    return nil
  }

  private static let noServer = "no server is known that records: --server names it"
}

extension ArchiveServiceError {
  /// A line for people.
  var text: String {
    switch self {
    case .unanswered(let error): "the archive server: \(error.message)"
    case .refused(_, let message): message
    case .noArchives(let url): "\(url) knows no archives"
    }
  }
}
