import Base
import OpenTokProtocol

/// One session: its connections, streams and subscribers, and the messages that they exchange.
///
/// A pure state machine. `RoomDirectory` around it keeps sockets and sessions apart, checks tokens and
/// tells it the time. Media goes from client to client; the room relays what they need to find each other.
package struct Room: Sendable {
  let configuration: RoomConfiguration
  let base: RaptorURI
  /// Part of all ids made here, so that none comes again in a later room of the same session.
  let generation: Int
  /// In the order in which they joined.
  private(set) var members: [RoomMember] = []
  /// Where in `members` a connection is.
  private var indices: [String: Int] = [:]
  /// In the order in which they were published.
  var streams: [RoomStream] = [] { didSet { changes += 1 } }
  var archives: [SessionState.Archive] = [] { didSet { changes += 1 } }
  var muteOnEntry = false { didSet { changes += 1 } }
  /// Grows with every change of what is kept of the room (`record`).
  private(set) var changes = 0
  var now: RoomTime
  private var lastTransaction = 0
  private var lastPeer = 0
  private var outputs: [RoomOutput] = []
  private var ended: [String] = []

  private var transactionPrefix: String { "srv-\(generation)-" }

  init(configuration: RoomConfiguration, sessionID: String, generation: Int, at now: RoomTime) {
    self.configuration = configuration
    self.generation = generation
    self.now = now
    base = RaptorURI(partner: configuration.apiKey, session: sessionID)
  }

  var sessionID: String { base.session }
  var isEmpty: Bool { members.isEmpty && archives.isEmpty }

  var state: SessionState {
    SessionState(
      id: sessionID, connections: visibleMembers.map(\.info), streams: streams.map(\.info),
      archives: archives,
      muteOnEntry: muteOnEntry)
  }

  /// All but recorders.
  var visibleMembers: [RoomMember] { members.filter { !$0.isHidden } }

  /// About the size of the state, which is bounded.
  var stateBytes: Int {
    members.reduce(0) { $0 + $1.infoBytes } + streams.reduce(0) { $0 + $1.infoBytes }
  }

  func index(of connectionID: String) -> Int? { indices[connectionID] }

  /// Whether there is that connection for the others.
  func isVisible(_ connectionID: String) -> Bool {
    index(of: connectionID).map { !members[$0].isHidden } ?? false
  }

  func isHidden(_ connectionID: String) -> Bool {
    index(of: connectionID).map { members[$0].isHidden } ?? false
  }

  mutating func append(_ member: RoomMember) {
    indices[member.id] = members.count
    members.append(member)
    changes += 1
  }

  private mutating func remove(_ connectionID: String) {
    guard let index = indices.removeValue(forKey: connectionID) else { return }
    members.remove(at: index)
    changes += 1
    for index in index..<members.count { indices[members[index].id] = index }
  }

  /// What has been decided since the last call, and the connections that have ended.
  mutating func drain() -> (outputs: [RoomOutput], ended: [String]) {
    removeOverwhelmed()
    defer { (outputs, ended) = ([], []) }
    return (outputs, ended)
  }

  // MARK: Coming and going

  /// Adds a connection whose token has been checked: the answer is the session's state, then everybody
  /// hears of it, itself included; of a hidden one only itself.
  mutating func join(
    _ info: ConnectionInfo, socket: RoomSocket, resumptionID: String?, suppressesConnectionEvents: Bool,
    followsPreferences: Bool = false, layoutClasses: [String] = [], isHidden: Bool = false,
    transactionID: String?
  ) throws(RoomRefusal) {
    guard index(of: info.id) == nil else { throw .exists }
    guard isHidden || visibleMembers.count < configuration.limits.connectionsPerSession else {
      throw .connectionLimit
    }
    let member = RoomMember(
      info, socket: socket, resumptionID: resumptionID,
      suppressesConnectionEvents: suppressesConnectionEvents, followsPreferences: followsPreferences,
      layoutClasses: layoutClasses,
      isHidden: isHidden,
      limits: configuration.limits, at: now.instant)
    guard stateBytes + member.infoBytes <= configuration.limits.stateBytes else { throw .connectionLimit }
    append(member)
    answerState(transactionID, of: info.id)
    broadcastConnection(member, .created)
    if !isHidden { emit(.event(.connectionCreated(session: sessionID, info))) }
  }

  /// A new WebSocket for a connection: everything unacknowledged is sent again.
  mutating func resume(_ connectionID: String, socket: RoomSocket) {
    guard let index = index(of: connectionID) else { return }
    if let old = members[index].socket { emit(.close(old, code: RoomCloseCode.normal)) }
    members[index].socket = socket
    members[index].seen = now.instant
    for message in members[index].unacknowledged { emit(.send(message.frame, to: socket)) }
  }

  /// The WebSocket is gone without a word: the connection may come back within the grace period.
  mutating func lose(_ connectionID: String) {
    guard let index = index(of: connectionID), members[index].socket != nil else { return }
    members[index].socket = nil
    members[index].seen = now.instant
    if members[index].resumptionID == nil { leave(connectionID, reason: RaptorReason.networkDisconnected) }
  }

  /// Ends a connection: its subscriptions, its streams, then itself, told to all the others.
  mutating func leave(_ connectionID: String, reason: String) {
    end(connectionID, reason: reason, tellingItself: false)
  }

  /// Throws a connection out: it hears of its end like the others.
  mutating func kick(_ connectionID: String, reason: String) {
    end(connectionID, reason: reason, tellingItself: true)
  }

  private mutating func end(_ connectionID: String, reason: String, tellingItself: Bool) {
    guard let index = index(of: connectionID) else { return }
    let member = members[index]
    endSubscribers(of: connectionID)
    if !tellingItself { remove(connectionID) }
    for stream in streams where stream.publisherID == connectionID { unpublish(stream.id, reason: reason) }
    broadcastConnection(member, .deleted, reason: reason)
    remove(connectionID)
    ended.append(connectionID)
    if !member.isHidden {
      emit(.event(.connectionDestroyed(session: sessionID, member.info, reason: reason)))
    }
  }

  /// Ends connections that were lost for too long or are silent.
  mutating func advance() {
    for member in members {
      let elapsed = now.instant - member.seen
      if let socket = member.socket {
        guard elapsed >= configuration.idleTimeout else { continue }
        emit(.close(socket, code: RoomCloseCode.timeout))
        lose(member.id)
      } else if elapsed >= configuration.gracePeriod {
        leave(member.id, reason: RaptorReason.networkDisconnected)
      }
    }
  }

  private mutating func removeOverwhelmed() {
    while let member = members.first(where: \.isOverwhelmed) {
      if let socket = member.socket { emit(.close(socket, code: RoomCloseCode.refused)) }
      leave(member.id, reason: RaptorReason.networkDisconnected)
    }
  }

  private mutating func broadcastConnection(
    _ member: RoomMember, _ method: RaptorMessage.Method, reason: String? = nil
  ) {
    let message = RaptorMessage(
      method, base.with(.connection(member.id)), content: member.info.json, reason: reason)
    let recipients = members.indices.filter {
      !member.isHidden && !members[$0].suppressesConnectionEvents || members[$0].id == member.id
    }
    send(message, from: member.id, to: recipients)
  }

  // MARK: Sending

  mutating func emit(_ output: RoomOutput) { outputs.append(output) }

  mutating func broadcast(_ message: RaptorMessage, from sender: String) {
    send(message, from: sender, to: Array(members.indices))
  }

  mutating func send(_ message: RaptorMessage, from sender: String, to connectionID: String) {
    if let index = index(of: connectionID) { send(message, from: sender, to: [index]) }
  }

  /// - Parameters:
  ///   - sender: a connection id, the server's address, or empty for the REST API. Web SDKs ignore what
  ///     comes from connections they do not know, so a hidden one's messages are the server's.
  ///   - recipients: indices of members.
  mutating func send(_ message: RaptorMessage, from sender: String, to recipients: [Int]) {
    let payload = message.payload
    let from = isHidden(sender) ? configuration.symphonyAddress : sender
    for index in recipients {
      lastTransaction += 1
      let frame = RumorFrame(
        .message, to: [members[index].id],
        headers: [
          RumorFrame.Header.contentType: RumorFrame.raptorContentType,
          RumorFrame.Header.transactionID: transactionPrefix + String(lastTransaction),
          RumorFrame.Header.from: from,
        ], payload: payload)
      members[index].keep(frame, number: lastTransaction, limits: configuration.limits)
      if let socket = members[index].socket { emit(.send(frame, to: socket)) }
    }
  }

  /// Answers a request; a repeated one gets the same answer.
  mutating func answer(
    _ transactionID: String?, of connectionID: String, status: Int, payload: JSON? = nil
  ) {
    guard let transactionID, let index = index(of: connectionID) else { return }
    let frame = RoomAnswer.frame(
      transactionID, to: connectionID, status: status, payload: payload, from: configuration.symphonyAddress)
    members[index].remember(frame, to: transactionID, limits: configuration.limits)
    if let socket = members[index].socket { emit(.send(frame, to: socket)) }
  }

  /// Answers a connection's creation. The state is not kept for a repetition, for it grows with the
  /// session: asked again, it is made anew.
  mutating func answerState(_ transactionID: String?, of connectionID: String) {
    guard let transactionID, let index = index(of: connectionID), let socket = members[index].socket else {
      return
    }
    let frame = RoomAnswer.frame(
      transactionID, to: connectionID, status: 200, payload: state.json, from: configuration.symphonyAddress)
    emit(.send(frame, to: socket))
  }

  /// A message of this room that is no event: `read` is answered by one with the request's transaction id.
  mutating func answerRead(_ transactionID: String, of index: Int) {
    let frame = RumorFrame(
      .message, to: [members[index].id],
      headers: [
        RumorFrame.Header.contentType: RumorFrame.raptorContentType,
        RumorFrame.Header.transactionID: transactionID, RumorFrame.Header.from: "",
      ], payload: RaptorMessage(.read, base, content: state.json).payload)
    if let socket = members[index].socket { emit(.send(frame, to: socket)) }
  }

  mutating func makePeerID() -> String {
    lastPeer += 1
    return "peer-\(generation)-\(lastPeer)"
  }

  // MARK: What a member does to itself

  mutating func acknowledge(_ transactionID: String, by connectionID: String) {
    guard let index = index(of: connectionID), transactionID.hasPrefix(transactionPrefix),
      let number = Int(transactionID.dropFirst(transactionPrefix.count))
    else { return }
    members[index].acknowledge(number)
  }

  mutating func touch(_ connectionID: String) {
    guard let index = index(of: connectionID) else { return }
    members[index].seen = now.instant
  }

  mutating func takeRequest(_ index: Int) -> Bool { members[index].requests.take(at: now.instant) }
  mutating func takeSignal(_ index: Int, bytes: Int) -> Bool {
    members[index].signals.take(at: now.instant)
      && members[index].signalBytes.take(Double(bytes), at: now.instant)
  }

  mutating func takeState(_ index: Int) -> Bool { members[index].states.take(at: now.instant) }

  /// Whether a connection leaves so much unacknowledged that nothing more is to be relayed to it.
  func isBehind(_ connectionID: String) -> Bool {
    index(of: connectionID).map { members[$0].isBehind(configuration.limits) } ?? false
  }
}
