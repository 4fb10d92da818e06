import Base
import OpenTokProtocol

/// Entering the session, and the answers to requests.
extension SignallingMachine {
  mutating func join(at now: Instant) {
    let connectionID = configuration.connectionID
    send(
      RumorFrame(
        .connect,
        headers: [
          RumorFrame.Header.uniqueID: connectionID, RumorFrame.Header.transactionID: newID(),
          RumorFrame.Header.notifyDisconnectAddress: configuration.symphonyAddress,
        ]), at: now)
    send(RumorFrame(.subscribe, to: [base.description]), at: now)
    let transactionID = newID()
    var frame = messageFrame(
      RaptorMessage(
        .create, base.with(.connection(connectionID)),
        content: [
          "userAgent": .string(ClientVersion.userAgent), "clientVersion": .string(ClientVersion.text),
          "capabilities": ["forceMute", "renegotiation"],
        ]), transactionID)
    frame.headers.append(RumorFrame.Header.token, configuration.token)
    state = .joining(transactionID: transactionID, until: now + configuration.connectTimeout)
    send(frame, at: now)
  }

  mutating func receivedStatus(_ frame: RumorFrame, at now: Instant) {
    guard let transactionID = frame.transactionID else {
      ignoredFrames += 1
      return
    }
    let payload = (try? JSON(parsing: frame.payload)) ?? .null
    // A status without a number is an error, as in other clients.
    let status = frame.status ?? 500
    let answer: Answer =
      (200..<300).contains(status)
      ? .success(payload) : .refused(status: status, reason: payload["reason"]?.stringValue ?? "")
    if case .joining(transactionID, _) = state {
      switch answer {
      case .success(let content):
        guard let session = SessionState(content) else {
          let error = OpenTokError.unexpectedAnswer(step: .joining, detail: "it holds no session state")
          actions.append(.closeSocket(code: 1000))
          return finish(.failed(error), failure: error)
        }
        joinState = session
        tryToEnter()
      case .refused(let status, let reason):
        let error: OpenTokError =
          reason == "connectionLimitExceeded"
          ? .connectionLimitExceeded : .connectRefused(status: status, reason: reason)
        actions.append(.closeSocket(code: 1000))
        finish(.failed(error), failure: error)
      case .timedOut, .lost:
        break
      }
      return
    }
    guard let index = pending.firstIndex(where: { $0.transactionID == transactionID }) else { return }
    pending.remove(at: index)
    sendPending(at: now)
    emit(.answered(transactionID: transactionID, answer))
  }

  /// Enters once the session's state is known and our own connection with it.
  mutating func tryToEnter() {
    guard case .joining = state, let session = joinState,
      let own = session.connections.first(where: { $0.id == configuration.connectionID })
        ?? connections[configuration.connectionID]
    else { return }
    joinState = nil
    state = .connected
    muteOnEntry = session.muteOnEntry
    connections = [:]
    emit(.connected(own))
    let others = session.connections.filter { $0.id != own.id }
    for connection in ([own] + others).prefix(Self.maximumObjects) {
      connections[connection.id] = connection
      emit(.connectionCreated(connection))
    }
    for stream in session.streams.prefix(Self.maximumObjects) {
      streams[stream.id] = stream
      emit(.streamCreated(stream))
    }
    for archive in session.archives.prefix(Self.maximumObjects) where archive.status == "started" {
      archives[archive.id] = archive.name
      emit(.archiveStarted(id: archive.id, name: archive.name))
    }
  }
}
