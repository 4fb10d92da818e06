import Base
import OpenTokProtocol
import Testing

@testable import SessionServer

/// A participant on a real socket: joins a session and exchanges Raptor messages.
final class SignallingClient {
  typealias Header = RumorFrame.Header

  let id: String
  let base: RaptorURI
  let socketID: String
  private let port: Int
  private let token: String
  private var socket: WebSocketClient
  private var requests = 0

  /// Asks the server for the room's credentials and opens the socket. - Parameter query: of `/room/NAME`.
  convenience init(_ server: SessionServer, room: String = "a", query: String = "", id: String) throws {
    let credentials = try server.json("GET", "/room/\(room)?\(query)")
    try self.init(
      server, session: try #require(credentials["sessionId"]?.stringValue),
      token: try #require(credentials["token"]?.stringValue), id: id)
  }

  init(_ server: SessionServer, session: String, token: String, id: String) throws {
    self.token = token
    base = RaptorURI(partner: "100", session: session)
    self.id = id
    port = server.port
    socketID = "socket-of-\(id)"
    socket = try WebSocketClient(port: port, path: "/rumorwebsocketsv2?socketId=\(socketID)&attempt=1")
  }

  /// The state that the server answered.
  @discardableResult
  func join(token: String? = nil) throws -> JSON {
    try send(
      RumorFrame(
        .connect, headers: [Header.uniqueID: id, Header.notifyDisconnectAddress: "symphony.otchat"]))
    let answer = try request(
      RaptorMessage(.create, base.with(.connection(id)), content: ["clientVersion": "test"]),
      token: token ?? self.token)
    guard answer.status == 200 else { throw LoopbackClient.Failure(what: "join: \(answer.status ?? 0)") }
    return try JSON(parsing: answer.payload)
  }

  /// Sends a message and takes frames until its answer has come.
  func request(_ message: RaptorMessage, token: String? = nil) throws -> RumorFrame {
    requests += 1
    let transactionID = "\(id)-\(requests)"
    var headers: RumorFrame.Headers = [
      Header.contentType: RumorFrame.raptorContentType, Header.transactionID: transactionID, Header.from: id,
    ]
    if let token { headers[Header.token] = token }
    try send(
      RumorFrame(.message, to: ["symphony.otchat"], headers: headers, payload: message.json.serialized()))
    while true {
      let frame = try receive()
      if frame.kind == .status && frame.transactionID == transactionID { return frame }
      if let message = take(frame) { pending.append(message) }
    }
  }

  private var pending: [RaptorMessage] = []

  /// The next message of the server with this method, others before it are skipped.
  func next(_ method: RaptorMessage.Method) throws -> RaptorMessage {
    while true {
      let message = pending.isEmpty ? take(try receive()) : pending.removeFirst()
      if let message, message.method == method { return message }
    }
  }

  private func take(_ frame: RumorFrame) -> RaptorMessage? {
    guard frame.kind == .message else { return nil }
    if let acknowledgement = frame.acknowledgement(from: id) { try? send(acknowledgement) }
    return try? RaptorMessage(parsing: frame.payload)
  }

  func send(_ frame: RumorFrame) throws { try socket.send(frame.encoded()) }
  func receive() throws -> RumorFrame { try RumorFrame(decoding: socket.receiveMessage()) }

  func publish(_ stream: String, name: String = "") throws -> RumorFrame {
    try request(
      RaptorMessage(
        .create, base.with(.stream(stream)),
        content: [
          "id": .string(stream), "name": .string(name),
          "channel": [
            ["id": "video1", "type": "video", "active": true, "width": 640, "height": 480],
            ["id": "audio1", "type": "audio", "active": true],
          ],
        ]))
  }

  /// The socket vanishes, as when a network goes away.
  func lose() { socket.connection.reset() }

  /// - Parameter other: the port of a server that has come in the first one's place.
  func resume(at other: Int? = nil) throws {
    socket = try WebSocketClient(
      port: other ?? port, path: "/rumorwebsocketsv2?socketId=\(socketID)&reconnect=true&attempt=2")
  }

  func leave(code: Int?) throws { try socket.sendClose(code: code) }

  /// The code with which the server closes; frames before it are skipped.
  func closeCode() throws -> Int { try socket.receiveClose() }
}
