package enum SessionInfoError: Error, Equatable, Sendable {
  /// The server refused; its code (400 malformed, 403 token, 404 no such session, 409 terms, 500) and text.
  case refused(code: Int, message: String)
  /// Not a list with a session in it, or the named field is missing.
  case malformed(missing: String)
}

/// The answer to `GET /session/ID?extended=true`: where a session's messaging is and what it can do.
package struct SessionInfo: Equatable, Sendable {
  package var sessionID: String
  /// The API key; clients compare it with theirs.
  package var partnerID: String
  /// Milliseconds since 1970.
  package var createdAt: Int64
  /// Host name of the server; for display only.
  package var host: String
  /// The WebSocket's URL, `ws:` or `wss:`.
  package var messagingURL: String
  /// Rumor address of the application server. Starts with `symphony.`: clients know its messages by that.
  package var symphonyAddress: String
  package var iceServers: [ICEServer]
  /// A lost WebSocket may be resumed with its `socketId`.
  package var reconnection: Bool
  /// Media goes from client to client (relayed), not through the server.
  package var isPeerToPeer: Bool
  /// TURN servers only.
  package var relayOnly: Bool

  package init(
    sessionID: String, partnerID: String, createdAt: Int64, host: String, messagingURL: String,
    symphonyAddress: String, iceServers: [ICEServer], reconnection: Bool = true, isPeerToPeer: Bool = true,
    relayOnly: Bool = false
  ) {
    self.sessionID = sessionID
    self.partnerID = partnerID
    self.createdAt = createdAt
    self.host = host
    self.messagingURL = messagingURL
    self.symphonyAddress = symphonyAddress
    self.iceServers = iceServers
    self.reconnection = reconnection
    self.isPeerToPeer = isPeerToPeer
    self.relayOnly = relayOnly
  }

  /// Reads an answer of any OpenTok server. `symphony_address` may be missing if the messaging URL has a
  /// host; numbers may be texts.
  package init(_ json: JSON) throws(SessionInfoError) {
    let elements = json.arrayValue ?? [json]
    for element in elements {
      guard let error = element["error"], error != .null else { continue }
      let code = Self.text(error["code"]).flatMap { Int($0) } ?? 0
      throw .refused(code: code, message: error["errorMessage"]?["message"]?.stringValue ?? "")
    }
    guard let session = elements.first, session.objectValue != nil else {
      throw .malformed(missing: "session")
    }
    guard let sessionID = session["session_id"]?.stringValue else { throw .malformed(missing: "session_id") }
    guard let partnerID = Self.text(session["partner_id"]) else { throw .malformed(missing: "partner_id") }
    guard let messagingURL = session["messaging_url"]?.stringValue else {
      throw .malformed(missing: "messaging_url")
    }
    let host = session["messaging_server_url"]?.stringValue ?? ""
    guard
      let symphony = session["symphony_address"]?.stringValue ?? (host.isEmpty ? nil : "symphony.\(host)")
    else { throw .malformed(missing: "symphony_address") }
    let properties = session["properties"]
    let candidates = properties?["clientCandidates"]?.stringValue
    self.init(
      sessionID: sessionID, partnerID: partnerID,
      createdAt: Self.text(session["create_dt"]).flatMap { Int64($0) } ?? 0, host: host,
      messagingURL: messagingURL, symphonyAddress: symphony,
      iceServers: ICEServer.list(session["ice_servers"]),
      reconnection: properties?["reconnection"]?.boolValue ?? false,
      isPeerToPeer: properties?["p2p"]?["preference"]?["value"]?.stringValue == "enabled",
      relayOnly: candidates == "relayed" || candidates == "relay")
  }

  private static func text(_ json: JSON?) -> String? {
    json?.stringValue ?? json?.integerValue.map { String($0) }
  }

  /// The whole answer. Fields that nobody uses are there because the native SDK refuses an answer without.
  ///
  /// - Parameter segmentID: a UUID.
  package func json(segmentID: String) -> JSON {
    [
      [
        "properties": [
          "p2p": ["preference": ["value": isPeerToPeer ? "enabled" : "disabled"]],
          "reconnection": .bool(reconnection), "renegotiation": true, "h264": false, "vp9": false,
          "vp8": true, "priorityVideoCodec": "vp8", "clientLogging": false,
          "clientCandidates": relayOnly ? "relayed" : "all",
        ],
        "session_id": .string(sessionID), "project_id": .string(partnerID),
        "partner_id": .string(partnerID), "create_dt": .string(String(createdAt)),
        "session_status": "INFLIGHT", "status_invalid": nil, "media_server_hostname": .string(host),
        "messaging_server_url": .string(host), "messaging_url": .string(messagingURL),
        "symphony_address": .string(symphonyAddress), "ice_server": .string(host),
        "session_segment_id": .string(segmentID), "ice_servers": ICEServer.json(iceServers),
        "ice_credential_expiration": 86100,
      ]
    ]
  }

  /// A refusal: sent with HTTP status 200, as clients retry on others.
  package static func refusal(code: Int, message: String) -> JSON {
    [["error": ["code": .integer(Int64(code)), "errorMessage": ["message": .string(message)]]]]
  }
}
