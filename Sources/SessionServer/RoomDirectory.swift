import Base
import OpenTokProtocol

/// All sessions of a server and the WebSockets of their clients: what an IO shell has to call.
///
/// A pure state machine: sockets are numbers, the time is told. Every call answers what is to be done.
/// `advance` has to be called about once a second. Not for concurrent use.
package struct RoomDirectory: Sendable {
  /// Where a WebSocket stands.
  private enum Place {
    /// No connection yet, or one that has ended; closed by us if that lasts.
    case lonely(until: Instant)
    case member(session: String, connection: String)
  }

  private struct Socket {
    var place: Place
    /// Text by which the client can resume, from the URL.
    var resumptionID: String?
    /// `uniqueId` of CONNECT.
    var connectionID: String?
    /// How often a message was refused because no connection was created before.
    var refusals = 0
  }

  package let configuration: RoomConfiguration
  private var rooms: [String: Room] = [:]
  private var sockets: [RoomSocket: Socket] = [:]
  private var lastGeneration = 0
  /// The sessions of which something changed that is to be kept.
  private var changed: Set<String> = []
  /// Frames that could not be read.
  package private(set) var malformedFrames = 0

  package init(configuration: RoomConfiguration) {
    self.configuration = configuration
  }

  // MARK: WebSockets

  /// A WebSocket was opened.
  ///
  /// - Parameter query: behind the `?` of its URL: `socketId` names it, with `reconnect` it takes the place
  ///   of a lost one.
  package mutating func opened(_ socket: RoomSocket, query: String, at now: RoomTime) -> [RoomOutput] {
    guard sockets.count < configuration.limits.sockets else {
      return [.close(socket, code: RoomCloseCode.tryAgainLater)]
    }
    let fields = FormEncoding.fields(query.prefix(1024))
    func value(_ key: String) -> String? { fields.first { $0.key == key }?.value }
    let resumptionID = value("socketId").flatMap { Room.isValidID($0) ? $0 : nil }
    guard value("reconnect").map({ $0.isEmpty || $0 == "false" || $0 == "0" }) ?? true else {
      guard let resumptionID, let (session, connection) = owner(of: resumptionID) else {
        return [.close(socket, code: RoomCloseCode.cannotResume)]
      }
      sockets[socket] = Socket(
        place: .member(session: session, connection: connection), resumptionID: resumptionID,
        connectionID: connection)
      return inRoom(session, at: now) { $0.resume(connection, socket: socket) }
    }
    sockets[socket] = Socket(
      place: .lonely(until: now.instant + configuration.joinTimeout), resumptionID: resumptionID)
    return []
  }

  /// A binary message came. What is no Rumor frame ends the WebSocket.
  package mutating func received(
    _ bytes: UnsafeRawBufferPointer, on socket: RoomSocket, at now: RoomTime
  ) -> [RoomOutput] {
    guard let known = sockets[socket] else { return [] }
    let frame: RumorFrame
    do {
      frame = try RumorFrame(decoding: bytes)
    } catch {
      malformedFrames += 1
      return [.close(socket, code: RoomCloseCode.refused)]
        + end(socket, at: now) { room, connection in
          room.leave(connection, reason: RaptorReason.networkDisconnected)
        }
    }
    var outputs: [RoomOutput] = []
    if case .member(let session, let connection) = known.place {
      outputs = inRoom(session, at: now) { $0.touch(connection) }
    }
    switch frame.kind {
    case .ping: outputs.append(.send(RumorFrame(.pong), to: socket))
    case .connect:
      sockets[socket]?.connectionID = frame.headers[RumorFrame.Header.uniqueID]
      if let transactionID = Self.transactionID(frame) {
        let answer = RoomAnswer.frame(
          transactionID, to: frame.headers[RumorFrame.Header.uniqueID], status: 200,
          from: configuration.symphonyAddress)
        outputs.append(.send(answer, to: socket))
      }
    case .message: outputs += message(frame, on: socket, known, at: now)
    case .status:
      if case .member(let session, let connection) = known.place, let transactionID = frame.transactionID {
        outputs += inRoom(session, at: now) { $0.acknowledge(transactionID, by: connection) }
      }
    case .disconnect: outputs += disconnect(frame, on: socket, known, at: now)
    case .subscribe, .unsubscribe, .pong: break  // A client's topic is its session, always.
    }
    return outputs
  }

  package mutating func received(_ bytes: [UInt8], on socket: RoomSocket, at now: RoomTime) -> [RoomOutput] {
    bytes.withUnsafeBytes { received($0, on: socket, at: now) }
  }

  /// A WebSocket is gone.
  ///
  /// - Parameter code: of the client's Close frame; 1005 if it held none, 1006 if there was no such frame.
  package mutating func closed(_ socket: RoomSocket, code: UInt16, at now: RoomTime) -> [RoomOutput] {
    let isNormal = [0, RoomCloseCode.normal, RoomCloseCode.goingAway, RoomCloseCode.noCode].contains(code)
    return end(socket, at: now) { room, connection in
      if isNormal {
        room.leave(connection, reason: RaptorReason.clientDisconnected)
      } else {
        room.lose(connection)
      }
    }
  }

  /// Lets time pass: ends what was lost, silent or lonely for too long.
  package mutating func advance(to now: RoomTime) -> [RoomOutput] {
    var outputs: [RoomOutput] = []
    for session in rooms.keys.sorted() { outputs += inRoom(session, at: now) { $0.advance() } }
    for (socket, known) in sockets.sorted(by: { $0.key < $1.key }) {
      guard case .lonely(let deadline) = known.place, now.instant >= deadline else { continue }
      sockets[socket] = nil
      outputs.append(.close(socket, code: RoomCloseCode.normal))
    }
    return outputs
  }

  // MARK: REST

  /// Does something to a session.
  ///
  /// - Throws: the status and text for the HTTP answer; 404 if nobody is in that session.
  package mutating func perform(
    _ action: RoomAction, in session: String, at now: RoomTime
  ) throws(RoomRefusal) -> [RoomOutput] {
    guard rooms[session] != nil else { throw .noSession }
    var refusal: RoomRefusal?
    let outputs = inRoom(session, at: now) { room in
      do throws(RoomRefusal) { try room.perform(action) } catch { refusal = error }
    }
    if let refusal { throw refusal }
    return outputs
  }

  /// What is in a session; nil if nobody is.
  package func state(of session: String) -> SessionState? { rooms[session]?.state }

  /// Who is in a session, recorders apart, and what is published there.
  package func occupancy(of session: String) -> ArchiveCatalogue.Occupancy {
    guard let room = rooms[session] else { return ArchiveCatalogue.Occupancy() }
    return ArchiveCatalogue.Occupancy(
      clients: room.visibleMembers.count, streams: room.streams.map { Archive.Stream($0.info) })
  }

  /// Of the streams that have any, by their ids.
  package func layoutClasses(of session: String) -> [String: [String]] {
    var classes: [String: [String]] = [:]
    for stream in rooms[session]?.streams ?? [] where !stream.layoutClasses.isEmpty {
      classes[stream.id] = stream.layoutClasses
    }
    return classes
  }

  /// What the one on that WebSocket publishes, with the session.
  package func streams(ofPublisherOn socket: RoomSocket) -> [(session: String, stream: StreamInfo)] {
    guard case .member(let session, let connection) = sockets[socket]?.place else { return [] }
    return (rooms[session]?.streams ?? []).filter { $0.publisherID == connection }
      .map { (session, $0.info) }
  }

  /// The sessions in which somebody is.
  package var sessions: [String] { rooms.keys.sorted() }

  package var connectionCount: Int { rooms.values.reduce(0) { $0 + $1.visibleMembers.count } }
  package var streamCount: Int { rooms.values.reduce(0) { $0 + $1.streams.count } }
  package var socketCount: Int { sockets.count }

  /// Tells every client that it is over and closes all WebSockets.
  package mutating func shutDown(at now: RoomTime) -> [RoomOutput] {
    var outputs: [RoomOutput] = []
    for session in rooms.keys.sorted() { outputs += inRoom(session, at: now) { $0.shutDown() } }
    for socket in sockets.keys.sorted() {
      outputs.append(.close(socket, code: RoomCloseCode.goingAway))
    }
    sockets = [:]
    return outputs
  }

  // MARK: Kept

  package var hasChanges: Bool { !changed.isEmpty }

  /// What was drained of that session has not been kept.
  package mutating func keepAgain(_ session: String) { changed.insert(session) }

  /// What is to be kept of the sessions that have changed since the last call; nil: the session is over.
  package mutating func drainRecords() -> [(session: String, record: JSON?)] {
    defer { changed = [] }
    return changed.sorted().map { session in (session, rooms[session]?.record) }
  }

  /// Goes on with the sessions of a server that died: their connections are lost ones, which may be resumed
  /// within the grace period. Recordings died with the server, which clients are told.
  package mutating func restore(_ records: [JSON], at now: RoomTime) -> [RoomOutput] {
    // Ids made from now on must be new to those who were there.
    lastGeneration = records.compactMap { Room.generation(in: $0) }.max() ?? 0
    var outputs: [RoomOutput] = []
    for record in records {
      if let session = record["session"]?.stringValue { changed.insert(session) }
      guard let room = Room(record, configuration: configuration, generation: lastGeneration + 1, at: now),
        rooms[room.sessionID] == nil, rooms.count < configuration.limits.sessions
      else { continue }
      lastGeneration += 1
      rooms[room.sessionID] = room
      outputs += inRoom(room.sessionID, at: now) { $0.endWhatCannotGoOn() }
    }
    return outputs
  }

  // MARK: Inside

  /// Calls a room and then brings the list of sockets up to date with what it decided.
  private mutating func inRoom(
    _ session: String, at now: RoomTime, _ body: (inout Room) -> Void
  ) -> [RoomOutput] {
    guard var room = rooms.removeValue(forKey: session) else { return [] }
    room.now = now
    let changes = room.changes
    body(&room)
    let (outputs, ended) = room.drain()
    if room.changes != changes { changed.insert(session) }
    for case .close(let socket, _) in outputs { sockets[socket] = nil }
    for connection in ended { release(connection, in: session, at: now) }
    if !room.isEmpty { rooms[session] = room }
    return outputs
  }

  /// Forgets a WebSocket, and if it belongs to a connection lets its room decide what becomes of that.
  private mutating func end(
    _ socket: RoomSocket, at now: RoomTime, _ body: (inout Room, _ connection: String) -> Void
  ) -> [RoomOutput] {
    guard case .member(let session, let connection) = sockets.removeValue(forKey: socket)?.place else {
      return []
    }
    return inRoom(session, at: now) { body(&$0, connection) }
  }

  private mutating func release(_ connection: String, in session: String, at now: RoomTime) {
    for (socket, known) in sockets {
      if case .member(session, connection) = known.place {
        sockets[socket]?.place = .lonely(until: now.instant + configuration.farewellTimeout)
      }
    }
  }

  private func owner(of resumptionID: String) -> (session: String, connection: String)? {
    for (session, room) in rooms {
      if let member = room.members.first(where: { $0.resumptionID == resumptionID }) {
        return (session, member.id)
      }
    }
    return nil
  }

  /// The text by which the answer is found; too long a one is not repeated.
  private static func transactionID(_ frame: RumorFrame) -> String? {
    frame.transactionID.flatMap { $0.utf8.count <= 128 ? $0 : nil }
  }

  private mutating func message(
    _ frame: RumorFrame, on socket: RoomSocket, _ known: Socket, at now: RoomTime
  ) -> [RoomOutput] {
    guard let transactionID = Self.transactionID(frame) else { return [] }
    if case .member(let session, let connection) = known.place {
      return inRoom(session, at: now) { $0.receive(frame, from: connection) }
    }
    do throws(RoomRefusal) {
      return try join(frame, on: socket, known, at: now)
    } catch {
      let answer = RoomAnswer.frame(
        transactionID, to: known.connectionID, refusal: error, from: configuration.symphonyAddress)
      return [.send(answer, to: socket)] + refuse(socket)
    }
  }

  /// One who tries too often to join is sent away: each attempt costs a check of a signature.
  private mutating func refuse(_ socket: RoomSocket) -> [RoomOutput] {
    sockets[socket]?.refusals += 1
    guard let refusals = sockets[socket]?.refusals, refusals >= configuration.limits.joinAttempts else {
      return []
    }
    sockets[socket] = nil
    return [.close(socket, code: RoomCloseCode.refused)]
  }

  /// The first message on a WebSocket has to create its connection.
  private mutating func join(
    _ frame: RumorFrame, on socket: RoomSocket, _ known: Socket, at now: RoomTime
  ) throws(RoomRefusal) -> [RoomOutput] {
    let message = try Room.message(in: frame)
    guard message.method == .create, case .connection(let id) = message.uri.resource else { throw .notJoined }
    guard Room.isValidID(id) else { throw .malformed }
    guard message.uri.partner == configuration.apiKey else { throw .noSession }
    let session = message.uri.session
    let (token, isHidden) = try token(frame.headers[RumorFrame.Header.token] ?? "", for: session, at: now)
    if rooms[session] == nil {
      guard rooms.count < configuration.limits.sessions else { throw .connectionLimit }
      lastGeneration += 1
      rooms[session] = Room(
        configuration: configuration, sessionID: session, generation: lastGeneration, at: now)
    }
    let info = ConnectionInfo(
      id: id, creationTime: now.unixMilliseconds, data: token.connectionData,
      permissions: isHidden ? .subscribe : token.role.permissions)
    // Two connections that could be resumed by the same text would be one for an attacker to take.
    let resumptionID = known.resumptionID.flatMap { owner(of: $0) == nil ? $0 : nil }
    let suppresses = message.content["connectionEventsSuppressed"]?.boolValue ?? false
    let capabilities = (message.content["capabilities"]?.arrayValue ?? []).prefix(16)
    var refusal: RoomRefusal?
    let outputs = inRoom(session, at: now) { room in
      do throws(RoomRefusal) {
        try room.join(
          info, socket: socket, resumptionID: resumptionID, suppressesConnectionEvents: suppresses,
          followsPreferences: capabilities.contains(Room.preferencesCapability),
          layoutClasses: token.layoutClasses, isHidden: isHidden, transactionID: frame.transactionID)
      } catch { refusal = error }
    }
    if let refusal { throw refusal }
    sockets[socket]?.place = .member(session: session, connection: id)
    sockets[socket]?.connectionID = id
    return outputs
  }

  private func token(
    _ text: String, for session: String, at now: RoomTime
  ) throws(RoomRefusal) -> (Token, isHidden: Bool) {
    let seconds = now.unixMilliseconds / 1000
    if let token = configuration.archiverKey.token(text, configuration.apiKey, session, now: seconds) {
      return (token, true)
    }
    do throws(TokenError) {
      let token = try Token.verify(
        text, apiKey: configuration.apiKey, secret: configuration.apiSecret, sessionID: session, now: seconds)
      return (token, false)
    } catch {
      if case .expired = error { throw RoomRefusal(403, "token expired") }
      throw RoomRefusal(403, "invalid token")
    }
  }

  private mutating func disconnect(
    _ frame: RumorFrame, on socket: RoomSocket, _ known: Socket, at now: RoomTime
  ) -> [RoomOutput] {
    guard case .member(let session, let connection) = known.place else { return [] }
    // `reconnect: 1` is said on the old WebSocket by a client that is about to open a new one.
    let isReconnecting = frame.headers[RumorFrame.Header.reconnect].map { !$0.isEmpty } ?? false
    sockets[socket]?.place = .lonely(until: now.instant + configuration.farewellTimeout)
    return inRoom(session, at: now) { room in
      if isReconnecting {
        room.lose(connection)
      } else {
        room.leave(connection, reason: RaptorReason.clientDisconnected)
      }
    }
  }
}
