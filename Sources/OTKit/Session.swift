import Base
import OpenTokProtocol
import Peer

/// A session: a room in which participants publish streams and subscribe to each other's.
///
///     let session = Session(apiKey: key, sessionID: id)
///     try await session.connect(token: token)
///     try await session.publish(Publisher())
///     for await event in session.events { … }
///
/// A session object is good for one connection and lives until that has ended: leave it with `disconnect`.
/// Its methods may be called from anywhere; media runs on threads of its own and never waits for the caller.
public actor Session {
  public nonisolated let apiKey: String
  public nonisolated let sessionID: String
  public nonisolated let configuration: Configuration
  /// Everything that happens, for one reader. Ends after `sessionDisconnected`. Of events that nobody reads
  /// the newest 4096 are kept.
  public nonisolated let events: AsyncStream<SessionEvent>

  enum State {
    case new, connecting, connected, ended
  }

  /// What reaches the session from elsewhere, in order.
  enum Input: Sendable {
    case socket(SocketInbox, WebSocketClient.Event)
    /// Of a publication's and of a subscription's peer connections. A stream that is received by its own
    /// publisher has both, with the same addresses.
    case publisherPeer(PeerOutput)
    case subscriberPeer(PeerOutput)
    /// What this machine's addresses are now.
    case addresses(Set<String>)
    /// A publication's video source, such as a camera that was unplugged.
    case videoSourceFailed(streamID: String)
    case wake
  }

  let output: AsyncStream<SessionEvent>.Continuation
  nonisolated let inbox: AsyncStream<Input>.Continuation
  private let inputs: AsyncStream<Input>
  private var pump: Task<Void, Never>?

  var state = State.new
  var machine: SignallingMachine?
  var info: SessionInfo?
  var entering: CheckedContinuation<Result<Void, OpenTokError>, Never>?
  var answers: [String: CheckedContinuation<SignallingMachine.Answer, Never>] = [:]
  var socketURL: ServerURL?
  var socket: WebSocketClient?
  /// A socket that still has a close frame to send.
  var closing: WebSocketClient?
  /// Of the latest socket: what an earlier one still has to say does not matter.
  var socketInbox: SocketInbox?
  var timer: (deadline: Instant, task: Task<Void, Never>)?
  var ownConnection: ConnectionInfo?
  var addressObservation: AddressWatch.Observation?
  /// TURN servers that cannot be used, as far as that has been told.
  var toldRelays: Set<String> = []

  var publications: [String: Publication] = [:]
  var subscriptions: [String: Subscription] = [:]
  /// Subscribers that wait for another attempt. Cancelled, they are tried no more.
  var pendingAttempts: [ObjectIdentifier: Task<Void, Never>] = [:]
  var audio: SessionAudio?
  /// By stream.
  var publishedQuality: [String: StreamQuality] = [:]
  var subscribedQuality: [String: StreamQuality] = [:]
  var qualityTask: Task<Void, Never>?

  public init(apiKey: String, sessionID: String, configuration: Configuration = Configuration()) {
    self.apiKey = apiKey
    self.sessionID = sessionID
    self.configuration = configuration
    (events, output) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(4096))
    // Nothing in it may be lost. What strangers send is bounded by each socket's inbox.
    (inputs, inbox) = AsyncStream.makeStream(bufferingPolicy: .unbounded)
  }

  /// For a session and API as an app server named them.
  public init(_ credentials: Credentials, configuration: Configuration = Configuration()) {
    var configuration = configuration
    configuration.apiURL = configuration.apiURL ?? credentials.apiURL
    self.init(apiKey: credentials.apiKey, sessionID: credentials.sessionID, configuration: configuration)
  }

  /// Our own connection; nil outside of the session.
  public var connection: Connection? { ownConnection.map { Connection($0) } }

  /// What our token lets us do; nil outside of the session.
  public var capabilities: Capabilities? { ownConnection.map { Capabilities($0.permissions) } }

  /// Whether the session has been entered and not left. True while it is being reconnected.
  public var isConnected: Bool { state == .connected }

  /// All participants, ourselves too.
  public var connections: [Connection] {
    (machine?.connections.values).map { $0.map { Connection($0) } } ?? []
  }

  /// All streams, our own too.
  public var streams: [Stream] { (machine?.streams.values).map { $0.map { Stream($0) } } ?? [] }

  // MARK: Connecting

  /// Enters the session. Returns when it has been entered; what is there already follows as events.
  ///
  /// - Throws: within `Configuration.timeout` for each of three steps: session information, socket, entry.
  ///   What can be seen without asking the server (an expired token, one for another session) at once.
  public func connect(token: String) async throws(OpenTokError) {
    guard state == .new else { throw .alreadyConnected }
    state = .connecting
    let credentials = Credentials(
      apiKey: apiKey, sessionID: sessionID, token: token, apiURL: configuration.apiURL)
    do throws(OpenTokError) {
      try credentials.inspect(now: WallClock.microseconds() / 1_000_000)
      try await enter(credentials)
    } catch {
      end()
      throw error
    }
  }

  private func enter(_ credentials: Credentials) async throws(OpenTokError) {
    let connectionID = UUID.v4()
    let request = SessionInfoRequest(
      credentials: credentials, connectionID: connectionID, trust: configuration.trust,
      timeout: configuration.timeout)
    let info = try await request.send()
    let servers = info.iceServers.flatMap(\.urls) + configuration.iceServers.flatMap(\.urls)
    let relays = servers.filter { $0.lowercased().hasPrefix("turn") }.count
    Log.info(
      "session",
      "signalling at \(ServerURL.shown(info.messagingURL)), \(servers.count - relays) STUN and \(relays) TURN servers"
    )
    // Would be found out when no path is, many seconds later.
    if configuration.relayOnly, relays == 0 { throw .noRelay }
    await watchAddresses()
    guard state == .connecting else { throw .cancelled }
    guard let url = ServerURL(info.messagingURL), url.scheme.hasPrefix("ws") else {
      throw .unexpectedAnswer(step: .sessionInfo, detail: "messaging_url is no WebSocket address")
    }
    self.info = info
    var signalling = SignallingMachine.Configuration(
      apiKey: apiKey, sessionID: sessionID, token: credentials.token, connectionID: connectionID,
      symphonyAddress: info.symphonyAddress, reconnection: info.reconnection)
    signalling.connectTimeout = configuration.timeout
    signalling.reconnectLimit = configuration.reconnectionLimit
    machine = SignallingMachine(signalling)
    socketURL = info.reconnection ? url.appendingQuery("socketId", UUID.v4()) : url
    // Keeps the session until it has ended, whoever else lets go of it. (A deinit that would end it has to
    // wait for a compiler that optimises one: Swift 6.3 stops at "circular reference".)
    pump = Task {
      for await input in inputs { handle(input) }
    }
    let result = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        entering = continuation
        machine?.start(at: MonotonicClock.now())
        act()
      }
    } onCancel: {
      Task { await self.disconnect() }
    }
    try result.get()
  }

  /// Leaves the session, telling the others. Does nothing if that has been done.
  public func disconnect() async {
    if machine == nil { end() }
    machine?.leave(at: MonotonicClock.now())
    act()
    // The socket gets a moment to say goodbye, so that a process may end right after this.
    let deadline = MonotonicClock.now() + .seconds(1)
    while closing?.isClosed == false, MonotonicClock.now() < deadline {
      try? await Task.sleep(for: .milliseconds(5))
    }
  }

  /// Lets everything go.
  func end() {
    guard state != .ended else { return }
    state = .ended
    ownConnection = nil
    timer?.task.cancel()
    timer = nil
    qualityTask?.cancel()
    qualityTask = nil
    addressObservation = nil
    stopMedia()
    inbox.finish()
    output.finish()
  }

  func emit(_ event: SessionEvent) { output.yield(event) }

  // MARK: Signals and moderation

  /// Sends a signal to everybody in the session, ourselves too, or to one.
  public func signal(
    type: String? = nil, data: String? = nil, to connection: Connection? = nil
  ) async throws(OpenTokError) {
    try await signal(type: type, data: data, toConnection: connection?.id)
  }

  package func signal(type: String?, data: String?, toConnection id: String?) async throws(OpenTokError) {
    try Signal.check(type: type, data: data)
    try await request { machine in
      machine.signal(id: UUID.v4(), type: type, data: data.map(JSON.string), to: id)
    } refused: {
      .signalRefused(status: $0, reason: $1)
    }
  }

  /// Ends somebody's connection. Takes a moderator.
  public func forceDisconnect(_ connection: Connection) async throws(OpenTokError) {
    try await request {
      $0.deleteConnection(connection.id)
    } refused: {
      .forceDisconnectRefused(status: $0, reason: $1)
    }
  }

  /// Ends somebody's stream. Takes a moderator.
  public func forceUnpublish(_ stream: Stream) async throws(OpenTokError) {
    try await request {
      $0.deleteStream(stream.id)
    } refused: {
      .forceUnpublishRefused(status: $0, reason: $1)
    }
  }

  /// Mutes somebody's stream; its publisher can unmute it. Takes a moderator.
  public func forceMute(_ stream: Stream) async throws(OpenTokError) {
    try await request {
      $0.muteStream(stream.id)
    } refused: {
      .forceMuteRefused(status: $0, reason: $1)
    }
  }

  /// Mutes all streams but some, and those that are published from now on. Takes a moderator.
  public func forceMuteAll(excluding streams: [Stream] = []) async throws(OpenTokError) {
    try await request {
      $0.muteAll(active: true, excluding: streams.map(\.id))
    } refused: {
      .forceMuteRefused(status: $0, reason: $1)
    }
  }

  /// Streams that are published from now on start with sound again. Takes a moderator.
  public func disableForceMute() async throws(OpenTokError) {
    try await request {
      $0.muteAll(active: false, excluding: [])
    } refused: {
      .forceMuteRefused(status: $0, reason: $1)
    }
  }
}
