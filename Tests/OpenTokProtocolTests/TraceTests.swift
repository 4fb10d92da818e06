import OpenTokProtocol
import TestSupport
import Testing

/// Everything that four real clients and a server said decodes, and encodes to the same bytes.
struct TraceTests {
  @Test func everyFrameDecodesAndEncodesToTheSameBytes() throws {
    var frames = 0
    for trace in try Trace.all() {
      for line in trace.lines {
        guard case .frame(let recorded) = line.content else { continue }
        frames += 1
        let frame = try RumorFrame(decoding: recorded.bytes)
        #expect("\(frame.kind)".uppercased() == recorded.kind)
        #expect(frame.addresses == recorded.addresses)
        #expect(frame.headers.map { [$0.name, $0.value] } == recorded.headers)
        #expect(frame.encoded() == recorded.bytes, "\(trace.name) at \(line.time)")
        if !frame.payload.isEmpty {
          let json = try JSON(parsing: frame.payload)
          if recorded.isSpaced {
            #expect(try JSON(parsing: json.serialized()) == json)
            #expect(json.serialized().count < frame.payload.count)
          } else {
            #expect(json.serialized() == frame.payload, "\(trace.name) at \(line.time)")
          }
        }
      }
    }
    #expect(frames == 1961)
  }

  @Test func everyMessageIsUnderstood() throws {
    var messages = 0
    for trace in try Trace.all() {
      for line in trace.lines {
        guard case .frame(let recorded) = line.content, recorded.kind == "MESSAGE" else { continue }
        messages += 1
        let frame = try RumorFrame(decoding: recorded.bytes)
        let json = try JSON(parsing: frame.payload)
        let message = try RaptorMessage(parsing: frame.payload)
        #expect(message.uri.description == json["uri"]?.stringValue)
        #expect(message.uri.session == trace.sessionID)
        #expect(message.uri.partner == "100")
        #expect(message.method.rawValue == json["method"]?.stringValue)
        #expect(message.json["content"] == json["content"] ?? [:])
        #expect(message.reason == json["reason"]?.stringValue)
        if case .stream = message.uri.resource, message.method == .created || message.method == .deleted {
          let stream = try #require(StreamInfo(message.content))
          #expect(stream.id == message.content["id"]?.stringValue)
          #expect(stream.json == normalized(message.content))
        }
        if case .connection = message.uri.resource, message.method == .created || message.method == .deleted {
          #expect(try #require(ConnectionInfo(message.content)).json == message.content)
        }
      }
    }
    #expect(messages == 902)
  }

  @Test func everySessionStateComesOutAgain() throws {
    var states = 0
    for trace in try Trace.all() {
      for line in trace.lines {
        guard case .frame(let recorded) = line.content, recorded.kind == "STATUS", !line.isFromClient,
          let payload = try? JSON(parsing: RumorFrame(decoding: recorded.bytes).payload),
          payload["p2p"] != nil
        else { continue }
        states += 1
        #expect(try #require(SessionState(payload)).json == normalized(payload))
      }
    }
    #expect(states == 38)
  }

  @Test func sessionInfoIsReadAndRefusalsAreToldApart() throws {
    var read = 0
    var refused: [Int] = []
    for trace in try Trace.all() {
      for line in trace.lines {
        guard case .http(let exchange) = line.content, exchange.method == "GET" else { continue }
        let json = try JSON(parsing: exchange.body)
        do {
          let info = try SessionInfo(json)
          read += 1
          #expect(info.sessionID == trace.sessionID)
          #expect(info.partnerID == "100")
          #expect(info.symphonyAddress.hasPrefix("symphony."))
          #expect(info.reconnection && info.isPeerToPeer && !info.relayOnly)
          #expect(info.iceServers == [ICEServer(urls: ["stun:127.0.0.1:3478"])])
          let segment = try #require(json[0]?["session_segment_id"]?.stringValue)
          #expect(info.json(segmentID: segment) == json)
        } catch SessionInfoError.refused(let code, _) {
          refused.append(code)
        }
      }
    }
    #expect(read == 38)
    #expect(refused == [403, 404, 403, 404])
  }

  @Test func everyTokenIsGoodInItsTimeAndNoLongerWhenCutAlteredExpiredOrElsewhere() throws {
    var tokens = 0
    for trace in try Trace.all() where !trace.name.hasSuffix("-refused") {
      for line in trace.lines {
        guard case .frame(let recorded) = line.content,
          let text = try RumorFrame(decoding: recorded.bytes).headers[RumorFrame.Header.token]
        else { continue }
        tokens += 1
        let now = Int64(trace.began + line.time)
        func verify(
          _ text: String, session: String = trace.sessionID, secret: String = Trace.secret, now: Int64
        )
          throws(TokenError) -> Token
        { try Token.verify(text, apiKey: "100", secret: secret, sessionID: session, now: now) }

        let token = try verify(text, now: now)
        #expect(token.sessionID == trace.sessionID)
        // Some makers write an empty connection_data, ours leaves it out.
        if !token.connectionData.isEmpty { #expect(token.signed(secret: Trace.secret) == text) }
        #expect(try Token.inspect(text) == token)
        #expect(throws: TokenError.expired(secondsAgo: 312)) { try verify(text, now: token.expireTime + 312) }
        #expect(throws: TokenError.otherSession) { try verify(text, session: "1_other", now: now) }
        #expect(throws: TokenError.badSignature) { try verify(text, secret: "lab", now: now) }
        for length in stride(from: 0, to: text.count, by: 7) {
          #expect(throws: TokenError.self) { try verify(String(text.prefix(length)), now: now) }
        }
        var altered = Array(text.utf8)
        altered[altered.count / 2] ^= 1
        #expect(throws: TokenError.self) { try verify(String(decoding: altered, as: UTF8.self), now: now) }
      }
    }
    #expect(tokens == 38)
  }

  /// Attributes that were real numbers without a fraction and members that our objects do not carry.
  private func normalized(_ json: JSON) -> JSON {
    switch json {
    case .array(let elements): .array(elements.map(normalized))
    case .object(let object):
      object.reduce(into: JSON.object([:])) { result, member in
        result[member.key] =
          member.key == "frameRate" ? .number(member.value.doubleValue ?? 0) : normalized(member.value)
      }
    default: json
    }
  }
}
