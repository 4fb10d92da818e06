import OpenTokProtocol

extension Room {
  /// A Raptor message of a connection that is in the room. It is always answered, and applied once
  /// however often it comes: clients repeat what was not answered when they reconnect.
  mutating func receive(_ frame: RumorFrame, from connectionID: String) {
    guard let index = index(of: connectionID) else { return }
    let transactionID = frame.transactionID
    if let transactionID, let answer = members[index].answer(to: transactionID) {
      if let socket = members[index].socket { emit(.send(answer, to: socket)) }
      return
    }
    do throws(RoomRefusal) {
      guard takeRequest(index) else { throw .tooFast }
      try perform(Self.message(in: frame), by: members[index].info, transactionID)
    } catch {
      answer(
        transactionID, of: connectionID, status: error.status, payload: ["reason": .string(error.reason)])
    }
  }

  static func message(in frame: RumorFrame) throws(RoomRefusal) -> RaptorMessage {
    do {
      return try RaptorMessage(parsing: frame.payload)
    } catch {
      throw error == .unknownURI ? .noResource : .malformed
    }
  }

  /// Ids that clients choose are shown to others, logged, and used in URIs.
  static func isValidID(_ id: String) -> Bool {
    !id.isEmpty && id.utf8.count <= RoomConfiguration.maximumID && id.utf8.allSatisfy(isUnreserved)
  }

  /// Characters that need no escape in a URI (RFC 3986, 2.3): those of ids and of types of signals.
  static func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
      UInt8(ascii: "~"):
      true
    default: false
    }
  }

  private mutating func perform(
    _ message: RaptorMessage, by sender: ConnectionInfo, _ transactionID: String?
  ) throws(RoomRefusal) {
    guard message.uri.partner == base.partner, message.uri.session == base.session else { throw .noSession }
    guard message.content.objectValue != nil else { throw .malformed }
    let request = RoomRequest(message: message, sender: sender, transactionID: transactionID)
    switch (message.method, message.uri.resource) {
    case (.read, .session):
      guard let transactionID, let index = index(of: sender.id) else { return }
      guard takeState(index) else { throw .tooFast }
      answerRead(transactionID, of: index)
    case (.update, .session): try muteAll(request)
    case (.create, .connection(sender.id)):
      guard let index = index(of: sender.id), takeState(index) else { throw .tooFast }
      answerState(transactionID, of: sender.id)
    case (.create, .connection): throw .exists
    case (.delete, .connection(let id)): try deleteConnection(id, request)
    case (.create, .stream(let id)): try publish(id, request)
    case (.delete, .stream(let id)): try deleteStream(id, request)
    case (.update, .stream(let id)): try mute(id, request)
    case (.update, .channel(let stream, let channel)): try updateChannel(channel, of: stream, request)
    case (.data, .channelData(let stream, let channel, _)): try relayData(channel, of: stream, request)
    case (.create, .subscriber(let stream, let id)): try subscribe(id, to: stream, request)
    case (.delete, .subscriber(let stream, let id)): try unsubscribe(id, from: stream, request)
    case (.update, .subscriber(let stream, let id)): try updateSubscriber(id, of: stream, request)
    case (.update, .subscriberChannel(let stream, let id, let channel)):
      if request.message.content["activeReason"] == "quality" {
        try relayQuality(of: channel, to: id, of: stream, request)
      } else {
        try updateSubscriber(id, of: stream, request)
        relayPreferences(of: channel, to: id, of: stream, request)
      }
    case (.offer, .subscriber(let stream, let id)), (.answer, .subscriber(let stream, let id)),
      (.prAnswer, .subscriber(let stream, let id)), (.candidate, .subscriber(let stream, let id)):
      try relay(id, of: stream, request)
    case (.generateOffer, .subscriber(let stream, let id)): try askForOffer(id, of: stream, request)
    case (.signal, .signal(_, let recipient)): try signal(to: recipient, request)
    default: throw .noResource
    }
  }

  mutating func succeed(_ request: RoomRequest, payload: JSON? = nil) {
    answer(request.transactionID, of: request.sender.id, status: 200, payload: payload)
  }
}

/// A client's message together with who sent it.
struct RoomRequest {
  var message: RaptorMessage
  var sender: ConnectionInfo
  var transactionID: String?

  func may(_ permission: Permissions) -> Bool { sender.permissions.contains(permission) }
}
