import Base
import OpenTokProtocol

/// What the server's messages do to the picture of the session.
extension SignallingMachine {
  mutating func receivedMessage(_ message: RaptorMessage, from: String, at now: Instant) {
    let content = message.content
    switch (message.uri.resource, message.method) {
    case (.connection(let id), .created):
      connectionCreated(id, content)
    case (.connection(let id), .deleted):
      connectionDeleted(id, content, reason: message.reason, at: now)
    case (_, _) where state != .connected:
      // The session's state, which is still to come, holds the effect of all other messages.
      break
    case (.stream, .created):
      streamCreated(content)
    case (.stream(let id), .deleted):
      guard let stream = streams.removeValue(forKey: id) else { break }
      emit(.streamDestroyed(stream, reason: message.reason ?? RaptorReason.clientDisconnected))
    case (.stream(let id), .updated):
      guard var stream = streams[id], let name = content["name"]?.stringValue, name != stream.name else {
        break
      }
      let oldName = stream.name
      stream.name = name
      streams[id] = stream
      emit(.streamRenamed(stream, oldName: oldName))
    case (.stream(let id), .update):
      guard isMute(content, message.reason), mutesAudio(content) else { return ignore() }
      emit(.muteRequested(streamID: id, active: content["active"]?.boolValue ?? true))
    case (.session, .update):
      guard isMute(content, message.reason) else { return ignore() }
      muteOnEntry = content["active"]?.boolValue ?? true
      emit(.muteForced(active: muteOnEntry))
    case (.channel(let stream, let channel), .updated):
      channelUpdated(stream, channel, content)
    case (.subscriber(let stream, let subscriber), .deleted):
      emit(.subscriberDestroyed(streamID: stream, subscriberID: subscriber))
    case (.subscriberChannel(let stream, let subscriber, let channel), .update):
      guard let active = content["active"]?.boolValue else { return ignore() }
      emit(
        .subscriberChannel(streamID: stream, subscriberID: subscriber, channelID: channel, active: active))
    case (let resource, .generateOffer), (let resource, .offer), (let resource, .answer),
      (let resource, .candidate):
      negotiation(message.method, resource, content, from: from)
    case (.signal, .signal):
      emit(
        .signal(
          type: content["type"]?.stringValue, data: content["data"], from: from.isEmpty ? nil : from))
    case (.archive(let id), .created), (.archive(let id), .updated):
      archiveChanged(id, content)
    case (.subscriber, .created), (.subscriberChannel, .updated):
      // What follows (an offer is asked for, a channel changes) says all that matters.
      break
    default:
      ignore()
    }
  }

  private mutating func ignore() { ignoredFrames += 1 }

  private func isMute(_ content: JSON, _ reason: String?) -> Bool {
    (content["reason"]?.stringValue ?? reason) == RaptorReason.mute
  }

  private func mutesAudio(_ content: JSON) -> Bool {
    content["channels"]?.arrayValue?.contains("audio") ?? true
  }

  private mutating func connectionCreated(_ id: String, _ content: JSON) {
    guard let connection = ConnectionInfo(content), connection.id == id else { return ignore() }
    guard connections[id] == nil, connections.count < Self.maximumObjects else { return }
    connections[id] = connection
    if state == .connected { emit(.connectionCreated(connection)) }
  }

  private mutating func connectionDeleted(_ id: String, _ content: JSON, reason: String?, at now: Instant) {
    let reason = reason ?? RaptorReason.clientDisconnected
    let connection = connections.removeValue(forKey: id)
    guard state == .connected else { return }
    if id == configuration.connectionID { return dismissed(reason: reason, at: now) }
    guard let connection else { return }
    emit(.connectionDestroyed(connection, reason: reason))
  }

  private mutating func streamCreated(_ content: JSON) {
    guard var stream = StreamInfo(content) else { return ignore() }
    guard streams[stream.id] == nil, streams.count < Self.maximumObjects else { return }
    // Some servers name only the connection's id.
    if let known = connections[stream.connection.id] { stream.connection = known }
    streams[stream.id] = stream
    emit(.streamCreated(stream))
  }

  private mutating func channelUpdated(_ streamID: String, _ channelID: String, _ changes: JSON) {
    guard var stream = streams[streamID],
      let index = stream.channels.firstIndex(where: { $0.id == channelID })
    else { return ignore() }
    let old = stream.channels[index]
    if let warning = changes["disableWarning"]?.boolValue {
      emit(.disableWarning(streamID: streamID, channelID: channelID, warning))
    }
    stream.channels[index].apply(changes)
    guard stream.channels[index] != old else { return }
    streams[streamID] = stream
    emit(.channelUpdated(stream, from: old, to: stream.channels[index]))
  }

  private mutating func negotiation(
    _ method: RaptorMessage.Method, _ resource: RaptorURI.Resource, _ content: JSON, from: String
  ) {
    guard let peer = try? PeerAddress(resource, content) else { return ignore() }
    switch method {
    case .generateOffer:
      emit(.offerRequested(peer, from: from))
    case .candidate:
      guard let candidate = content["candidate"]?.stringValue else { return ignore() }
      let index = content["sdpMLineIndex"]?.integerValue.flatMap { Int(exactly: $0) }
      emit(
        .candidate(
          peer, candidate: candidate, sdpMid: content["sdpMid"]?.stringValue, sdpMLineIndex: index))
    default:
      guard let sdp = content["sdp"]?.stringValue else { return ignore() }
      emit(method == .offer ? .offer(peer, sdp: sdp, from: from) : .answer(peer, sdp: sdp, from: from))
    }
  }

  private mutating func archiveChanged(_ id: String, _ content: JSON) {
    let name = content["name"]?.stringValue ?? archives[id] ?? ""
    switch content["status"]?.stringValue {
    case "started":
      guard archives[id] == nil, archives.count < Self.maximumObjects else { return }
      archives[id] = name
      emit(.archiveStarted(id: id, name: name))
    case "stopped":
      guard archives.removeValue(forKey: id) != nil else { return }
      emit(.archiveStopped(id: id, name: name))
    default:
      break
    }
  }
}

/// The requests of a client, as messages.
extension SignallingMachine {
  package func createStream(id: String, name: String, channels: [ChannelInfo]) -> RaptorMessage {
    RaptorMessage(
      .create, base.with(.stream(id)),
      content: [
        "id": .string(id), "name": .string(name), "audioFallbackEnabled": false,
        "publisherAudioFallbackEnabled": false, "subscriberAudioFallbackEnabled": false,
        "channel": .array(channels.map(\.json)), "e2ee": false,
      ])
  }

  package func deleteStream(_ id: String) -> RaptorMessage { RaptorMessage(.delete, base.with(.stream(id))) }

  package func updateChannel(stream: String, channel: String, _ changes: JSON) -> RaptorMessage {
    RaptorMessage(.update, base.with(.channel(stream: stream, channel: channel)), content: changes)
  }

  package func createSubscriber(id: String, stream: StreamInfo) -> RaptorMessage {
    let channels: [JSON] = stream.channels.filter { $0.kind != .data }.map { channel in
      var json: JSON = ["id": .string(channel.id), "type": .string(channel.kind.rawValue), "active": true]
      if channel.kind == .video { json["restrictFrameRate"] = false }
      return json
    }
    return RaptorMessage(
      .create, base.with(.subscriber(stream: stream.id, subscriber: id)),
      content: [
        "id": .string(id), "connection": .string(configuration.connectionID),
        "keyManagementMethod": "DTLS_SRTP", "bundleSupport": true, "rtcpMuxSupport": true, "e2ee": false,
        "channel": .array(channels),
      ])
  }

  package func deleteSubscriber(_ id: String, stream: String) -> RaptorMessage {
    RaptorMessage(.delete, base.with(.subscriber(stream: stream, subscriber: id)))
  }

  package func updateSubscriberChannel(
    stream: String, subscriber: String, channel: String, active: Bool
  ) -> RaptorMessage {
    RaptorMessage(
      .update, base.with(.subscriberChannel(stream: stream, subscriber: subscriber, channel: channel)),
      content: ["active": .bool(active)])
  }

  /// Tells a subscriber of a stream of ours what becomes of its picture. A server that does not pass this on
  /// refuses it.
  func fallback(stream: String, subscriber: String, channel: String, _ change: PublisherVideoChange)
    -> RaptorMessage
  {
    let content: JSON =
      switch change {
      case .videoDisabled: ["active": false]
      case .videoEnabled: ["active": true]
      case .videoDisableWarning: ["disableWarning": true]
      case .videoDisableWarningLifted: ["disableWarning": false]
      }
    var told = content
    told["activeReason"] = "quality"
    return RaptorMessage(
      .update, base.with(.subscriberChannel(stream: stream, subscriber: subscriber, channel: channel)),
      content: told)
  }

  /// Asks the publisher for a new offer.
  package func requestOffer(_ peer: PeerAddress) -> RaptorMessage {
    RaptorMessage(
      .generateOffer, base.with(peer.resource), content: peer.content(["simulcastEnabled": false]))
  }

  package func offer(_ sdp: String, to peer: PeerAddress) -> RaptorMessage {
    RaptorMessage(
      .offer, base.with(peer.resource), content: peer.content(["type": "offer", "sdp": .string(sdp)]))
  }

  package func answer(_ sdp: String, to peer: PeerAddress) -> RaptorMessage {
    RaptorMessage(
      .answer, base.with(peer.resource), content: peer.content(["type": "answer", "sdp": .string(sdp)]))
  }

  package func candidate(
    _ candidate: String, sdpMid: String?, sdpMLineIndex: Int, to peer: PeerAddress
  ) -> RaptorMessage {
    RaptorMessage(
      .candidate, base.with(peer.resource),
      content: peer.content([
        "candidate": .string(candidate), "sdpMid": sdpMid.map(JSON.string) ?? .null,
        "sdpMLineIndex": .integer(Int64(sdpMLineIndex)),
      ]))
  }

  /// - Parameter id: a new UUID.
  package func signal(id: String, type: String?, data: JSON?, to connection: String?) -> RaptorMessage {
    var content: JSON = [:]
    if let type { content["type"] = .string(type) }
    if let data { content["data"] = data }
    return RaptorMessage(.signal, base.with(.signal(id: id, to: connection)), content: content)
  }

  package func deleteConnection(_ id: String) -> RaptorMessage {
    RaptorMessage(.delete, base.with(.connection(id)))
  }

  package func muteStream(_ id: String) -> RaptorMessage {
    RaptorMessage(
      .update, base.with(.stream(id)),
      content: ["reason": "mute", "channels": ["audio"], "active": true, "locked": false])
  }

  package func muteAll(active: Bool, excluding streams: [String]) -> RaptorMessage {
    RaptorMessage(
      .update, base,
      content: [
        "reason": "mute", "channels": ["audio"], "active": .bool(active), "locked": false,
        "exclusion": .array(streams.map(JSON.string)),
      ])
  }
}
