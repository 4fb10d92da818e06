import OpenTokProtocol

/// What the REST API and the server itself do to a session.
package enum RoomAction: Equatable, Sendable {
  /// `content` as it was posted: `type` and `data`. `id`: a new UUID.
  case signal(id: String, content: JSON, to: String?)
  case forceDisconnect(connection: String)
  case forceUnpublish(stream: String)
  case mute(stream: String)
  case muteAll(active: Bool, excluding: [String])
  /// Of streams, by their ids, for composed archives.
  case setLayoutClasses([String: [String]])
  case archiveStarted(id: String, name: String)
  case archiveStopped(id: String)
}

extension Room {
  mutating func perform(_ action: RoomAction) throws(RoomRefusal) {
    switch action {
    case .signal(let id, let content, let recipient):
      let content = try Self.signalContent(content)
      guard recipient.map(isVisible) ?? true else { throw .noConnection }
      sendSignal(content, uri: base.with(.signal(id: id, to: recipient)), from: nil, to: recipient)
    case .forceDisconnect(let connection):
      guard isVisible(connection) else { throw .noConnection }
      kick(connection, reason: RaptorReason.forceDisconnected)
    case .forceUnpublish(let stream):
      guard streamIndex(stream) != nil else { throw .noStream }
      unpublish(stream, reason: RaptorReason.forceUnpublished)
    case .mute(let stream):
      guard streamIndex(stream) != nil else { throw .noStream }
      sendMute(stream, active: true, from: "")
    case .muteAll(let active, let excluded):
      sendMuteAll(active: active, excluding: excluded, from: "")
    case .setLayoutClasses(let changes):
      guard changes.keys.allSatisfy({ streamIndex($0) != nil }) else { throw .noStream }
      guard changes.values.allSatisfy(RoomStream.areLayoutClasses) else { throw .tooLarge }
      for (id, classes) in changes {
        if let index = streamIndex(id) { streams[index].layoutClasses = classes }
      }
    case .archiveStarted(let id, let name):
      guard !archives.contains(where: { $0.id == id }) else { throw .exists }
      let archive = SessionState.Archive(id: id, name: name, status: "started")
      archives.append(archive)
      broadcast(
        RaptorMessage(.created, base.with(.archive(id)), content: archive.json),
        from: configuration.symphonyAddress)
      for stream in streams { broadcastArchiving(stream.id, true) }
    case .archiveStopped(let id):
      guard let index = archives.firstIndex(where: { $0.id == id }) else { throw .noResource }
      archives.remove(at: index)
      broadcast(
        RaptorMessage(.updated, base.with(.archive(id)), content: ["status": "stopped"]),
        from: configuration.symphonyAddress)
      if archives.isEmpty { for stream in streams { broadcastArchiving(stream.id, false) } }
    }
  }

  /// Pages show that they are recorded when they have been told so of a stream.
  mutating func broadcastArchiving(_ stream: String, _ archiving: Bool) {
    broadcast(
      RaptorMessage(.updated, base.with(.stream(stream)), content: ["archiving": .bool(archiving)]),
      from: configuration.symphonyAddress)
  }

  /// Tells every connection that it has ended, and closes its WebSocket.
  mutating func shutDown() {
    archives = []
    for member in members {
      tellOfItsEnd(member)
      leave(member.id, reason: RaptorReason.networkDisconnected)
      if let socket = member.socket { emit(.close(socket, code: RoomCloseCode.goingAway)) }
    }
  }

  private mutating func tellOfItsEnd(_ member: RoomMember) {
    let message = RaptorMessage(
      .deleted, base.with(.connection(member.id)), content: member.info.json,
      reason: RaptorReason.networkDisconnected)
    send(message, from: member.id, to: member.id)
  }
}
