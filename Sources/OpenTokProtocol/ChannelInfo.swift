/// One of the media of a stream: its video, its audio, or its captions.
package struct ChannelInfo: Equatable, Sendable {
  package enum Kind: String, Sendable {
    case video, audio, data
  }

  package var id: String
  package var kind: Kind
  package var active: Bool
  // Video only; nil where the publisher did not say.
  package var width: Int?
  package var height: Int?
  /// Degrees by which the picture is to be turned: 0, 90, 180, 270.
  package var orientation: Int?
  package var frameRate: Double?
  /// `camera`, `screen`, `custom`; nil means camera.
  package var source: String?
  /// `cover` or `contain`.
  package var fitMode: String?

  package init(
    id: String, kind: Kind, active: Bool = true, width: Int? = nil, height: Int? = nil,
    orientation: Int? = nil, frameRate: Double? = nil, source: String? = nil, fitMode: String? = nil
  ) {
    self.id = id
    self.kind = kind
    self.active = active
    self.width = width
    self.height = height
    self.orientation = orientation
    self.frameRate = frameRate
    self.source = source
    self.fitMode = fitMode
  }

  /// Nil without an id or a type that is known.
  package init?(_ json: JSON) {
    guard let id = json["id"]?.stringValue, let kind = json["type"]?.stringValue.flatMap(Kind.init) else {
      return nil
    }
    self.init(id: id, kind: kind)
    apply(json)
  }

  /// The attributes in `content` that can change and make sense, for others to be told.
  package static func changes(in content: JSON) -> JSON {
    var changes: JSON = [:]
    for (key, value) in content.objectValue ?? [:] {
      let isValid =
        switch key {
        case "active", "disableWarning": value.boolValue != nil
        case "width", "height", "orientation": size(value) != nil
        case "frameRate": value.doubleValue != nil
        case "source", "fitMode": value.stringValue.map { $0.utf8.count <= 64 } ?? false
        default: false
        }
      if isValid { changes[key] = value }
    }
    return changes
  }

  /// Takes over the attributes that `content` names; what makes no sense is left out.
  package mutating func apply(_ content: JSON) {
    let changes = Self.changes(in: content)
    active = changes["active"]?.boolValue ?? active
    width = changes["width"].flatMap(Self.size) ?? width
    height = changes["height"].flatMap(Self.size) ?? height
    orientation = changes["orientation"].flatMap(Self.size) ?? orientation
    frameRate = changes["frameRate"]?.doubleValue ?? frameRate
    source = changes["source"]?.stringValue ?? source
    fitMode = changes["fitMode"]?.stringValue ?? fitMode
  }

  private static func size(_ value: JSON) -> Int? {
    value.integerValue.flatMap { (0...65535).contains($0) ? Int($0) : nil }
  }

  package var json: JSON {
    var json: JSON = ["id": .string(id), "type": .string(kind.rawValue), "active": .bool(active)]
    for (key, value) in [("width", width), ("height", height), ("orientation", orientation)] {
      if let value { json[key] = .integer(Int64(value)) }
    }
    if let frameRate { json["frameRate"] = .number(frameRate) }
    if let source { json["source"] = .string(source) }
    if let fitMode { json["fitMode"] = .string(fitMode) }
    return json
  }
}
