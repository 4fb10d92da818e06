import OpenTokProtocol

// Streams and their channels.
extension Room {
  func streamIndex(_ id: String) -> Int? { streams.firstIndex { $0.id == id } }

  mutating func publish(_ id: String, _ request: RoomRequest) throws(RoomRefusal) {
    guard request.may(.publish) else { throw .forbidden }
    let content = request.message.content
    let name = content["name"]?.stringValue ?? ""
    let channels = StreamInfo.channels(in: content)
    guard Self.isValidID(id), JSON.string(name).serialized().count - 2 <= RoomConfiguration.maximumName,
      channels.allSatisfy({ Self.isValidID($0.id) })
    else { throw .malformed }
    guard streamIndex(id) == nil else { throw .exists }
    let own = streams.count { $0.publisherID == request.sender.id }
    guard streams.count < configuration.limits.streamsPerSession,
      own < configuration.limits.streamsPerConnection
    else { throw .streamLimit }
    let info = StreamInfo(
      id: id, name: name, creationTime: now.unixMilliseconds, connection: request.sender,
      channels: channels)
    let classes = index(of: request.sender.id).map { members[$0].layoutClasses } ?? []
    let stream = RoomStream(info: info, layoutClasses: classes)
    guard stateBytes + stream.infoBytes <= configuration.limits.stateBytes else { throw .streamLimit }
    streams.append(stream)
    succeed(request, payload: iceServers(for: request))
    broadcast(RaptorMessage(.created, base.with(.stream(id)), content: info.json), from: request.sender.id)
    if !archives.isEmpty { broadcastArchiving(id, true) }
    emit(.event(.streamCreated(session: sessionID, info)))
  }

  /// What a client that publishes or subscribes is answered.
  func iceServers(for request: RoomRequest) -> JSON {
    let servers = configuration.iceServers.servers(
      for: sessionID, now: now.unixMilliseconds / 1000, nonce: request.sender.id)
    return ["content": ["iceServers": ICEServer.json(servers)]]
  }

  mutating func deleteStream(_ id: String, _ request: RoomRequest) throws(RoomRefusal) {
    guard let index = streamIndex(id) else { throw .noStream }
    let isOwn = streams[index].publisherID == request.sender.id
    guard isOwn || request.may(.forceUnpublish) else { throw .forbidden }
    succeed(request)
    unpublish(id, reason: isOwn ? RaptorReason.clientDisconnected : RaptorReason.forceUnpublished)
  }

  /// Ends a stream and tells everybody, the publisher included.
  mutating func unpublish(_ id: String, reason: String) {
    guard let index = streamIndex(id) else { return }
    let info = streams.remove(at: index).info
    broadcast(
      RaptorMessage(.deleted, base.with(.stream(id)), content: info.json, reason: reason),
      from: info.connection.id)
    emit(.event(.streamDestroyed(session: sessionID, info, reason: reason)))
  }

  mutating func updateChannel(
    _ channel: String, of stream: String, _ request: RoomRequest
  ) throws(RoomRefusal) {
    guard let index = streamIndex(stream) else { throw .noStream }
    guard streams[index].publisherID == request.sender.id else { throw .forbidden }
    guard let channelIndex = streams[index].info.channels.firstIndex(where: { $0.id == channel }) else {
      throw .noChannel
    }
    let changes = ChannelInfo.changes(in: request.message.content)
    let old = streams[index].info
    streams[index].info.channels[channelIndex].apply(changes)
    guard stateBytes <= configuration.limits.stateBytes else {
      streams[index].info = old
      throw .tooLarge
    }
    succeed(request)
    guard changes.objectValue?.isEmpty == false else { return }
    broadcast(RaptorMessage(.updated, request.message.uri, content: changes), from: request.sender.id)
  }

  /// Captions: to those who subscribe to the stream.
  mutating func relayData(_ channel: String, of stream: String, _ request: RoomRequest) throws(RoomRefusal) {
    guard let index = streamIndex(stream) else { throw .noStream }
    guard streams[index].publisherID == request.sender.id else { throw .forbidden }
    guard streams[index].info.channels.contains(where: { $0.id == channel }) else { throw .noChannel }
    guard Self.isRelayable(request.message.content) else { throw .tooLarge }
    succeed(request)
    let subscribers = Set(streams[index].subscribers.map(\.connectionID))
    // A caption that comes late is of no use: one who is behind does without.
    let recipients = members.indices.filter {
      subscribers.contains(members[$0].id) && !members[$0].isBehind(configuration.limits)
    }
    send(
      RaptorMessage(.data, request.message.uri, content: request.message.content), from: request.sender.id,
      to: recipients)
  }
}
