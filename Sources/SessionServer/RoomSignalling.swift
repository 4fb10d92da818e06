import OpenTokProtocol

// Signals and moderation, by clients and by the REST API.
extension Room {
  // MARK: Asked for by clients

  mutating func signal(to recipient: String?, _ request: RoomRequest) throws(RoomRefusal) {
    guard request.may(.signal) else { throw .forbidden }
    let content = try Self.signalContent(request.message.content)
    guard recipient.map(isVisible) ?? true else { throw .noConnection }
    // One that takes nothing must not silence signals to all: their bytes have a rate instead.
    guard let index = index(of: request.sender.id), !(recipient.map(isBehind) ?? false),
      takeSignal(index, bytes: content.text.utf8.count)
    else { throw .tooFast }
    succeed(request)
    sendSignal(content, uri: request.message.uri, from: request.sender, to: recipient)
  }

  mutating func deleteConnection(_ id: String, _ request: RoomRequest) throws(RoomRefusal) {
    if id == request.sender.id {
      succeed(request)
      return leave(id, reason: RaptorReason.clientDisconnected)
    }
    guard request.may(.forceDisconnect) else { throw .forbidden }
    guard isVisible(id) else { throw .noConnection }
    succeed(request)
    kick(id, reason: RaptorReason.forceDisconnected)
  }

  mutating func mute(_ stream: String, _ request: RoomRequest) throws(RoomRefusal) {
    guard request.message.content["reason"] == .string(RaptorReason.mute) else { throw .malformed }
    guard request.may(.forceMute) else { throw .forbidden }
    guard streamIndex(stream) != nil else { throw .noStream }
    succeed(request)
    sendMute(stream, active: request.message.content["active"]?.boolValue ?? true, from: request.sender.id)
  }

  mutating func muteAll(_ request: RoomRequest) throws(RoomRefusal) {
    let content = request.message.content
    guard content["reason"] == .string(RaptorReason.mute) else { throw .malformed }
    guard request.may(.forceMute) else { throw .forbidden }
    succeed(request)
    sendMuteAll(
      active: content["active"]?.boolValue ?? true,
      excluding: (content["exclusion"]?.arrayValue ?? []).compactMap(\.stringValue), from: request.sender.id)
  }

  // MARK: Done

  /// Whether the data of a signal or caption is within the limits.
  static func isRelayable(_ data: JSON) -> Bool {
    let text = data.text
    return text.utf16.count <= RoomConfiguration.maximumSignalData
      && text.utf8.count <= RoomConfiguration.maximumSignalBytes
  }

  /// Type and data of a signal, if they are within the limits.
  static func signalContent(_ content: JSON) throws(RoomRefusal) -> JSON {
    var result: JSON = [:]
    for (key, value) in content.objectValue ?? [:] {
      switch key {
      case "type":
        guard let type = value.stringValue, type.utf8.count <= RoomConfiguration.maximumSignalType,
          type.utf8.allSatisfy(isUnreserved)
        else { throw .malformed }
      case "data":
        guard isRelayable(value) else { throw .tooLarge }
      default: continue
      }
      result[key] = value
    }
    return result
  }

  /// - Parameter sender: nil for the REST API.
  mutating func sendSignal(
    _ content: JSON, uri: RaptorURI, from sender: ConnectionInfo?, to recipient: String?
  ) {
    let from = sender?.id ?? ""
    let recipients = members.indices.filter { recipient == nil || members[$0].id == recipient }
    let uninformed = recipients.filter { members[$0].suppressesConnectionEvents }
    let informed = recipients.filter { !members[$0].suppressesConnectionEvents }
    send(RaptorMessage(.signal, uri, content: content), from: from, to: informed)
    guard !uninformed.isEmpty else { return }
    // Those who hear nothing of connections are told whose it is.
    var detailed = content
    if let sender { detailed["fromConnection"] = sender.json }
    send(RaptorMessage(.signal, uri, content: detailed), from: from, to: uninformed)
  }

  mutating func sendMute(_ stream: String, active: Bool, from sender: String) {
    broadcast(
      RaptorMessage(.update, base.with(.stream(stream)), content: Self.muteContent(active: active)),
      from: sender)
  }

  /// Mutes every stream that there is but the excluded ones, and those that are published from now on; or
  /// lifts the latter. Web SDKs do not mute on the session's update alone.
  mutating func sendMuteAll(active: Bool, excluding excluded: [String], from sender: String) {
    muteOnEntry = active
    if active {
      for stream in streams where !excluded.contains(stream.id) {
        sendMute(stream.id, active: true, from: sender)
      }
    }
    var content = Self.muteContent(active: active)
    content["exclusion"] = .array(excluded.filter { streamIndex($0) != nil }.map(JSON.string))
    broadcast(RaptorMessage(.update, base, content: content), from: sender)
  }

  private static func muteContent(active: Bool) -> JSON {
    ["reason": .string(RaptorReason.mute), "channels": ["audio"], "active": .bool(active), "locked": false]
  }
}
