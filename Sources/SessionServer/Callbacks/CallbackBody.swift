import OpenTokProtocol

/// The JSON bodies of callbacks, as OpenTok documents them for session monitoring.
enum CallbackBody {
  /// - Parameter time: milliseconds since 1970.
  static func json(_ event: RoomEvent, apiKey: String, time: Int64) -> JSON {
    var json: JSON = ["projectId": .string(apiKey), "timestamp": .integer(time)]
    json["event"] = .string(event.name)
    json["sessionId"] = .string(event.session)
    switch event {
    case .connectionCreated(_, let connection): json["connection"] = describe(connection)
    case .connectionDestroyed(_, let connection, let reason):
      json["connection"] = describe(connection)
      json["reason"] = .string(reason)
    case .streamCreated(_, let stream): json["stream"] = describe(stream)
    case .streamDestroyed(_, let stream, let reason):
      json["stream"] = describe(stream)
      json["reason"] = .string(reason)
    }
    return json
  }

  private static func describe(_ connection: ConnectionInfo) -> JSON {
    [
      "id": .string(connection.id), "createdAt": .integer(connection.creationTime),
      "data": .string(connection.data),
    ]
  }

  private static func describe(_ stream: StreamInfo) -> JSON {
    var json: JSON = [
      "id": .string(stream.id), "connection": describe(stream.connection),
      "createdAt": .integer(stream.creationTime), "name": .string(stream.name),
    ]
    if let type = stream.videoType { json["videoType"] = .string(type) }
    return json
  }
}

extension RoomEvent {
  var session: String {
    switch self {
    case .connectionCreated(let session, _), .connectionDestroyed(let session, _, _),
      .streamCreated(let session, _), .streamDestroyed(let session, _, _):
      session
    }
  }

  /// As OpenTok calls it.
  var name: String {
    switch self {
    case .connectionCreated: "connectionCreated"
    case .connectionDestroyed: "connectionDestroyed"
    case .streamCreated: "streamCreated"
    case .streamDestroyed: "streamDestroyed"
    }
  }
}
