/// A published stream, as clients are told of it.
package struct StreamInfo: Equatable, Sendable {
  /// Of a stream's channels the first so many are read.
  package static let maximumChannels = 8

  package var id: String
  package var name: String
  /// Milliseconds since 1970.
  package var creationTime: Int64
  package var connection: ConnectionInfo
  package var channels: [ChannelInfo]

  package init(
    id: String, name: String, creationTime: Int64, connection: ConnectionInfo, channels: [ChannelInfo]
  ) {
    self.id = id
    self.name = name
    self.creationTime = creationTime
    self.connection = connection
    self.channels = channels
  }

  /// Nil without an id or a connection. The connection is an object or, as `connectionId`, only an id.
  package init?(_ json: JSON) {
    let connection =
      json["connection"].flatMap { ConnectionInfo($0) }
      ?? (json["connectionId"]?.stringValue ?? json["connection"]?.stringValue)
      .map { ConnectionInfo(id: $0, creationTime: 0) }
    guard let id = json["id"]?.stringValue, let connection else { return nil }
    self.init(
      id: id, name: json["name"]?.stringValue ?? "", creationTime: json["creationTime"]?.integerValue ?? 0,
      connection: connection, channels: Self.channels(in: json))
  }

  /// The channels in the content of a stream or of a request to create one.
  package static func channels(in json: JSON) -> [ChannelInfo] {
    (json["channel"]?.arrayValue ?? []).prefix(maximumChannels).compactMap { ChannelInfo($0) }
  }

  package func channel(_ kind: ChannelInfo.Kind) -> ChannelInfo? { channels.first { $0.kind == kind } }

  package var hasAudio: Bool { channel(.audio)?.active ?? false }
  package var hasVideo: Bool { channel(.video)?.active ?? false }
  /// `camera`, `screen` or `custom`; nil if there is no video.
  package var videoType: String? { channel(.video).map { $0.source ?? "camera" } }

  package var json: JSON {
    [
      "id": .string(id), "name": .string(name), "creationTime": .integer(creationTime),
      "connection": connection.json, "channel": .array(channels.map(\.json)),
    ]
  }
}
