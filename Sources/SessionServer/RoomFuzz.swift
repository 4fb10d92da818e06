import Base
import OpenTokProtocol

/// A body for fuzzers and tests: `bytes` are what up to eight clients do, one operation after the other. It
/// traps if rooms break a promise: only open sockets are sent to, every frame can be read, and when all have
/// gone nothing is left.
package func fuzzRoom(_ bytes: UnsafeRawBufferPointer) {
  var fuzz = RoomFuzz()
  var reader = ByteReader(bytes)
  while let operation = reader.uint8(), let argument = reader.uint8(), fuzz.steps < 2000 {
    fuzz.step(operation, argument, &reader)
  }
  fuzz.finish()
}

/// The operations of `fuzzRoom`; tests write them too.
package enum RoomFuzzOperation: UInt8 {
  /// A client opens a WebSocket, or with the highest bit of the argument resumes its last.
  case open = 0
  /// Length (u16) and bytes of a frame.
  case frame
  /// Close code (u16).
  case close
  /// Half seconds that pass.
  case pass
  /// A client creates its connection; role (u8).
  case join
  /// Method, resource, content (u8 each) of a request that is well formed.
  case request
  /// What the REST API does (u8).
  case act
}

private struct RoomFuzz {
  static let session = "1_MX4xMDB-fn4"
  /// Tokens of the recorded clients are good then.
  var now = RoomTime(instant: .zero, unixMilliseconds: 1_796_047_950_000)
  var directory: RoomDirectory
  var open: Set<RoomSocket> = []
  /// Each client's latest socket.
  var latest: [RoomSocket?] = Array(repeating: nil, count: 8)
  var lastSocket = 0
  var steps = 0

  init() {
    var configuration = RoomConfiguration(apiKey: "100", apiSecret: "lab-throwaway-secret")
    configuration.limits.connectionsPerSession = 6
    configuration.limits.streamsPerConnection = 2
    configuration.limits.subscribersPerConnection = 4
    configuration.limits.unacknowledgedMessages = 200
    configuration.limits.rememberedAnswers = 8
    directory = RoomDirectory(configuration: configuration)
  }

  mutating func step(_ operation: UInt8, _ argument: UInt8, _ reader: inout ByteReader) {
    steps += 1
    let client = Int(argument & 7)
    let socket = latest[client] ?? 0
    switch RoomFuzzOperation(rawValue: operation) {
    case .open:
      lastSocket += 1
      open.insert(lastSocket)
      latest[client] = lastSocket
      let query = "socketId=client-\(client)" + (argument > 127 ? "&reconnect=true" : "")
      check(directory.opened(lastSocket, query: query, at: now))
    case .frame:
      guard let length = reader.uint16() else { return }
      let frame = reader.slice(min(Int(length), reader.remaining)) ?? reader.rest()
      check(directory.received(frame, on: socket, at: now))
    case .close:
      open.remove(socket)
      check(directory.closed(socket, code: reader.uint16() ?? 1006, at: now))
    case .pass: pass(.milliseconds(500 * Int(argument)))
    case .join:
      let role = Role.allCases[Int(reader.uint8() ?? 0) % Role.allCases.count]
      request(.create, .connection("c\(client)"), [:], on: socket, token: token(role))
    case .request:
      let bytes = (reader.uint8() ?? 0, reader.uint8() ?? 0, reader.uint8() ?? 0)
      request(method(bytes.0), resource(bytes.1), content(bytes.2), on: socket, token: nil)
    case .act:
      guard let action = action(reader.uint8() ?? 0) else { return }
      check((try? directory.perform(action, in: Self.session, at: now)) ?? [])
    case nil: break
    }
  }

  mutating func finish() {
    for socket in open.sorted() {
      open.remove(socket)
      check(directory.closed(socket, code: 1006, at: now))
    }
    if let stopped = try? directory.perform(.archiveStopped(id: "A"), in: Self.session, at: now) {
      check(stopped)
    }
    pass(.seconds(60))
    precondition(directory.sessions.isEmpty && directory.socketCount == 0)
  }

  private mutating func pass(_ duration: Duration) {
    now.instant += duration
    check(directory.advance(to: now))
  }

  private mutating func check(_ outputs: [RoomOutput]) {
    for output in outputs {
      switch output {
      case .send(let frame, let socket):
        precondition(open.contains(socket))
        let decoded = try? RumorFrame(decoding: frame.encoded(), maximumSize: RumorFrame.maximumServerSize)
        precondition(decoded == frame)
      case .close(let socket, _): precondition(open.remove(socket) != nil)
      case .event: break
      }
    }
  }

  private mutating func request(
    _ method: RaptorMessage.Method, _ resource: RaptorURI.Resource, _ content: JSON, on socket: RoomSocket,
    token: String?
  ) {
    let message = RaptorMessage(
      method, RaptorURI(partner: "100", session: Self.session, resource), content: content)
    var frame = RumorFrame(.message, headers: ["TRANSACTION-ID": "t\(steps)"], payload: message.payload)
    frame.headers[RumorFrame.Header.token] = token
    check(directory.received(frame.encoded(), on: socket, at: now))
  }

  private func token(_ role: Role) -> String {
    Token(
      apiKey: "100", sessionID: Self.session, role: role, createTime: 1_796_047_900,
      expireTime: 1_796_050_000,
      nonce: "1"
    ).signed(secret: "lab-throwaway-secret")
  }

  private func method(_ byte: UInt8) -> RaptorMessage.Method {
    let methods: [RaptorMessage.Method] = [
      .create, .delete, .update, .read, .offer, .answer, .candidate, .signal, .data, "other",
    ]
    return methods[Int(byte) % methods.count]
  }

  private func resource(_ byte: UInt8) -> RaptorURI.Resource {
    let (kind, number) = (byte % 8, byte / 8)
    let stream = "s\(number % 4)"
    let subscriber = "x\(number / 4)"
    switch kind {
    case 0: return .session
    case 1: return .connection("c\(number % 8)")
    case 2: return .stream(stream)
    case 3: return .channel(stream: stream, channel: "audio1")
    case 4: return .subscriber(stream: stream, subscriber: subscriber)
    case 5: return .subscriberChannel(stream: stream, subscriber: subscriber, channel: "audio1")
    case 6: return .signal(id: "n", to: number < 8 ? nil : "c\(number % 8)")
    default: return .channelData(stream: stream, channel: "audio1", id: "n")
    }
  }

  private func content(_ byte: UInt8) -> JSON {
    let contents: [JSON] = [
      [:], ["channel": [["id": "audio1", "type": "audio"]]], ["reason": "mute", "active": .bool(byte > 127)],
      ["type": "t", "data": "d"], ["active": false], ["sdp": "v=0", "peerId": 1], [1], nil,
    ]
    return contents[Int(byte) % contents.count]
  }

  private func action(_ byte: UInt8) -> RoomAction? {
    switch byte % 8 {
    case 0: .signal(id: "n", content: ["data": 1], to: byte > 127 ? "c\(byte % 3)" : nil)
    case 1: .forceDisconnect(connection: "c\(byte / 8 % 8)")
    case 2: .forceUnpublish(stream: "s\(byte / 8 % 4)")
    case 3: .mute(stream: "s\(byte / 8 % 4)")
    case 4: .muteAll(active: byte > 127, excluding: ["s1"])
    case 5: .archiveStarted(id: "A", name: "")
    case 6: .archiveStopped(id: "A")
    default: nil
    }
  }
}
