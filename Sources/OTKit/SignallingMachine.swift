import Base
import OpenTokProtocol

/// A client's half of OpenTok's signalling: Rumor frames over a WebSocket that may be lost and resumed.
///
/// It does no IO and never asks the time. Feed it with `start`, `socketOpened`, `received`, …, then take
/// what is to be done from `nextAction` until there is no more; call `advance` when `deadline` has come.
package struct SignallingMachine {
  package struct Configuration: Equatable, Sendable {
    package var apiKey: String
    package var sessionID: String
    package var token: String
    /// A lower-case UUID of our own choice.
    package var connectionID: String
    package var symphonyAddress: String
    /// Whether the server keeps a lost connection for a while.
    package var reconnection: Bool
    /// For opening a socket, and for joining on it.
    package var connectTimeout: Duration = .seconds(15)
    /// For finding a lost socket again.
    package var reconnectLimit: Duration = .seconds(60)

    package init(
      apiKey: String, sessionID: String, token: String, connectionID: String, symphonyAddress: String,
      reconnection: Bool
    ) {
      self.apiKey = apiKey
      self.sessionID = sessionID
      self.token = token
      self.connectionID = connectionID
      self.symphonyAddress = symphonyAddress
      self.reconnection = reconnection
    }
  }

  package enum Answer: Equatable, Sendable {
    case success(JSON)
    case refused(status: Int, reason: String)
    case timedOut
    /// The session ended before the answer.
    case lost
  }

  package enum Action: Equatable, Sendable {
    /// `attempt` is a new UUID; `resume` asks for the connection that the same socket id had.
    case openSocket(attempt: String, resume: Bool)
    case send(RumorFrame)
    /// After everything that was sent, with a close frame of this code.
    case closeSocket(code: Int)
    case abortSocket
    case event(SignallingEvent)
  }

  package enum State: Equatable, Sendable {
    case idle
    /// Waiting for the first socket.
    case opening(until: Instant)
    /// Waiting to be let in.
    case joining(transactionID: String, until: Instant)
    case connected
    /// The socket was lost at `since`. `attempt` says how far the present attempt is.
    case reconnecting(since: Instant, Attempt)
    case ended
  }

  package enum Attempt: Equatable, Sendable {
    case waiting(until: Instant)
    case opening(until: Instant)
    /// Open; the server has not said yet that it still knows us.
    case verifying(until: Instant)

    var hasSocket: Bool { if case .waiting = self { false } else { true } }
  }

  struct Pending {
    var frame: RumorFrame
    var deadline: Instant
    /// On the present socket.
    var isSent = false
  }

  /// A PING goes out when nothing was sent for so long.
  package static let pingInterval: Duration = .seconds(2)
  /// Without a message for so long the socket is lost.
  package static let silenceWithReconnection: Duration = .milliseconds(5900)
  package static let silenceWithoutReconnection: Duration = .milliseconds(49900)
  /// A lost socket is tried again twice a second for as long as other clients try at all, after that ever less
  /// often (`Backoff`): servers that have been away for long are not found a second earlier by asking more.
  package static let quickReconnection: Duration = .seconds(60)
  package static let reconnectDelay: Duration = .milliseconds(500)
  /// A socket that does not open is tried anew soon, as the kernel would wait ever longer and miss the moment
  /// when the network is back. After so many attempts each may take `connectTimeout`: the network may be slow.
  package static let quickAttempt: Duration = .milliseconds(2500)
  static let quickAttempts = 8
  package static let answerTimeout: Duration = .seconds(15)
  /// How many server transactions are remembered to find duplicates: as many as a server may send again.
  static let rememberedTransactions = 8192
  /// How many requests may be under way, the others wait. They are sent again after a reconnection, so there
  /// may not be more than the server remembers having answered.
  static let maximumUnanswered = 512
  static let maximumPending = 4096
  static let maximumObjects = 4096

  package let configuration: Configuration
  package internal(set) var state = State.idle
  /// What the session holds, as far as we were told.
  package internal(set) var connections: [String: ConnectionInfo] = [:]
  package internal(set) var streams: [String: StreamInfo] = [:]
  package internal(set) var muteOnEntry = false
  /// Frames that made no sense, or no sense here.
  package internal(set) var ignoredFrames = 0

  var generator: any RandomNumberGenerator & Sendable
  var actions: [Action] = []
  var pending: [(transactionID: String, Pending)] = []
  var archives: [String: String] = [:]
  private var seen: Set<String> = []
  private var seenOrder: [String] = []
  private var seenNext = 0
  private var lastSent = Instant.zero
  private var lastReceived = Instant.zero
  var joinState: SessionState?
  var attempts = 0
  var backoff = Backoff()

  package init(
    _ configuration: Configuration,
    generator: any RandomNumberGenerator & Sendable = SystemGenerator()
  ) {
    self.configuration = configuration
    self.generator = generator
  }

  package var base: RaptorURI { RaptorURI(partner: configuration.apiKey, session: configuration.sessionID) }

  package mutating func nextAction() -> Action? { actions.isEmpty ? nil : actions.removeFirst() }

  mutating func emit(_ event: SignallingEvent) { actions.append(.event(event)) }

  mutating func newID() -> String { UUID.v4(using: &generator) }

  // MARK: What the owner does

  package mutating func start(at now: Instant) {
    guard state == .idle else { return }
    state = .opening(until: now + configuration.connectTimeout)
    actions.append(.openSocket(attempt: newID(), resume: false))
  }

  /// Sends a message that the server answers; the answer comes as an event with this transaction id.
  /// While the socket is lost it waits for the next one.
  @discardableResult
  package mutating func request(_ message: RaptorMessage, at now: Instant) -> String {
    let transactionID = newID()
    let isOpen: Bool
    switch state {
    case .connected: isOpen = true
    case .reconnecting: isOpen = false
    default:
      emit(.answered(transactionID: transactionID, .lost))
      return transactionID
    }
    guard pending.count < Self.maximumPending else {
      emit(.answered(transactionID: transactionID, .timedOut))
      return transactionID
    }
    let frame = messageFrame(message, transactionID)
    pending.append((transactionID, Pending(frame: frame, deadline: now + Self.answerTimeout)))
    if isOpen { sendPending(at: now) }
    return transactionID
  }

  /// Leaves the session, telling the server.
  package mutating func leave(at now: Instant) {
    switch state {
    case .ended: return
    case .connected:
      send(RumorFrame(.disconnect, headers: [RumorFrame.Header.reconnect: ""]), at: now)
      actions.append(.closeSocket(code: 1000))
    default:
      actions.append(.abortSocket)
    }
    finish(.disconnected(reason: RaptorReason.clientDisconnected, nil), failure: .cancelled)
  }

  // MARK: What happens to the socket

  package mutating func socketOpened(at now: Instant) {
    lastReceived = now
    switch state {
    case .opening:
      join(at: now)
    case .reconnecting(let since, .opening):
      state = .reconnecting(since: since, .verifying(until: now + Self.silenceWithReconnection))
      // The answer tells that the server still knows us.
      send(RumorFrame(.ping), at: now)
      for index in pending.indices {
        pending[index].1.deadline = now + Self.answerTimeout
        pending[index].1.isSent = false
      }
      sendPending(at: now)
    default:
      break
    }
  }

  package mutating func socketFailed(_ error: OpenTokError, at now: Instant) {
    switch state {
    case .opening: finish(.failed(error), failure: error)
    case .reconnecting(let since, _): retry(since: since, at: now, error)
    default: break
    }
  }

  package mutating func socketClosed(code: Int, at now: Instant) {
    switch state {
    case .opening, .joining:
      let error = OpenTokError.connectionLost(detail: "the server closed the connection (\(code))")
      finish(.failed(error), failure: error)
    case .connected:
      if code == 1001 { return lose(.sessionEnded) }
      guard configuration.reconnection, ![1000, 1003, 1011].contains(code) else {
        return lose("the server closed the connection (\(code))")
      }
      reconnect(.connectionClosed, at: now)
    case .reconnecting(let since, _):
      guard ![1003, 1011].contains(code) else { return lose(.connectionForgotten) }
      retry(since: since, at: now, nil)
    case .idle, .ended:
      break
    }
  }

  package mutating func received(_ bytes: [UInt8], at now: Instant) {
    guard let frame = try? RumorFrame(decoding: bytes, maximumSize: RumorFrame.maximumServerSize) else {
      ignoredFrames += 1
      return
    }
    received(frame, at: now)
  }

  package mutating func received(_ frame: RumorFrame, at now: Instant) {
    lastReceived = now
    switch state {
    case .ended:
      return
    case .idle, .opening, .reconnecting(_, .waiting), .reconnecting(_, .opening):
      ignoredFrames += 1
      return
    case .reconnecting(_, .verifying):
      state = .connected
      emit(.reconnected)
      sendPending(at: now)
    case .joining, .connected:
      break
    }
    switch frame.kind {
    case .status:
      receivedStatus(frame, at: now)
    case .message:
      acknowledge(frame, at: now)
      guard isNew(frame) else { return }
      guard let message = try? RaptorMessage(parsing: frame.payload), message.uri.session == base.session
      else {
        ignoredFrames += 1
        return
      }
      receivedMessage(message, from: frame.from ?? "", at: now)
      tryToEnter()
    case .ping:
      send(RumorFrame(.pong), at: now)
    case .pong:
      break
    case .subscribe, .unsubscribe, .connect, .disconnect:
      ignoredFrames += 1
    }
  }

  // MARK: Time

  /// When `advance` wants to be called; nil: never, as things are.
  package var deadline: Instant? {
    switch state {
    case .idle, .ended: nil
    case .opening(let until), .joining(_, let until): until
    case .connected:
      min(
        lastSent + Self.pingInterval, lastReceived + silence,
        pending.map(\.1.deadline).min() ?? Instant(nanoseconds: .max))
    case .reconnecting(let since, .waiting(let until)),
      .reconnecting(let since, .opening(let until)),
      .reconnecting(let since, .verifying(let until)):
      min(until, since + configuration.reconnectLimit)
    }
  }

  private var silence: Duration {
    configuration.reconnection ? Self.silenceWithReconnection : Self.silenceWithoutReconnection
  }

  package mutating func advance(to now: Instant) {
    guard let deadline, now >= deadline else { return }
    switch state {
    case .opening:
      actions.append(.abortSocket)
      let error = OpenTokError.timedOut(.socket, seconds: configuration.connectTimeout.seconds)
      finish(.failed(error), failure: error)
    case .joining:
      actions.append(.abortSocket)
      let error = OpenTokError.timedOut(.joining, seconds: configuration.connectTimeout.seconds)
      finish(.failed(error), failure: error)
    case .connected:
      advanceConnected(to: now)
    case .reconnecting(let since, let attempt):
      if now >= since + configuration.reconnectLimit {
        actions.append(.abortSocket)
        return lose("no way back for \(Int(configuration.reconnectLimit.seconds)) s")
      }
      if attempt.hasSocket { actions.append(.abortSocket) }
      openAgain(since: since, at: now)
    case .idle, .ended:
      break
    }
  }

  private mutating func advanceConnected(to now: Instant) {
    if now >= lastReceived + silence {
      actions.append(.abortSocket)
      return configuration.reconnection ? reconnect(.silence, at: now) : lose("the server has gone silent")
    }
    for transactionID in pending.filter({ now >= $0.1.deadline }).map(\.transactionID) {
      pending.removeAll { $0.transactionID == transactionID }
      emit(.answered(transactionID: transactionID, .timedOut))
    }
    sendPending(at: now)
    if now >= lastSent + Self.pingInterval { send(RumorFrame(.ping), at: now) }
  }

  // MARK: The end

  mutating func lose(_ detail: String) {
    lose(.connectionLost(detail: detail))
  }

  mutating func lose(_ error: OpenTokError) {
    finish(.disconnected(reason: RaptorReason.networkDisconnected, error), failure: error)
  }

  /// Ended by the server: a moderator's wish, mostly.
  mutating func dismissed(reason: String, at now: Instant) {
    send(RumorFrame(.disconnect, headers: [RumorFrame.Header.reconnect: ""]), at: now)
    actions.append(.closeSocket(code: 1000))
    let error: OpenTokError = reason == RaptorReason.forceDisconnected ? .forceDisconnected : .sessionEnded
    finish(.disconnected(reason: reason, error), failure: error)
  }

  mutating func finish(_ event: SignallingEvent, failure: OpenTokError) {
    let entered: Bool
    switch state {
    case .connected, .reconnecting: entered = true
    case .ended: return
    case .idle, .opening, .joining: entered = false
    }
    state = .ended
    for transactionID in pending.map(\.transactionID) {
      emit(.answered(transactionID: transactionID, .lost))
    }
    pending = []
    emit(entered ? event : .failed(failure))
  }

  // MARK: Frames

  func messageFrame(_ message: RaptorMessage, _ transactionID: String) -> RumorFrame {
    RumorFrame(
      .message, to: [configuration.symphonyAddress],
      headers: [
        RumorFrame.Header.contentType: RumorFrame.raptorContentType,
        RumorFrame.Header.transactionID: transactionID, RumorFrame.Header.from: configuration.connectionID,
      ], payload: message.payload)
  }

  mutating func send(_ frame: RumorFrame, at now: Instant) {
    lastSent = now
    actions.append(.send(frame))
  }

  /// Sends those requests that may be under way and are not yet.
  mutating func sendPending(at now: Instant) {
    for index in pending.indices.prefix(Self.maximumUnanswered) where !pending[index].1.isSent {
      pending[index].1.isSent = true
      pending[index].1.deadline = now + Self.answerTimeout
      send(pending[index].1.frame, at: now)
    }
  }

  private mutating func acknowledge(_ frame: RumorFrame, at now: Instant) {
    if let status = frame.acknowledgement(from: configuration.connectionID) { send(status, at: now) }
  }

  /// False if this transaction was applied before: the server sends again what it does not know to have come.
  private mutating func isNew(_ frame: RumorFrame) -> Bool {
    guard let transactionID = frame.transactionID else { return true }
    guard seen.insert(transactionID).inserted else { return false }
    if seenOrder.count < Self.rememberedTransactions {
      seenOrder.append(transactionID)
    } else {
      seen.remove(seenOrder[seenNext])
      seenOrder[seenNext] = transactionID
      seenNext = (seenNext + 1) % Self.rememberedTransactions
    }
    return true
  }
}
