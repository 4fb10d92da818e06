import Base
import OpenTokProtocol
import SessionServer

/// A directory of rooms with clients at hand, and what it does as short lines:
///
///     1: 200 t3                       a STATUS to socket 1 for the request t3
///     2: created /stream/s by a {…}   a message to socket 2, URI without the session, sender, content
///     2: deleted /stream/s by a (clientDisconnected)
///     close 2 1003
///
/// Contents are left out where they are those of a whole connection or stream.
struct RoomScene {
  static let sessionID = "1_MX4xMDB-fjE2MDc5ODQxMTEyNjF-cm9vbX5-"
  static let base = "/v2/partner/100/session/\(sessionID)"

  var directory: RoomDirectory
  var now = RoomTime(instant: .zero, unixMilliseconds: 1_700_000_000_000)
  private(set) var requests = 0

  init(_ change: (inout RoomConfiguration) -> Void = { _ in }) {
    var configuration = RoomConfiguration(
      apiKey: "100", apiSecret: "secret", symphonyAddress: "symphony.test",
      iceServers: ICEServerList(stunURLs: ["stun:s"]))
    change(&configuration)
    directory = RoomDirectory(configuration: configuration)
  }

  static func token(_ role: Role, session: String = sessionID, expire: Int64 = 1_700_003_600) -> String {
    Token(
      apiKey: "100", sessionID: session, role: role, createTime: 1_699_999_990, expireTime: expire,
      nonce: "1",
      connectionData: "data"
    ).signed(secret: "secret")
  }

  mutating func pass(_ duration: Duration) -> [String] {
    now.instant += duration
    now.unixMilliseconds += Int64(duration.milliseconds)
    return lines(directory.advance(to: now))
  }

  mutating func open(_ socket: RoomSocket, _ query: String = "") -> [String] {
    lines(directory.opened(socket, query: query, at: now))
  }

  mutating func close(_ socket: RoomSocket, _ code: UInt16) -> [String] {
    lines(directory.closed(socket, code: code, at: now))
  }

  mutating func receive(_ frame: RumorFrame, on socket: RoomSocket) -> [RoomOutput] {
    directory.received(frame.encoded(), on: socket, at: now)
  }

  /// A request with the next transaction id, `t1`, `t2`, …
  mutating func ask(
    _ socket: RoomSocket, _ method: RaptorMessage.Method, _ path: String, _ content: JSON? = [:],
    token: String? = nil, session: String = sessionID, partner: String = "100"
  ) -> [String] {
    requests += 1
    return repeatRequest(
      "t\(requests)", socket, method, path, content, token: token, session: session, partner: partner)
  }

  mutating func repeatRequest(
    _ transaction: String, _ socket: RoomSocket, _ method: RaptorMessage.Method, _ path: String,
    _ content: JSON? = [:], token: String? = nil, session: String = sessionID, partner: String = "100"
  ) -> [String] {
    var json: JSON = [
      "method": .string(method.rawValue), "uri": .string("/v2/partner/\(partner)/session/\(session)\(path)"),
    ]
    json["content"] = content
    var frame = RumorFrame(
      .message, to: ["symphony.test"], headers: ["TRANSACTION-ID": transaction], payload: json.serialized())
    frame.headers["X-TB-TOKEN-AUTH"] = token
    return lines(receive(frame, on: socket))
  }

  /// Opens a socket and creates a connection on it.
  mutating func join(
    _ socket: RoomSocket, _ id: String, _ role: Role = .publisher, session: String = sessionID,
    content: JSON = [:]
  ) -> [String] {
    open(socket, "socketId=socket-of-\(id)&attempt=1")
      + ask(
        socket, .create, "/connection/\(id)", content, token: Self.token(role, session: session),
        session: session)
  }

  /// a (publisher) on socket 1, b (publisher) on 2, m (moderator) on 3; a publishes s, b subscribes to it.
  static func call(_ change: (inout RoomConfiguration) -> Void = { _ in }) -> RoomScene {
    var scene = RoomScene(change)
    _ = scene.join(1, "a")
    _ = scene.join(2, "b")
    _ = scene.join(3, "m", .moderator)
    _ = scene.ask(1, .create, "/stream/s", Self.stream)
    _ = scene.ask(2, .create, "/stream/s/subscriber/x", ["id": "x"])
    return scene
  }

  static let stream: JSON = [
    "id": "s", "name": "stream",
    "channel": [
      ["id": "video1", "type": "video", "active": true, "width": 640, "height": 480],
      ["id": "audio1", "type": "audio", "active": true],
    ],
  ]

  func lines(_ outputs: [RoomOutput]) -> [String] { outputs.compactMap(line) }

  private func line(_ output: RoomOutput) -> String? {
    switch output {
    case .event: return nil
    case .close(let socket, let code): return "close \(socket) \(code)"
    case .send(let frame, let socket):
      switch frame.kind {
      case .status:
        let text = String(decoding: frame.payload, as: UTF8.self)
        let reason = (try? JSON(parsing: frame.payload))?["reason"]?.stringValue
        let words = [frame.headers["STATUS"] ?? "", frame.transactionID ?? "", reason ?? text]
        return "\(socket): " + words.filter { !$0.isEmpty }.joined(separator: " ")
      case .message:
        guard let message = try? RaptorMessage(parsing: frame.payload) else { return "\(socket): ?" }
        var words = [message.method.rawValue, String(message.uri.description.dropFirst(Self.base.count))]
        words.append(frame.from.map { "by \($0.isEmpty ? "-" : $0)" } ?? "")
        let isWhole = message.content["creationTime"] != nil || message.content["p2p"] != nil
        if !isWhole, message.content != [:] { words.append(message.content.text) }
        if let reason = message.reason { words.append("(\(reason))") }
        return "\(socket): " + words.filter { !$0.isEmpty }.joined(separator: " ")
      default: return "\(socket): \(frame.kind)"
      }
    }
  }
}
