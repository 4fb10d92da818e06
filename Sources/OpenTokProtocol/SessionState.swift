/// What a session holds: the answer to a connection's `create` and to `read`.
package struct SessionState: Equatable, Sendable {
  package struct Archive: Equatable, Sendable {
    package var id: String
    package var name: String
    /// `started`, `paused`, `stopped`.
    package var status: String

    package init(id: String, name: String, status: String) {
      self.id = id
      self.name = name
      self.status = status
    }

    package init?(_ json: JSON) {
      guard let id = json["id"]?.stringValue else { return nil }
      self.init(id: id, name: json["name"]?.stringValue ?? "", status: json["status"]?.stringValue ?? "")
    }

    package var json: JSON { ["id": .string(id), "name": .string(name), "status": .string(status)] }
  }

  package var id: String
  /// Media goes from client to client (relayed), not through the server.
  package var isPeerToPeer: Bool
  package var connections: [ConnectionInfo]
  package var streams: [StreamInfo]
  package var archives: [Archive]
  /// Streams that are published from now on start muted.
  package var muteOnEntry: Bool

  package init(
    id: String, isPeerToPeer: Bool = true, connections: [ConnectionInfo] = [], streams: [StreamInfo] = [],
    archives: [Archive] = [], muteOnEntry: Bool = false
  ) {
    self.id = id
    self.isPeerToPeer = isPeerToPeer
    self.connections = connections
    self.streams = streams
    self.archives = archives
    self.muteOnEntry = muteOnEntry
  }

  /// Nil if this is no object. Without a list of connections, those of the streams are taken.
  package init?(_ json: JSON) {
    guard json.objectValue != nil else { return nil }
    let streams = (json["stream"]?.arrayValue ?? []).compactMap { StreamInfo($0) }
    var connections = (json["connection"]?.arrayValue ?? []).compactMap { ConnectionInfo($0) }
    if connections.isEmpty {
      for stream in streams where !connections.contains(where: { $0.id == stream.connection.id }) {
        connections.append(stream.connection)
      }
    }
    self.init(
      id: json["id"]?.stringValue ?? "", isPeerToPeer: json["p2p"]?.boolValue ?? true,
      connections: connections, streams: streams,
      archives: (json["archive"] ?? json["archives"])?.arrayValue?.compactMap { Archive($0) } ?? [],
      muteOnEntry: json["mute"]?["active"]?.boolValue ?? false)
  }

  /// `p2p` and `type` are there for the native SDK, which never reports connected without them.
  package var json: JSON {
    [
      "id": .string(id), "p2p": .bool(isPeerToPeer), "type": isPeerToPeer ? "p2p" : "mantis",
      "connection": .array(connections.map(\.json)), "stream": .array(streams.map(\.json)),
      "archive": .array(archives.map(\.json)),
      "mute": ["active": .bool(muteOnEntry), "locked": false, "channels": ["audio"]],
    ]
  }
}
