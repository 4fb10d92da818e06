import Base
import OpenTokProtocol

/// What is kept of a session, so that it goes on when the server has died: who is there and may come back,
/// what is published, who subscribes to it. Messages that nobody has acknowledged and answers are not kept.
extension Room {
  /// May hold secrets: who knows a `socketId` can take its connection over.
  var record: JSON {
    [
      "session": .string(sessionID), "generation": .integer(Int64(generation)),
      "muteOnEntry": .bool(muteOnEntry), "archives": .array(archives.map { .string($0.id) }),
      "connections": .array(members.map(\.record)), "streams": .array(streams.map(\.record)),
    ]
  }

  static func generation(in record: JSON) -> Int? {
    record["generation"]?.integerValue.flatMap { (0..<1 << 52).contains($0) ? Int($0) : nil }
  }

  /// The room as it was, with all connections lost. Nil if that is no record, or nobody can come back.
  init?(_ record: JSON, configuration: RoomConfiguration, generation: Int, at now: RoomTime) {
    guard let session = record["session"]?.stringValue,
      SessionID(session)?.belongs(to: configuration.apiKey) == true
    else { return nil }
    self.init(configuration: configuration, sessionID: session, generation: generation, at: now)
    for json in record["connections"]?.arrayValue ?? [] {
      guard let member = RoomMember(json, limits: configuration.limits, at: now.instant),
        index(of: member.id) == nil
      else { continue }
      append(member)
    }
    guard members.contains(where: { $0.resumptionID != nil && !$0.isHidden }) else { return nil }
    streams = (record["streams"]?.arrayValue ?? []).compactMap { RoomStream($0) }.filter {
      index(of: $0.publisherID) != nil
    }
    muteOnEntry = record["muteOnEntry"]?.boolValue ?? false
    archives = (record["archives"]?.arrayValue ?? []).compactMap(\.stringValue).map {
      SessionState.Archive(id: $0, name: "", status: "started")
    }
  }

  /// After a restart: recordings, recorders, and connections whose clients cannot name them.
  mutating func endWhatCannotGoOn() {
    for archive in archives { try? perform(.archiveStopped(id: archive.id)) }
    for member in members where member.isHidden || member.resumptionID == nil {
      leave(member.id, reason: RaptorReason.networkDisconnected)
    }
  }
}

extension RoomMember {
  fileprivate var record: JSON {
    var json = info.json
    json["socketId"] = resumptionID.map(JSON.string)
    json["connectionEventsSuppressed"] = .bool(suppressesConnectionEvents)
    json["followsPreferences"] = .bool(followsPreferences)
    json["layoutClasses"] = .array(layoutClasses.map(JSON.string))
    json["hidden"] = .bool(isHidden)
    return json
  }

  fileprivate init?(_ json: JSON, limits: RoomConfiguration.Limits, at now: Instant) {
    guard let info = ConnectionInfo(json) else { return nil }
    self.init(
      info, socket: nil, resumptionID: json["socketId"]?.stringValue,
      suppressesConnectionEvents: json["connectionEventsSuppressed"]?.boolValue ?? false,
      followsPreferences: json["followsPreferences"]?.boolValue ?? false,
      layoutClasses: (json["layoutClasses"]?.arrayValue ?? []).compactMap(\.stringValue),
      isHidden: json["hidden"]?.boolValue ?? false, limits: limits, at: now)
  }
}

extension RoomStream {
  fileprivate var record: JSON {
    var json = info.json
    json["layoutClasses"] = .array(layoutClasses.map(JSON.string))
    json["subscribers"] = .array(
      subscribers.map {
        ["id": .string($0.id), "connection": .string($0.connectionID), "peer": .string($0.peerID)]
      })
    return json
  }

  fileprivate init?(_ json: JSON) {
    guard let info = StreamInfo(json) else { return nil }
    self.init(
      info: info, layoutClasses: (json["layoutClasses"]?.arrayValue ?? []).compactMap(\.stringValue),
      subscribers: (json["subscribers"]?.arrayValue ?? []).compactMap { json in
        guard let id = json["id"]?.stringValue, let connection = json["connection"]?.stringValue,
          let peer = json["peer"]?.stringValue
        else { return nil }
        return Subscriber(id: id, connectionID: connection, peerID: peer)
      })
  }
}
