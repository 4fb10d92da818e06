import OpenTokProtocol

/// What an archive of single streams tells of them: a JSON file in the ZIP, as OpenTok has it.
struct ArchiveManifest: Equatable {
  struct File: Equatable {
    var connectionData: String
    var filename: String
    /// Bytes.
    var size: Int64 = 0
    /// Milliseconds since the archive's beginning.
    var startTimeOffset: Int64
    var stopTimeOffset: Int64
    var streamID: String
    /// `camera`, `screen` or `custom`; nil without a picture.
    var videoType: String?
  }

  /// Milliseconds since 1970.
  var createdAt: Int64
  var id: String
  var name: String
  var partnerID: String
  var sessionID: String
  var files: [File] = []

  var json: JSON {
    [
      "createdAt": .integer(createdAt), "files": .array(files.map(\.json)), "id": .string(id),
      "name": .string(name), "partnerId": partnerID.first == "0" ? .string(partnerID) : number(partnerID),
      "sessionId": .string(sessionID),
    ]
  }

  /// OpenTok's is a number; an API key of our own may be any text.
  private func number(_ text: String) -> JSON { Int64(text).map { .integer($0) } ?? .string(text) }
}

extension ArchiveManifest {
  /// Nil if it is not what `json` makes.
  init?(_ json: JSON) {
    guard let createdAt = json["createdAt"]?.integerValue, let id = json["id"]?.stringValue,
      let sessionID = json["sessionId"]?.stringValue, let files = json["files"]?.arrayValue
    else { return nil }
    let partner = json["partnerId"]
    self.init(
      createdAt: createdAt, id: id, name: json["name"]?.stringValue ?? "",
      partnerID: partner?.stringValue ?? partner?.integerValue.map(String.init) ?? "", sessionID: sessionID,
      files: files.compactMap { File($0) })
  }
}

extension ArchiveManifest.File {
  var json: JSON {
    [
      "connectionData": .string(connectionData), "filename": .string(filename), "size": .integer(size),
      "startTimeOffset": .integer(startTimeOffset), "stopTimeOffset": .integer(stopTimeOffset),
      "streamId": .string(streamID), "videoType": videoType.map(JSON.string) ?? .null,
    ]
  }

  init?(_ json: JSON) {
    guard let filename = json["filename"]?.stringValue, let streamID = json["streamId"]?.stringValue,
      let start = json["startTimeOffset"]?.integerValue, !filename.contains("/")
    else { return nil }
    self.init(
      connectionData: json["connectionData"]?.stringValue ?? "", filename: filename,
      size: json["size"]?.integerValue ?? 0, startTimeOffset: start,
      stopTimeOffset: json["stopTimeOffset"]?.integerValue ?? start, streamID: streamID,
      videoType: json["videoType"]?.stringValue)
  }
}
