import OpenTokProtocol

/// What is known of an archive: kept as `archive.json`, and what clients of the REST API are told.
package struct Archive: Equatable, Sendable {
  package enum Status: String, CaseIterable, Sendable {
    /// It is being recorded.
    case started
    /// Its file is being finished.
    case stopped
    /// Its file is there.
    case available
    /// There is no file, and never will be.
    case failed
  }

  package struct Stream: Equatable, Sendable {
    package var id: String
    package var hasAudio: Bool
    package var hasVideo: Bool
  }

  package let id: String
  package let sessionID: String
  package let options: ArchiveOptions
  /// Milliseconds since 1970.
  package let createdAt: Int64
  package internal(set) var layout: ArchiveLayout
  package internal(set) var status = Status.started
  /// Why it ended as it did; empty while it is recorded.
  package internal(set) var reason = ""
  package internal(set) var durationSeconds = 0.0
  package internal(set) var sizeBytes: Int64 = 0
  /// Name of the file in the archive's directory, once it is finished.
  package internal(set) var file: String?
  /// All that were recorded, some of which have ended.
  package internal(set) var streams: [Stream] = []

  init(id: String, sessionID: String, options: ArchiveOptions, createdAt: Int64) {
    self.id = id
    self.sessionID = sessionID
    self.options = options
    self.createdAt = createdAt
    layout = options.layout
  }

  /// What of a stream is recorded.
  func entry(for stream: Stream) -> Stream {
    Stream(
      id: stream.id, hasAudio: stream.hasAudio && options.hasAudio,
      hasVideo: stream.hasVideo && options.hasVideo)
  }

  func request(directory: String) -> ArchiveRequest {
    ArchiveRequest(
      archiveID: id, sessionID: sessionID, name: options.name, outputMode: options.outputMode,
      width: options.width, height: options.height, layout: layout, hasAudio: options.hasAudio,
      hasVideo: options.hasVideo, streamMode: options.streamMode, maximumBitrate: options.maximumBitrate,
      directory: directory)
  }

  /// As the REST API has it (OpenTok's archive object).
  ///
  /// - Parameters:
  ///   - url: where the file can be had, if it can.
  ///   - page: the page that shows it; an addition of ours.
  func json(apiKey: String, url: String?, page: String) -> JSON {
    var json: JSON = [
      "id": .string(id), "status": .string(status.rawValue), "name": .string(options.name),
      "reason": .string(reason), "sessionId": .string(sessionID), "projectId": .string(apiKey),
      "partnerId": .string(apiKey), "createdAt": .integer(createdAt), "size": .integer(sizeBytes),
      "duration": .integer(Int64(durationSeconds.rounded())), "hasAudio": .bool(options.hasAudio),
      "hasVideo": .bool(options.hasVideo), "outputMode": .string(options.outputMode.rawValue),
      "streamMode": .string(options.streamMode.rawValue), "streams": .array(streams.map(\.json)),
      "url": url.map(JSON.string) ?? .null, "viewUrl": .string(page),
    ]
    if options.outputMode == .composed { json["resolution"] = .string(options.resolution) }
    if !options.multiArchiveTag.isEmpty { json["multiArchiveTag"] = .string(options.multiArchiveTag) }
    if let bitrate = options.maximumBitrate { json["maxBitrate"] = .integer(Int64(bitrate)) }
    return json
  }
}

// What is kept.
extension Archive {
  private static let version: Int64 = 1

  var record: JSON {
    [
      "version": .integer(Self.version), "id": .string(id), "sessionId": .string(sessionID),
      "options": options.record, "layout": layout.record, "createdAt": .integer(createdAt),
      "status": .string(status.rawValue), "reason": .string(reason), "duration": .number(durationSeconds),
      "size": .integer(sizeBytes), "file": file.map(JSON.string) ?? .null,
      "streams": .array(streams.map(\.json)),
    ]
  }

  /// Nil if that is no record of an archive, or one of a later version.
  init?(record: JSON) {
    guard record["version"]?.integerValue == Self.version, let id = record["id"]?.stringValue,
      let sessionID = record["sessionId"]?.stringValue, let options = record["options"],
      let options = ArchiveOptions(record: options), let createdAt = record["createdAt"]?.integerValue,
      let status = record["status"]?.stringValue.flatMap(Status.init), let layout = record["layout"],
      let layout = ArchiveLayout(record: layout)
    else { return nil }
    self.init(id: id, sessionID: sessionID, options: options, createdAt: createdAt)
    self.layout = layout
    self.status = status
    reason = record["reason"]?.stringValue ?? ""
    // Whoever can write the file can write any number.
    durationSeconds = min(max(0, record["duration"]?.doubleValue ?? 0), 1e9)
    sizeBytes = min(max(0, record["size"]?.integerValue ?? 0), 1 << 60)
    // A name, never a path.
    file = record["file"]?.stringValue.flatMap { $0.contains("/") || $0.hasPrefix(".") ? nil : $0 }
    streams = (record["streams"]?.arrayValue ?? []).compactMap { Stream($0) }
  }
}

extension Archive.Stream {
  init(_ info: StreamInfo) {
    self.init(
      id: info.id, hasAudio: info.channel(.audio) != nil, hasVideo: info.channel(.video) != nil)
  }

  init?(_ json: JSON) {
    guard let id = json["streamId"]?.stringValue else { return nil }
    self.init(
      id: id, hasAudio: json["hasAudio"]?.boolValue ?? true, hasVideo: json["hasVideo"]?.boolValue ?? true)
  }

  var json: JSON { ["streamId": .string(id), "hasAudio": .bool(hasAudio), "hasVideo": .bool(hasVideo)] }
}
