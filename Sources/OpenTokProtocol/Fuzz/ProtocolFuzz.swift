// Bodies for fuzzers and tests: they trap if a promise of a parser does not hold.

/// Whatever decodes encodes to bytes that decode to the same.
package func fuzzRumor(_ bytes: UnsafeRawBufferPointer) {
  guard let frame = try? RumorFrame(decoding: bytes) else { return }
  precondition((try? RumorFrame(decoding: frame.encoded())) == frame)
  _ = frame.status
  if let answer = frame.acknowledgement(from: "me") {
    precondition(answer.transactionID == frame.transactionID)
  }
  frame.payload.withUnsafeBytes { fuzzRaptor($0) }
}

/// JSON, and the messages and objects that are made of it.
package func fuzzRaptor(_ bytes: UnsafeRawBufferPointer) {
  guard let json = try? JSON(parsing: bytes) else { return }
  precondition((try? JSON(parsing: json.serialized())) == json)
  if let message = try? RaptorMessage(parsing: Array(bytes)) {
    precondition(RaptorURI(message.uri.description) == message.uri)
    precondition((try? RaptorMessage(parsing: message.payload)) == message)
    fuzzObjects(message.content)
  }
  fuzzObjects(json)
}

private func fuzzObjects(_ json: JSON) {
  if let stream = StreamInfo(json) { precondition(StreamInfo(stream.json) == stream) }
  if let connection = ConnectionInfo(json) { precondition(ConnectionInfo(connection.json) == connection) }
  if let state = SessionState(json) { precondition(SessionState(state.json) == state) }
  let changes = ChannelInfo.changes(in: json)
  precondition(ChannelInfo.changes(in: changes) == changes)
}

/// Nothing that is not signed verifies.
package func fuzzToken(_ bytes: UnsafeRawBufferPointer) {
  let text = String(decoding: bytes, as: UTF8.self)
  _ = SessionID(text)
  guard let token = try? Token.inspect(text) else { return }
  for now in [token.createTime, token.expireTime, .min, 0, .max] {
    let verified = try? Token.verify(
      text, apiKey: token.apiKey, secret: "not the secret", sessionID: token.sessionID, now: now)
    precondition(verified == nil)
  }
}

/// Whatever is read can be written and read again.
package func fuzzSessionInfo(_ bytes: UnsafeRawBufferPointer) {
  guard let json = try? JSON(parsing: bytes), let info = try? SessionInfo(json) else { return }
  let again = try? SessionInfo(info.json(segmentID: ""))
  precondition(again?.sessionID == info.sessionID && again?.messagingURL == info.messagingURL)
  precondition(again?.iceServers.count == info.iceServers.reduce(0) { $0 + $1.urls.count })
}
