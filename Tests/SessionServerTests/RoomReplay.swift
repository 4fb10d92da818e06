import Base
import OpenTokProtocol
import SessionServer
import TestSupport

/// Feeds the clients' half of a recorded session into our rooms, and puts what they answer beside what the
/// recorded server answered.
///
/// Both are brought into one form, in which our server may differ:
/// - ids of its own messages and of peer connections (`peerId`) are its own; but one subscription always has
///   the same peer id, and no two have the same;
/// - creation times come from its own clock: both are within the recording;
/// - the text of a refusal, not its code, is its own;
/// - numbers are equal if their values are (`30` and `30.0`), and members of objects have no order.
///
/// And in what it does:
/// - the recorded server acted on the closing of a WebSocket where ours acts on the DISCONNECT that web
///   clients send 100 ms before it: here it is held back until then;
/// - candidates that web SDK 2.7.6 sends under the name of an ended subscription, ours relays under the name
///   of the one that took its place (`successors`);
/// - ours also tells publishers of the end of the subscriptions of one who leaves (`endedWithLeave`).
struct RoomReplay {
  /// What a server said to one client, in one form.
  struct Said: Equatable, CustomStringConvertible {
    var kind: RumorFrame.Kind
    var headers: [String]
    var payload: JSON

    var description: String { "\(kind) \(headers) \(payload.text)" }
  }

  let trace: Trace
  var directory: RoomDirectory
  /// By connection id.
  var recorded: [String: [Said]] = [:]
  var ours: [String: [Said]] = [:]
  var recordedCloses: [String] = []
  var ourCloses: [String] = []
  /// Subscriber URIs whose end was told only because the subscriber left.
  var endedWithLeave: [String] = []
  /// Peer ids by subscriber URI.
  private(set) var peers: [String: Set<String>] = [:]
  /// Ids of our messages that no recorded one has been matched with, and what they said.
  private var unmatched: [String: [(id: String, said: Said)]] = [:]
  /// Our id for the recorded server's id of a message.
  private var ids: [String: String] = [:]
  private var disconnects: [Int: RumorFrame] = [:]
  private var successors: [String: String] = [:]
  private var subscriptions: [String: String] = [:]
  private var connections: [Int: String] = [:]
  private var socketTexts: [String: String] = [:]

  init(_ trace: Trace) {
    self.trace = trace
    var configuration = RoomConfiguration(
      apiKey: "100", apiSecret: Trace.secret, symphonyAddress: "symphony.lab.test",
      iceServers: ICEServerList(stunURLs: ["stun:127.0.0.1:3478"]))
    // The recorded server waited 8 s.
    configuration.gracePeriod = .seconds(8)
    directory = RoomDirectory(configuration: configuration)
  }

  mutating func run() throws {
    for (index, line) in trace.lines.enumerated() {
      let now = RoomTime(
        instant: Instant(nanoseconds: Int64(line.time * 1e9)),
        unixMilliseconds: Int64((trace.began + line.time) * 1000))
      take(directory.advance(to: now), leaving: true)
      switch line.content {
      case .http: break
      case .open(let path): open(line.socket, path: path, at: now)
      case .close(let code) where line.isFromClient:
        if let frame = disconnects.removeValue(forKey: line.socket) {
          take(directory.received(frame.encoded(), on: line.socket, at: now), leaving: true)
        }
        take(directory.closed(line.socket, code: UInt16(code), at: now), leaving: true)
      case .close(let code): recordedCloses.append("\(line.socket): \(code)")
      case .frame(let frame):
        let frame = try RumorFrame(decoding: frame.bytes)
        if line.isFromClient {
          try receive(frame, on: line.socket, at: now)
        } else {
          try expect(frame, on: line.socket, index: index, at: now)
        }
      }
    }
  }

  private mutating func open(_ socket: Int, path: String, at now: RoomTime) {
    let query = path.split(separator: "?").dropFirst().first.map(String.init) ?? ""
    let text = query.split(separator: "&").first { $0.hasPrefix("socketId=") }.map(String.init) ?? ""
    connections[socket] = socketTexts[text]
    socketTexts[text] = socketTexts[text] ?? ""
    take(directory.opened(socket, query: query, at: now), leaving: false)
  }

  private mutating func receive(_ frame: RumorFrame, on socket: Int, at now: RoomTime) throws {
    var frame = frame
    if frame.kind == .disconnect {
      disconnects[socket] = frame
      return
    }
    noteSuccessor(frame)
    if frame.kind == .connect, let id = frame.headers["uniqueId"] { connections[socket] = id }
    for (text, id) in socketTexts where id.isEmpty { socketTexts[text] = connections[socket] ?? "" }
    if frame.kind == .status, let id = frame.transactionID {
      frame.headers["TRANSACTION-ID"] = ids["\(connections[socket] ?? "") \(id)"] ?? id
    }
    take(directory.received(frame.encoded(), on: socket, at: now), leaving: false)
  }

  /// Notes a frame of the recorded server, and does what its REST API did if ours has not said it yet.
  private mutating func expect(_ frame: RumorFrame, on socket: Int, index: Int, at now: RoomTime) throws {
    let connection = connections[socket] ?? ""
    let said = said(frame, of: connection)
    recorded[connection, default: []].append(said)
    guard frame.kind == .message, let id = frame.transactionID else { return }
    if !(unmatched[connection] ?? []).contains(where: { $0.said == said }),
      let action = try action(for: frame, index: index)
    {
      take(try directory.perform(action, in: trace.sessionID, at: now), leaving: true)
    }
    guard let match = unmatched[connection]?.firstIndex(where: { $0.said == said }) else { return }
    ids["\(connection) \(id)"] = unmatched[connection]?.remove(at: match).id
  }

  private func action(for frame: RumorFrame, index: Int) throws -> RoomAction? {
    let message = try RaptorMessage(parsing: frame.payload)
    switch (message.method, message.uri.resource, frame.from) {
    case (.signal, .signal(let id, let recipient), ""):
      return .signal(id: id, content: message.content, to: recipient)
    case (.update, .stream(let stream), ""):
      return isPartOfMuteAll(index) ? .muteAll(active: true, excluding: []) : .mute(stream: stream)
    case (.update, .session, ""):
      return .muteAll(active: message.content["active"]?.boolValue ?? true, excluding: [])
    case (.deleted, .stream, let from?) where message.reason == "forceDisconnected":
      return .forceDisconnect(connection: from)
    default: return nil
    }
  }

  /// The recorded server's mute-all begins with the streams; the session's update follows within 10 ms.
  private func isPartOfMuteAll(_ index: Int) -> Bool {
    trace.lines[index...].prefix { $0.time < trace.lines[index].time + 0.01 }.contains { line in
      guard case .frame(let raw) = line.content, let frame = try? RumorFrame(decoding: raw.bytes),
        let message = try? RaptorMessage(parsing: frame.payload)
      else { return false }
      return message.method == .update && message.uri.resource == .session && frame.from == ""
    }
  }

  private mutating func take(_ outputs: [RoomOutput], leaving: Bool) {
    for output in outputs {
      switch output {
      case .event: break
      case .close(let socket, let code): ourCloses.append("\(socket): \(code)")
      case .send(let frame, let socket):
        let connection = connections[socket] ?? ""
        if leaving, let message = try? RaptorMessage(parsing: frame.payload), message.method == .deleted,
          case .subscriber = message.uri.resource
        {
          endedWithLeave.append(message.uri.description)
          continue
        }
        notePeer(frame)
        let said = said(frame, of: connection)
        ours[connection, default: []].append(said)
        if frame.kind == .message, let id = frame.transactionID {
          unmatched[connection, default: []].append((id, said))
        }
      }
    }
  }

  /// A second subscription of a connection to a stream takes the place of the first.
  private mutating func noteSuccessor(_ frame: RumorFrame) {
    guard let message = try? RaptorMessage(parsing: frame.payload), message.method == .create,
      case .subscriber(let stream, _) = message.uri.resource
    else { return }
    let key = "\(stream) \(message.content["connection"]?.stringValue ?? "")"
    if let old = subscriptions[key] { successors[old] = message.uri.description }
    subscriptions[key] = message.uri.description
  }

  private mutating func notePeer(_ frame: RumorFrame) {
    guard let message = try? RaptorMessage(parsing: frame.payload),
      let peer = message.content["peerId"]?.stringValue
    else { return }
    peers[message.uri.description, default: []].insert(peer)
  }

  private func said(_ frame: RumorFrame, of connection: String) -> Said {
    var payload = (try? JSON(parsing: frame.payload)) ?? .null
    if payload["method"] == "candidate", let uri = payload["uri"]?.stringValue,
      let successor = successors[uri]
    {
      payload["uri"] = .string(successor)
    }
    let isEvent = frame.kind == .message && payload["method"] != "read"
    let isRefusal = frame.kind == .status && frame.headers["STATUS"] != "200"
    let headers = frame.headers.filter { !isEvent || $0.name != "TRANSACTION-ID" }
      .map { "\($0.name): \($0.value)" }.sorted()
    return Said(
      kind: frame.kind, headers: headers + frame.addresses,
      payload: isRefusal ? ["reason": "…"] : normalized(payload))
  }

  private func normalized(_ json: JSON) -> JSON {
    switch json {
    case .array(let elements): return .array(elements.map(normalized))
    case .number(let value): return Int64(exactly: value).map(JSON.integer) ?? json
    case .object(let object):
      return object.reduce(into: JSON.object([:])) { result, member in
        switch member.key {
        case "creationTime":
          let elapsed = (member.value.integerValue ?? 0) - Int64(trace.began * 1000)
          result[member.key] = (0..<30_000).contains(elapsed) ? "TIME" : member.value
        case "peerId": result[member.key] = member.value.stringValue.map { _ in "PEER" }
        default: result[member.key] = normalized(member.value)
        }
      }
    default: return json
    }
  }
}
