import OpenTokProtocol

/// Counters since the start, by their names in W3C webrtc-stats: seconds, bytes, bits per second.
public typealias Metrics = [String: Double]

/// How the media of a session has been doing.
public struct Statistics: Sendable, Equatable {
  public struct Peer: Sendable, Equatable {
    /// The subscriber's id; nil for a media server.
    public var subscriberID: String?
    public var audio: Metrics = [:]
    public var video: Metrics = [:]
    /// Of the path: `roundTripTime`, `availableOutgoingBitrate`, `bytesSent`, `packetsDropped`, …
    public var transport: Metrics = [:]
    /// Its picture is kept back for lack of bandwidth.
    public var isVideoDisabled = false
    /// `type address:port`.
    public var localCandidate: String?
    public var remoteCandidate: String?
  }

  public struct Publisher: Sendable, Equatable {
    public var streamID: String
    /// Of the encoder, and sums over all subscribers there have been.
    public var audio: Metrics = [:]
    public var video: Metrics = [:]
    public var subscribers: [Peer] = []
  }

  public struct Subscriber: Sendable, Equatable {
    public var streamID: String
    public var audio: Metrics = [:]
    public var video: Metrics = [:]
    public var transport: Metrics = [:]
    public var localCandidate: String?
    public var remoteCandidate: String?
  }

  public var publishers: [Publisher] = []
  public var subscribers: [Subscriber] = []
  /// Of the loudspeaker; empty without one.
  public var playout: Metrics = [:]

  /// As a JSON text: `publisher` (the first), `publishers` (if there are more), `subscribers`, `playout` (if
  /// there is a loudspeaker).
  public var jsonText: String { json.text }

  package var json: JSON {
    var json: JSON = [:]
    json["publisher"] = publishers.first?.json ?? .null
    if publishers.count > 1 { json["publishers"] = .array(publishers.map(\.json)) }
    json["subscribers"] = .array(subscribers.map(\.json))
    if !playout.isEmpty { json["playout"] = playout.json }
    return json
  }
}

extension Statistics.Peer {
  var json: JSON {
    var json: JSON = [
      "audio": audio.json, "video": video.json, "transport": transport.json(localCandidate, remoteCandidate),
    ]
    json["videoDisabled"] = .bool(isVideoDisabled)
    if let subscriberID { json["subscriberId"] = .string(subscriberID) }
    return json
  }
}

extension Statistics.Publisher {
  var json: JSON {
    [
      "streamId": .string(streamID), "audio": audio.json, "video": video.json,
      "subscribers": .array(subscribers.map(\.json)),
    ]
  }
}

extension Statistics.Subscriber {
  var json: JSON {
    [
      "streamId": .string(streamID), "audio": audio.json, "video": video.json,
      "transport": transport.json(localCandidate, remoteCandidate),
    ]
  }
}

extension Metrics {
  /// Whole numbers as such, names in order.
  var json: JSON {
    var object = JSON.Object()
    for (name, value) in sorted(by: { $0.key < $1.key }) where value.isFinite {
      object[name] = Int64(exactly: value).map { .integer($0) } ?? .number(value)
    }
    return .object(object)
  }

  func json(_ localCandidate: String?, _ remoteCandidate: String?) -> JSON {
    var json = json
    if let localCandidate { json["localCandidate"] = .string(localCandidate) }
    if let remoteCandidate { json["remoteCandidate"] = .string(remoteCandidate) }
    return json
  }

  /// Adds up counters.
  mutating func add(_ other: Metrics) { merge(other, uniquingKeysWith: +) }

  mutating func set(_ name: String, _ value: Double?) { if let value { self[name] = value } }
}
