package enum RaptorError: Error, Equatable, Sendable {
  /// The payload is not a JSON object with the texts `method` and `uri`.
  case malformed
  /// The URI names nothing that this protocol has.
  case unknownURI
}

/// A message of Raptor v2, the payload of Rumor messages between a client and the application server.
package struct RaptorMessage: Equatable, Sendable {
  /// What is done or has been done to the thing that the URI names.
  package struct Method: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral {
    package var rawValue: String
    package init(rawValue: String) { self.rawValue = rawValue }
    package init(stringLiteral value: String) { rawValue = value }

    // Client to server.
    package static let create: Method = "create"
    package static let read: Method = "read"
    package static let update: Method = "update"
    package static let delete: Method = "delete"
    package static let data: Method = "data"
    // Server to client.
    package static let created: Method = "created"
    package static let updated: Method = "updated"
    package static let deleted: Method = "deleted"
    package static let generateOffer: Method = "generateoffer"
    // Both ways.
    package static let offer: Method = "offer"
    package static let answer: Method = "answer"
    package static let prAnswer: Method = "pranswer"
    package static let candidate: Method = "candidate"
    package static let signal: Method = "signal"
  }

  package var method: Method
  package var uri: RaptorURI
  /// An empty object if the payload had none.
  package var content: JSON
  package var reason: String?

  package init(_ method: Method, _ uri: RaptorURI, content: JSON = [:], reason: String? = nil) {
    self.method = method
    self.uri = uri
    self.content = content
    self.reason = reason
  }

  package init(parsing payload: [UInt8]) throws(RaptorError) {
    guard let json = try? JSON(parsing: payload), let method = json["method"]?.stringValue,
      let path = json["uri"]?.stringValue
    else { throw .malformed }
    guard let uri = RaptorURI(path) else { throw .unknownURI }
    self.init(
      Method(rawValue: method), uri, content: json["content"] ?? [:], reason: json["reason"]?.stringValue)
  }

  package var json: JSON {
    var json: JSON = [
      "method": .string(method.rawValue), "uri": .string(uri.description), "content": content,
    ]
    if let reason { json["reason"] = .string(reason) }
    return json
  }

  package var payload: [UInt8] { json.serialized() }
}

/// Why a stream or a connection ended, and why a session was left; texts of the wire.
package enum RaptorReason {
  package static let clientDisconnected = "clientDisconnected"
  package static let forceDisconnected = "forceDisconnected"
  package static let forceUnpublished = "forceUnpublished"
  package static let mediaStopped = "mediaStopped"
  package static let networkDisconnected = "networkDisconnected"
  package static let mute = "mute"
}
