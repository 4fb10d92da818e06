import OpenTokProtocol

/// What can be asked for when an archive is started.
package struct ArchiveOptions: Equatable, Sendable {
  package var name = ""
  package var outputMode = ArchiveRequest.OutputMode.composed
  package var streamMode = ArchiveRequest.StreamMode.auto
  package var hasAudio = true
  package var hasVideo = true
  package var width = 640
  package var height = 480
  package var layout = ArchiveLayout()
  /// Several archives of a session can be recorded at once if they have different tags.
  package var multiArchiveTag = ""
  /// Bits per second.
  package var maximumBitrate: Int?
  /// It was the session that asked for it, when it was created.
  package var isAutomatic = false

  package init() {}

  static let maximumName = 255
  static let maximumTag = 128
  private static let resolutions = [
    "640x480", "480x640", "1280x720", "720x1280", "1920x1080", "1080x1920",
  ]
  private static let bitrates = 100_000...6_000_000

  package var resolution: String { "\(width)x\(height)" }

  /// From the body of a request; what is not said has its usual value.
  ///
  /// - Throws: status 400 for a value that is wrong.
  init(_ json: JSON) throws(RoomRefusal) {
    name = try Self.text("name", in: json, maximum: Self.maximumName) ?? ""
    multiArchiveTag = try Self.text("multiArchiveTag", in: json, maximum: Self.maximumTag) ?? ""
    hasAudio = try Self.flag("hasAudio", in: json)
    hasVideo = try Self.flag("hasVideo", in: json)
    guard hasAudio || hasVideo else { throw RoomRefusal(400, "neither audio nor video is to be recorded") }
    outputMode = try Self.choice("outputMode", in: json) ?? .composed
    streamMode = try Self.choice("streamMode", in: json) ?? .auto
    if let resolution = try Self.text("resolution", in: json, maximum: 16) {
      guard outputMode == .composed else {
        throw RoomRefusal(400, "individual streams keep their resolution")
      }
      guard setResolution(resolution) else { throw RoomRefusal(400, "there is no resolution like that") }
    }
    if let json = json["layout"], json != .null {
      guard outputMode == .composed else { throw RoomRefusal(400, "individual streams have no layout") }
      layout = try ArchiveLayout(json)
    }
    if let bitrate = json["maxBitrate"], bitrate != .null {
      guard let value = bitrate.integerValue.flatMap({ Int(exactly: $0) }), Self.bitrates.contains(value)
      else { throw RoomRefusal(400, "maxBitrate is from 100000 to 6000000") }
      maximumBitrate = value
    }
  }

  /// What an automatically recorded session asks for; nil if its resolution is none.
  init?(automatic: AutomaticArchive) {
    name = automatic.name
    isAutomatic = true
    guard automatic.resolution.isEmpty || setResolution(automatic.resolution) else { return nil }
  }

  /// False if there is none like that.
  mutating func setResolution(_ text: String) -> Bool {
    guard Self.resolutions.contains(text) else { return false }
    let sides = text.split(separator: "x").compactMap { Int($0) }
    (width, height) = (sides[0], sides[1])
    return true
  }

  private static func text(_ key: String, in json: JSON, maximum: Int) throws(RoomRefusal) -> String? {
    guard let value = json[key], value != .null else { return nil }
    guard let text = value.stringValue, text.count <= maximum else {
      throw RoomRefusal(400, "\(key) is a text of at most \(maximum) characters")
    }
    return text
  }

  static func flag(_ key: String, in json: JSON) throws(RoomRefusal) -> Bool {
    guard let value = json[key], value != .null else { return true }
    guard let flag = value.boolValue else { throw RoomRefusal(400, "\(key) is true or false") }
    return flag
  }

  private static func choice<Choice: RawRepresentable<String>>(
    _ key: String, in json: JSON
  ) throws(RoomRefusal) -> Choice? {
    guard let value = json[key], value != .null else { return nil }
    guard let choice = value.stringValue.flatMap({ Choice(rawValue: $0) }) else {
      throw RoomRefusal(400, "there is no such \(key)")
    }
    return choice
  }
}

// What is kept.
extension ArchiveOptions {
  var record: JSON {
    [
      "name": .string(name), "outputMode": .string(outputMode.rawValue),
      "streamMode": .string(streamMode.rawValue), "hasAudio": .bool(hasAudio), "hasVideo": .bool(hasVideo),
      "resolution": .string(resolution), "layout": layout.record,
      "multiArchiveTag": .string(multiArchiveTag),
      "maxBitrate": maximumBitrate.map { .integer(Int64($0)) } ?? .null,
    ]
  }

  init?(record: JSON) {
    // The two that only composed archives may name stand in every record.
    var asked = record
    asked["layout"] = nil
    asked["resolution"] = nil
    guard var options = try? ArchiveOptions(asked), let layout = record["layout"],
      let layout = ArchiveLayout(record: layout), let resolution = record["resolution"]?.stringValue,
      options.setResolution(resolution)
    else { return nil }
    options.layout = layout
    self = options
  }
}

extension ArchiveLayout {
  static let maximumStylesheet = 16 << 10

  /// From a request: `type`, `stylesheet`, `screenshareType`.
  init(_ json: JSON) throws(RoomRefusal) {
    guard json.objectValue != nil, let kind = json["type"]?.stringValue.flatMap(Kind.init) else {
      throw RoomRefusal(400, "there is no such layout type")
    }
    self.init(kind)
    if let sheet = json["stylesheet"], sheet != .null {
      guard kind == .custom, let text = sheet.stringValue, text.utf8.count <= Self.maximumStylesheet else {
        throw RoomRefusal(400, "a stylesheet is a text, and for the layout type custom")
      }
      stylesheet = text
    }
    guard kind != .custom || stylesheet != nil else {
      throw RoomRefusal(400, "the layout type custom needs a stylesheet")
    }
    if let screenshare = json["screenshareType"], screenshare != .null {
      guard kind == .bestFit, let type = screenshare.stringValue.flatMap(Kind.init), type != .custom else {
        throw RoomRefusal(400, "screenshareType goes with the layout type bestFit, and is not custom")
      }
      screenshareKind = type
    }
  }

  var record: JSON {
    var json: JSON = ["type": .string(kind.rawValue)]
    if let stylesheet { json["stylesheet"] = .string(stylesheet) }
    if let screenshareKind { json["screenshareType"] = .string(screenshareKind.rawValue) }
    return json
  }

  init?(record: JSON) {
    guard let layout = try? ArchiveLayout(record) else { return nil }
    self = layout
  }
}
