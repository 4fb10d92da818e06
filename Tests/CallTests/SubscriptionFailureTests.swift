import Base
import OTKit
import OpenTokProtocol
import TestSupport
import Testing

/// A publisher that is no WebRTC peer: it joins, publishes, and does with offers that are asked of it what
/// a test wants.
private final class Ghost: Sendable {
  private struct State: Sendable {
    var machine: SignallingMachine
    var socket: WebSocketClient?
    var streamID: String?
    var requests = 0
  }

  private let state: Lock<State>
  private let offer: String?

  /// How often an offer was asked for.
  var requests: Int { state.withLock { $0.requests } }

  init(_ server: Server, offer: String?) throws {
    self.offer = offer
    let configuration = SignallingMachine.Configuration(
      apiKey: Server.key, sessionID: server.sessionID, token: server.token(), connectionID: UUID.v4(),
      symphonyAddress: "symphony.127.0.0.1", reconnection: false)
    state = Lock(State(machine: SignallingMachine(configuration)))
    let url = try #require(ServerURL("ws://127.0.0.1:\(server.server.port)/rumorwebsocketsv2"))
    // Under the lock, so that the socket's news waits for the machine to have started.
    state.withLock {
      $0.machine.start(at: MonotonicClock.now())
      $0.socket = WebSocketClient(connectingTo: url) { [weak self] event in self?.received(event) }
    }
  }

  func leave() {
    state.withLock { state in
      state.machine.leave(at: MonotonicClock.now())
      act(&state)
    }
  }

  private func received(_ event: WebSocketClient.Event) {
    state.withLock { state in
      let now = MonotonicClock.now()
      switch event {
      case .opened: state.machine.socketOpened(at: now)
      case .message(let bytes): state.machine.received(bytes, at: now)
      case .failed(let error): state.machine.socketFailed(error, at: now)
      case .closed(let code): state.machine.socketClosed(code: code, at: now)
      }
      act(&state)
    }
  }

  private func act(_ state: inout State) {
    while let action = state.machine.nextAction() {
      let now = MonotonicClock.now()
      switch action {
      case .send(let frame): state.socket?.send(frame.encoded())
      case .closeSocket(let code): state.socket?.close(code: code)
      case .event(.connected):
        let channels = [ChannelInfo(id: "video1", kind: .video), ChannelInfo(id: "audio1", kind: .audio)]
        state.machine.request(
          state.machine.createStream(id: UUID.v4(), name: "ghost", channels: channels), at: now)
      case .event(.offerRequested(let peer, _)):
        state.requests += 1
        if let offer { state.machine.request(state.machine.offer(offer, to: peer), at: now) }
      default: break
      }
    }
  }
}
// One whole call at a time: several at once are too much for a sanitizer on two cores.
extension CallTests {
  @Suite struct SubscriptionFailureTests {
    /// Stages of a stream that cannot be received: tried three times, then given up with the reason.
    @Test(
      .timeLimit(.minutes(10)),
      arguments: [(nil, OpenTokError.Stage.signalling), ("v=0\r\nnonsense\r\n", .signalling)])
    func isTriedAgainAndGivenUp(_ offer: String?, _ stage: OpenTokError.Stage) async throws {
      let server = try await Server.start()
      let ghost = try Ghost(server, offer: offer)
      let participant = Participant(server) {
        $0.offerTimeout = .milliseconds(500)
        $0.retryDelay = .milliseconds(50)
      }
      try await participant.session.connect(token: server.token())
      let stream = try await participant.stream(named: "ghost")
      try await participant.session.subscribe(to: stream)
      let error = try await participant.waitFor("an error") { event in
        if case .error(let error) = event { error } else { nil }
      }
      guard case .subscriberFailed(stage, from: "ghost", _, let stages) = error else {
        Issue.record("\(error)")
        return
      }
      #expect(stages.map(\.stage) == [stage] && error.message.hasSuffix("]"))
      #expect(error.code == 1554)
      try await participant.waitFor("the end") { event in
        if case .subscriberDestroyed(stream.id, .networkDisconnected) = event { true } else { nil }
      }
      try await eventually("three requests") { ghost.requests == 3 }
      #expect(participant.events.count { $0.name == "warning" } == 2)
      #expect(!participant.events.contains { $0.name == "subscriberConnected" })
      // It may be tried again by hand.
      try await participant.session.subscribe(to: stream)
      ghost.leave()
      try await participant.waitFor("the stream's end") { $0.name == "streamDestroyed" ? true : nil }
      await participant.session.disconnect()
      await server.stop()
    }

    @Test(.timeLimit(.minutes(10))) func unsubscribingEndsTheAttempts() async throws {
      let server = try await Server.start()
      let ghost = try Ghost(server, offer: nil)
      let participant = Participant(server) {
        $0.offerTimeout = .milliseconds(200)
        // Longer than anything is waited for.
        $0.retryDelay = .seconds(3600)
      }
      try await participant.session.connect(token: server.token())
      let subscriber = try await participant.session.subscribe(to: await participant.stream(named: "ghost"))
      try await participant.waitFor("the first failure") { $0.name == "warning" ? true : nil }
      try await participant.session.unsubscribe(subscriber)
      try await participant.waitFor("the end") { $0.name == "subscriberDestroyed" ? true : nil }
      #expect(ghost.requests == 1)
      #expect(!participant.events.contains { $0.name == "error" })
      ghost.leave()
      await participant.session.disconnect()
      await server.stop()
    }
  }
}
