import Base
import OpenTokProtocol
import Testing

@testable import OTKit

/// A machine with a made-up server at its other end, in virtual time.
struct SignallingRig {
  var machine: SignallingMachine
  var now = Instant(nanoseconds: 1_000_000_000)
  static let own = "c0000000-0000-4000-8000-000000000001"
  static let ownInfo = ConnectionInfo(id: own, creationTime: 1, data: "me", permissions: [.publish])
  static let session = "1_MX4xMDB-fn4"
  static let base = RaptorURI(partner: "100", session: session)

  init(reconnection: Bool = true, reconnectLimit: Duration = .seconds(60)) {
    var configuration = SignallingMachine.Configuration(
      apiKey: "100", sessionID: Self.session, token: "T1==hush", connectionID: Self.own,
      symphonyAddress: "symphony.test", reconnection: reconnection)
    configuration.reconnectLimit = reconnectLimit
    machine = SignallingMachine(configuration, generator: SeededGenerator(seed: 7))
  }

  /// Everything that the machine wants done.
  mutating func drain() -> [SignallingMachine.Action] {
    var actions: [SignallingMachine.Action] = []
    while let action = machine.nextAction() { actions.append(action) }
    return actions
  }

  /// What is done with sockets.
  mutating func openings() -> [String] {
    drain().map {
      switch $0 {
      case .abortSocket: "abort"
      case .openSocket(_, resume: true): "resume"
      default: "\($0)"
      }
    }
  }

  mutating func events() -> [SignallingEvent] { drain().compactMap(\.event) }
  mutating func sent() -> [RumorFrame] { drain().compactMap(\.frame) }

  /// Time passes; the machine is woken whenever it asked for it.
  mutating func wait(_ duration: Duration) {
    let end = now + duration
    while let deadline = machine.deadline, deadline <= end {
      now = max(now, deadline)
      machine.advance(to: now)
    }
    now = end
    machine.advance(to: now)
  }

  mutating func receive(
    _ method: RaptorMessage.Method, _ resource: RaptorURI.Resource, _ content: JSON, reason: String? = nil,
    from: String = "someone", transaction: String = "srv-\(Int.random(in: 0...Int.max))"
  ) {
    let message = RaptorMessage(method, Self.base.with(resource), content: content, reason: reason)
    machine.received(
      RumorFrame(
        .message, to: [Self.own],
        headers: [RumorFrame.Header.transactionID: transaction, RumorFrame.Header.from: from],
        payload: message.payload), at: now)
  }

  mutating func status(_ transaction: String, _ code: String = "200", _ payload: JSON? = nil) {
    machine.received(
      RumorFrame(
        .status, to: [Self.own],
        headers: [RumorFrame.Header.transactionID: transaction, RumorFrame.Header.status: code],
        payload: payload?.serialized() ?? []), at: now)
  }

  /// Goes as far as being in the session, and forgets what it took.
  mutating func enter(_ state: SessionState? = nil) {
    machine.start(at: now)
    machine.socketOpened(at: now)
    let state = state ?? SessionState(id: Self.session, connections: [Self.ownInfo])
    status(sent().last?.transactionID ?? "", "200", state.json)
    _ = drain()
  }
}

extension SignallingMachine.Action {
  var event: SignallingEvent? { if case .event(let event) = self { event } else { nil } }
  var frame: RumorFrame? { if case .send(let frame) = self { frame } else { nil } }
}

extension SignallingEvent {
  fileprivate var answeredID: String? { if case .answered(let id, _) = self { id } else { nil } }
}

@Suite struct SignallingMachineTests {
  private let other = ConnectionInfo(id: "c2", creationTime: 2, data: "you")
  private let stream = StreamInfo(
    id: "st", name: "theirs", creationTime: 3,
    connection: ConnectionInfo(id: "c2", creationTime: 2, data: "you"),
    channels: [
      ChannelInfo(id: "video1", kind: .video, width: 640, height: 480),
      ChannelInfo(id: "audio1", kind: .audio),
    ])

  // MARK: Entering

  @Test func entersInTheOrderOfTheProtocol() {
    var rig = SignallingRig()
    rig.machine.start(at: rig.now)
    let opening = rig.drain()
    guard case .openSocket(_, resume: false)? = opening.first, opening.count == 1 else {
      Issue.record("\(opening)")
      return
    }
    rig.machine.socketOpened(at: rig.now)
    let frames = rig.sent()
    #expect(frames.map(\.kind) == [.connect, .subscribe, .message])
    #expect(frames[0].headers["uniqueId"] == SignallingRig.own)
    #expect(frames[0].headers["notifyDisconnectAddress"] == "symphony.test")
    #expect(frames[1].addresses == ["/v2/partner/100/session/\(SignallingRig.session)"])
    #expect(frames[2].addresses == ["symphony.test"])
    #expect(frames[2].headers["X-TB-TOKEN-AUTH"] == "T1==hush")
    let create = try? RaptorMessage(parsing: frames[2].payload)
    #expect(create?.method == .create)
    #expect(create?.uri.resource == .connection(SignallingRig.own))
    #expect(create?.content["capabilities"] == ["forceMute", "renegotiation"])

    let archive = SessionState.Archive(id: "a", name: "show", status: "started")
    let state = SessionState(
      id: "s", connections: [other, SignallingRig.ownInfo], streams: [stream],
      archives: [archive, .init(id: "b", name: "old", status: "stopped")], muteOnEntry: true)
    rig.status(frames[2].transactionID ?? "", "200", state.json)
    #expect(
      rig.events() == [
        .connected(SignallingRig.ownInfo), .connectionCreated(SignallingRig.ownInfo),
        .connectionCreated(other), .streamCreated(stream), .archiveStarted(id: "a", name: "show"),
      ])
    #expect(rig.machine.state == .connected)
    #expect(rig.machine.muteOnEntry)
  }

  @Test func entersASessionWithHundredsOfOthers() {
    var rig = SignallingRig()
    rig.machine.start(at: rig.now)
    rig.machine.socketOpened(at: rig.now)
    let data = String(repeating: "x", count: 1000)
    let others = (0..<400).map { ConnectionInfo(id: "other-\($0)", creationTime: 2, data: data) }
    let state = SessionState(id: "s", connections: others + [SignallingRig.ownInfo])
    let frame = RumorFrame(
      .status, headers: ["TRANSACTION-ID": rig.sent().last?.transactionID ?? "", "STATUS": "200"],
      payload: state.json.serialized())
    rig.machine.received(frame.encoded(), at: rig.now)
    #expect(rig.machine.state == .connected)
    #expect(rig.events().count == 402)
  }

  @Test func waitsForItsOwnConnectionIfTheStateLacksIt() {
    var rig = SignallingRig()
    rig.machine.start(at: rig.now)
    rig.machine.socketOpened(at: rig.now)
    let transaction = rig.sent().last?.transactionID ?? ""
    rig.status(transaction, "200", SessionState(id: "s", connections: [other]).json)
    #expect(rig.events() == [])
    rig.receive(.created, .connection(SignallingRig.own), SignallingRig.ownInfo.json)
    #expect(
      rig.events() == [
        .connected(SignallingRig.ownInfo), .connectionCreated(SignallingRig.ownInfo),
        .connectionCreated(other),
      ])
  }

  @Test(arguments: [
    ("403", "bad token", OpenTokError.connectRefused(status: 403, reason: "bad token")),
    ("409", "connectionLimitExceeded", .connectionLimitExceeded),
    ("500", "", .connectRefused(status: 500, reason: "")),
    ("", "", .connectRefused(status: 500, reason: "")),
  ])
  func isRefused(_ status: String, _ reason: String, _ error: OpenTokError) {
    var rig = SignallingRig()
    rig.machine.start(at: rig.now)
    rig.machine.socketOpened(at: rig.now)
    rig.status(rig.sent().last?.transactionID ?? "", status, ["reason": .string(reason)])
    #expect(rig.drain() == [.closeSocket(code: 1000), .event(.failed(error))])
    #expect(rig.machine.state == .ended)
    #expect(rig.machine.deadline == nil)
  }

  @Test func givesUpEnteringInTime() {
    var rig = SignallingRig()
    rig.machine.start(at: rig.now)
    _ = rig.drain()
    rig.wait(.milliseconds(14_999))
    #expect(rig.drain() == [])
    rig.wait(.milliseconds(1))
    #expect(rig.drain() == [.abortSocket, .event(.failed(.timedOut(.socket, seconds: 15)))])

    rig = SignallingRig()
    rig.machine.start(at: rig.now)
    rig.machine.socketOpened(at: rig.now)
    _ = rig.drain()
    rig.wait(.seconds(15))
    #expect(rig.drain() == [.abortSocket, .event(.failed(.timedOut(.joining, seconds: 15)))])
  }

  // MARK: Acknowledging

  @Test func acknowledgesEverythingAndAppliesItOnce() {
    var rig = SignallingRig()
    rig.enter()
    for _ in 0..<2 {
      rig.receive(.created, .connection("c2"), other.json, from: "c2", transaction: "srv-9")
    }
    let acknowledgement = RumorFrame(
      .status, to: ["c2"],
      headers: [
        RumorFrame.Header.transactionID: "srv-9", RumorFrame.Header.from: SignallingRig.own,
      ])
    #expect(
      rig.drain() == [
        .send(acknowledgement), .event(.connectionCreated(other)), .send(acknowledgement),
      ])
  }

  @Test func noMoreRequestsAreUnderWayThanTheServerRemembersAnswersOf() {
    var rig = SignallingRig()
    rig.enter()
    let ids = (0..<514).map { number in
      rig.machine.request(rig.machine.signal(id: "\(number)", type: nil, data: nil, to: nil), at: rig.now)
    }
    #expect(rig.sent().compactMap(\.transactionID) == Array(ids[..<512]))
    rig.status(ids[0])
    #expect(rig.drain().compactMap(\.frame?.transactionID) == [ids[512]])
    rig.machine.socketClosed(code: 1006, at: rig.now)
    _ = rig.drain()
    rig.machine.socketOpened(at: rig.now)
    #expect(rig.sent().compactMap(\.transactionID) == Array(ids[1...512]))
    for id in ids[1...] { rig.status(id) }
    let actions = rig.drain()
    #expect(actions.compactMap(\.frame?.transactionID) == [ids[513]])
    #expect(actions.compactMap(\.event?.answeredID) == Array(ids[1...]))
    // A server sends up to 8192 messages again.
    #expect(SignallingMachine.rememberedTransactions >= 8192)
  }

  @Test func aRequestMadeBeforeTheServerKnowsUsAgainIsSentAfterwards() {
    var rig = SignallingRig()
    rig.enter()
    rig.machine.socketClosed(code: 1006, at: rig.now)
    rig.machine.socketOpened(at: rig.now)
    _ = rig.drain()
    let id = rig.machine.request(rig.machine.signal(id: "x", type: nil, data: nil, to: nil), at: rig.now)
    #expect(rig.sent() == [])
    rig.machine.received(RumorFrame(.pong), at: rig.now)
    #expect(rig.sent().map(\.transactionID) == [id])
  }

  @Test func remembersABoundedNumberOfTransactions() {
    var rig = SignallingRig()
    rig.enter()
    for number in 0...SignallingMachine.rememberedTransactions {
      rig.receive(.signal, .signal(id: "x", to: nil), ["data": "d"], transaction: "t\(number)")
    }
    #expect(rig.events().count == SignallingMachine.rememberedTransactions + 1)
    rig.receive(.signal, .signal(id: "x", to: nil), ["data": "d"], transaction: "t1")
    #expect(rig.events() == [])
    // The oldest one has been forgotten.
    rig.receive(.signal, .signal(id: "x", to: nil), ["data": "d"], transaction: "t0")
    #expect(rig.events().count == 1)
  }

  @Test func nonsenseIsCounted() {
    var rig = SignallingRig()
    rig.enter()
    rig.machine.received([1, 2, 3], at: rig.now)
    rig.machine.received(RumorFrame(.message, payload: Array("{".utf8)), at: rig.now)
    rig.machine.received(RumorFrame(.status), at: rig.now)
    rig.receive(.offer, .subscriber(stream: "st", subscriber: "su"), ["peerId": "p"])
    rig.receive(.update, .session, ["active": true])
    #expect(rig.events() == [])
    #expect(rig.machine.ignoredFrames == 5)
  }

  // MARK: Staying alive

  @Test func pingsWhenIdleAndNoticesSilence() {
    var rig = SignallingRig()
    rig.enter()
    rig.wait(.milliseconds(1999))
    #expect(rig.drain() == [])
    rig.wait(.milliseconds(1))
    #expect(rig.drain() == [.send(RumorFrame(.ping))])
    rig.machine.received(RumorFrame(.pong), at: rig.now)
    // Two more pings, then 5.9 s after the last word from the server it is lost.
    rig.wait(.milliseconds(5899))
    #expect(rig.drain() == [.send(RumorFrame(.ping)), .send(RumorFrame(.ping))])
    rig.wait(.milliseconds(1))
    let actions = rig.drain()
    #expect(actions.prefix(2) == [.abortSocket, .event(.reconnecting(.silence))])
    guard case .openSocket(_, resume: true)? = actions.last, actions.count == 3 else {
      Issue.record("\(actions)")
      return
    }
  }

  @Test func withoutReconnectionSilenceIsTheEnd() {
    var rig = SignallingRig(reconnection: false)
    rig.enter()
    rig.wait(.milliseconds(49_899))
    #expect(rig.events() == [])
    rig.wait(.milliseconds(1))
    #expect(
      rig.events() == [
        .disconnected(
          reason: "networkDisconnected", .connectionLost(detail: "the server has gone silent"))
      ])
  }

  // MARK: Coming back

  @Test func resumesAndSendsAgainWhatWasNotAnswered() {
    var rig = SignallingRig()
    rig.enter()
    let first = rig.machine.request(
      rig.machine.signal(id: "1", type: nil, data: "a", to: nil), at: rig.now)
    let second = rig.machine.request(
      rig.machine.signal(id: "2", type: nil, data: "b", to: nil), at: rig.now)
    let frames = rig.sent()
    rig.status(first)
    #expect(rig.events() == [.answered(transactionID: first, .success(.null))])
    rig.machine.socketClosed(code: 1006, at: rig.now)
    _ = rig.drain()
    // Asked for while away: waits, nothing is sent.
    let third = rig.machine.request(
      rig.machine.signal(id: "3", type: nil, data: "c", to: nil), at: rig.now)
    #expect(rig.drain() == [])
    rig.machine.socketOpened(at: rig.now)
    let again = rig.sent()
    #expect(again.map(\.kind) == [.ping, .message, .message])
    #expect(again[1] == frames[1])
    #expect(again.dropFirst().map(\.transactionID) == [second, third])
    rig.machine.received(RumorFrame(.pong), at: rig.now)
    #expect(rig.events() == [.reconnected])
    #expect(rig.machine.state == .connected)
    rig.status(second)
    rig.status(third, "404", ["reason": "gone"])
    #expect(
      rig.events() == [
        .answered(transactionID: second, .success(.null)),
        .answered(transactionID: third, .refused(status: 404, reason: "gone")),
      ])
  }

  @Test func triesEachHalfSecondForAMinute() {
    var rig = SignallingRig()
    rig.enter()
    let pending = rig.machine.request(rig.machine.deleteStream("st"), at: rig.now)
    rig.machine.socketClosed(code: 1006, at: rig.now)
    #expect(rig.events() == [.reconnecting(.connectionClosed)])
    let began = rig.now
    var attempts = 1
    while rig.machine.state != .ended, rig.now - began < .seconds(70) {
      rig.machine.socketFailed(.connectionRefused(host: "h", port: 1), at: rig.now)
      let actions = rig.drain()
      if rig.machine.state == .ended {
        #expect(
          actions == [
            .event(.answered(transactionID: pending, .lost)),
            .event(
              .disconnected(
                reason: "networkDisconnected",
                .connectionLost(detail: "nothing answers at h port 1: connection refused"))),
          ])
        break
      }
      rig.wait(.milliseconds(500))
      attempts += rig.drain().filter { if case .openSocket(_, true) = $0 { true } else { false } }.count
    }
    #expect(attempts == 120)
    #expect(rig.now - began == .milliseconds(59_500))
  }

  @Test func aSocketThatOpensAndSaysNothingIsTriedAgain() {
    var rig = SignallingRig()
    rig.enter()
    rig.machine.socketClosed(code: 1006, at: rig.now)
    rig.machine.socketOpened(at: rig.now)
    _ = rig.drain()
    rig.wait(.milliseconds(5900))
    #expect(rig.openings() == ["abort", "resume"])
  }

  /// In a blackout, so that the first moment of the network's return is not missed by much; and on a slow
  /// network at last.
  @Test func aSocketThatDoesNotOpenIsTriedAgainSoonAndLaterWithPatience() {
    var rig = SignallingRig()
    rig.enter()
    rig.machine.socketClosed(code: 1006, at: rig.now)
    _ = rig.drain()
    for _ in 0..<8 {
      rig.wait(.milliseconds(2499))
      #expect(rig.drain() == [])
      rig.wait(.milliseconds(1))
      #expect(rig.openings() == ["abort", "resume"])
    }
    rig.wait(.milliseconds(14_999))
    #expect(rig.drain() == [])
    rig.wait(.milliseconds(1))
    #expect(rig.openings() == ["abort", "resume"])
  }

  /// A server that is away for longer than other clients would try.
  @Test func anOutageOfMinutesIsAskedAfterLessOftenAndEndsWithTheServersReturn() {
    var rig = SignallingRig(reconnectLimit: .seconds(600))
    rig.enter()
    let pending = rig.machine.request(rig.machine.deleteStream("st"), at: rig.now)
    rig.machine.socketClosed(code: 1006, at: rig.now)
    _ = rig.drain()
    let began = rig.now
    var openings: [Double] = []
    while rig.now - began < .seconds(300) {
      rig.machine.socketFailed(.connectionRefused(host: "h", port: 1), at: rig.now)
      #expect(rig.drain() == [])
      guard let deadline = rig.machine.deadline else { break }
      rig.wait(deadline - rig.now)
      #expect(rig.openings() == ["resume"])
      openings.append((rig.now - began).seconds)
    }
    let pauses = zip(openings, openings.dropFirst()).map { $1 - $0 }
    #expect(pauses.prefix(119).allSatisfy { $0 == 0.5 })
    for (pause, most) in zip(pauses.dropFirst(119), [1.0, 2, 4] + Array(repeating: 8, count: 99)) {
      #expect(pause >= most * 0.75 && pause <= most)
    }
    #expect(pauses.count > 119 + 29 && pauses.count < 119 + 45)
    rig.machine.socketOpened(at: rig.now)
    rig.machine.received(RumorFrame(.pong), at: rig.now)
    let actions = rig.drain()
    #expect(actions.compactMap(\.event) == [.reconnected])
    #expect(actions.contains { $0.frame?.transactionID == pending })
    // The next outage begins anew.
    rig.machine.socketClosed(code: 1006, at: rig.now)
    rig.machine.socketFailed(.connectionRefused(host: "h", port: 1), at: rig.now)
    #expect(rig.machine.deadline == rig.now + .milliseconds(500))
  }

  /// One that does not answer, whatever opens, has its attempts one after the other, and an end.
  @Test(arguments: [false, true]) func aBlackHoleOfMinutesHasAnEnd(opens: Bool) {
    var rig = SignallingRig(reconnectLimit: .seconds(600))
    rig.enter()
    let pending = rig.machine.request(rig.machine.deleteStream("st"), at: rig.now)
    _ = rig.drain()
    rig.wait(.milliseconds(5900))
    #expect(rig.drain().compactMap(\.event) == [.reconnecting(.silence)])
    let began = rig.now
    var attempts = 1
    while rig.machine.state != .ended, let deadline = rig.machine.deadline {
      if opens {
        rig.machine.socketOpened(at: rig.now)
        _ = rig.drain()
      }
      rig.wait((rig.machine.deadline ?? deadline) - rig.now)
      guard rig.machine.state != .ended else { break }
      #expect(rig.openings() == ["abort", "resume"])
      attempts += 1
    }
    #expect(rig.now - began == .seconds(600))
    #expect(attempts == (opens ? 102 : 47))
    #expect(
      rig.drain() == [
        .abortSocket, .event(.answered(transactionID: pending, .lost)),
        .event(
          .disconnected(
            reason: "networkDisconnected", .connectionLost(detail: "no way back for 600 s"))),
      ])
  }

  /// The server's grace is over: told whenever it is there again.
  @Test func aServerThatHasForgottenUsAfterMinutesEndsTheSession() {
    var rig = SignallingRig(reconnectLimit: .seconds(600))
    rig.enter()
    rig.machine.socketClosed(code: 1006, at: rig.now)
    for _ in 0..<200 {
      rig.machine.socketFailed(.connectionRefused(host: "h", port: 1), at: rig.now)
      rig.wait((rig.machine.deadline ?? rig.now) - rig.now)
    }
    _ = rig.drain()
    rig.machine.socketOpened(at: rig.now)
    _ = rig.drain()
    rig.machine.socketClosed(code: 1003, at: rig.now)
    #expect(
      rig.drain() == [.event(.disconnected(reason: "networkDisconnected", .connectionForgotten))])
  }

  @Test func aSocketThatIsCutOffIsLost() {
    var rig = SignallingRig()
    rig.enter()
    rig.machine.networkChanged(socketIsCutOff: false, at: rig.now)
    #expect(rig.drain() == [])
    rig.machine.networkChanged(socketIsCutOff: true, at: rig.now)
    let actions = rig.drain()
    #expect(actions.first == .abortSocket)
    #expect(actions.compactMap(\.event) == [.reconnecting(.addressChanged)])
    // Another network: no waiting for what cannot come.
    rig.machine.networkChanged(socketIsCutOff: false, at: rig.now)
    #expect(rig.openings() == ["abort", "resume"])
    rig.machine.socketFailed(.connectionRefused(host: "h", port: 1), at: rig.now)
    rig.machine.networkChanged(socketIsCutOff: false, at: rig.now)
    #expect(rig.openings() == ["resume"])
  }

  @Test func withoutReconnectionACutOffSocketIsLeftToItsSilence() {
    var rig = SignallingRig(reconnection: false)
    rig.enter()
    rig.machine.networkChanged(socketIsCutOff: true, at: rig.now)
    #expect(rig.drain() == [])
    #expect(rig.machine.state == .connected)
  }

  @Test(arguments: [1003, 1011]) func isToldThatThereIsNoWayBack(_ code: Int) {
    var rig = SignallingRig()
    rig.enter()
    rig.machine.socketClosed(code: 1006, at: rig.now)
    rig.machine.socketOpened(at: rig.now)
    _ = rig.drain()
    rig.machine.socketClosed(code: code, at: rig.now)
    #expect(
      rig.drain() == [
        .event(
          .disconnected(
            reason: "networkDisconnected", .connectionForgotten))
      ])
  }

  @Test(arguments: [1000, 1003, 1011]) func someCloseCodesAreTheEnd(_ code: Int) {
    var rig = SignallingRig()
    rig.enter()
    rig.machine.socketClosed(code: code, at: rig.now)
    #expect(
      rig.drain() == [
        .event(
          .disconnected(
            reason: "networkDisconnected",
            .connectionLost(detail: "the server closed the connection (\(code))")))
      ])
  }

  @Test func aServerThatGoesAwaySaysGoodbye() {
    var rig = SignallingRig()
    rig.enter()
    rig.machine.socketClosed(code: 1001, at: rig.now)
    let end = SignallingMachine.Action.event(.disconnected(reason: "networkDisconnected", .sessionEnded))
    #expect(rig.drain() == [end])
    var told = SignallingRig()
    told.enter()
    told.receive(
      .deleted, .connection(SignallingRig.own), SignallingRig.ownInfo.json, reason: "networkDisconnected")
    #expect(told.drain().last == end)
  }

  // MARK: Requests

  @Test func aRequestIsAMessageToTheSymphonyAddress() throws {
    var rig = SignallingRig()
    rig.enter()
    let transaction = rig.machine.request(
      rig.machine.createStream(
        id: "st", name: "n", channels: [ChannelInfo(id: "audio1", kind: .audio)]), at: rig.now)
    let frame = try #require(rig.sent().first)
    #expect(frame.addresses == ["symphony.test"])
    #expect(frame.transactionID == transaction)
    #expect(frame.from == SignallingRig.own)
    #expect(frame.headers["Content-Type"] == "application/x-raptor+v2")
    #expect(frame.headers["X-TB-TOKEN-AUTH"] == nil)
    let message = try RaptorMessage(parsing: frame.payload)
    #expect(message.method == .create)
    #expect(message.uri.resource == .stream("st"))
    #expect(message.content["channel"] == [["id": "audio1", "type": "audio", "active": true]])
  }

  @Test func anAnswerThatNeverComesIsATimeout() {
    var rig = SignallingRig()
    rig.enter()
    let transaction = rig.machine.request(rig.machine.deleteStream("st"), at: rig.now)
    _ = rig.drain()
    for _ in 0..<5 {
      rig.wait(.milliseconds(2999))
      rig.machine.received(RumorFrame(.pong), at: rig.now)
      #expect(rig.events() == [])
    }
    rig.wait(.milliseconds(5))
    #expect(rig.events() == [.answered(transactionID: transaction, .timedOut)])
    // Too late: nobody waits for it any more.
    rig.status(transaction)
    #expect(rig.events() == [])
  }

  @Test func requestsOutsideOfASessionAreLost() {
    var rig = SignallingRig()
    let transaction = rig.machine.request(rig.machine.deleteStream("st"), at: rig.now)
    #expect(rig.drain() == [.event(.answered(transactionID: transaction, .lost))])
  }

  // MARK: What the session does

  @Test func followsConnectionsStreamsAndChannels() {
    var rig = SignallingRig()
    rig.enter()
    rig.receive(.created, .connection("c2"), other.json)
    rig.receive(.created, .stream("st"), stream.json)
    rig.receive(
      .updated, .channel(stream: "st", channel: "video1"), ["active": false, "activeReason": "quality"])
    // Nothing new: no event.
    rig.receive(.updated, .channel(stream: "st", channel: "video1"), ["active": false])
    rig.receive(.updated, .stream("st"), ["name": "new", "archiving": true])
    rig.receive(.deleted, .stream("st"), stream.json, reason: "forceUnpublished")
    rig.receive(.deleted, .stream("st"), stream.json, reason: "forceUnpublished")
    rig.receive(.deleted, .connection("c2"), other.json, reason: "networkDisconnected")
    var dark = stream
    dark.channels[0].active = false
    var renamed = dark
    renamed.name = "new"
    #expect(
      rig.events() == [
        .connectionCreated(other), .streamCreated(stream),
        .channelUpdated(dark, from: stream.channels[0], to: dark.channels[0]),
        .streamRenamed(renamed, oldName: "theirs"),
        .streamDestroyed(renamed, reason: "forceUnpublished"),
        .connectionDestroyed(other, reason: "networkDisconnected"),
      ])
  }

  @Test func passesNegotiationOn() {
    var rig = SignallingRig()
    rig.enter()
    let subscriber = RaptorURI.Resource.subscriber(stream: "st", subscriber: "su")
    let both: JSON = ["peerId": "p", "sourceStreamId": "P2P"]
    var content = both
    content["simulcastEnabled"] = false
    rig.receive(.generateOffer, subscriber, content, from: "c2")
    content = both
    content["sdp"] = "v=0"
    rig.receive(.offer, subscriber, content, from: "c2")
    rig.receive(.answer, subscriber, ["sdp": "v=1"], from: "c2")
    content = both
    content["candidate"] = "candidate:1"
    content["sdpMid"] = "0"
    content["sdpMLineIndex"] = 0
    rig.receive(.candidate, subscriber, content, from: "c2")
    rig.receive(.deleted, subscriber, [:], from: "c2")
    rig.receive(
      .generateOffer, .stream("st"), ["peerId": "q", "sourceStreamId": "MANTIS"], from: "symphony.x")
    let peer = PeerAddress(streamID: "st", subscriberID: "su", peerID: "p", sourceStreamID: "P2P")
    let bare = PeerAddress(streamID: "st", subscriberID: "su", peerID: nil, sourceStreamID: nil)
    let routed = PeerAddress(streamID: "st", subscriberID: nil, peerID: "q", sourceStreamID: "MANTIS")
    #expect(
      rig.events() == [
        .offerRequested(peer, from: "c2"), .offer(peer, sdp: "v=0", from: "c2"),
        .answer(bare, sdp: "v=1", from: "c2"),
        .candidate(peer, candidate: "candidate:1", sdpMid: "0", sdpMLineIndex: 0),
        .subscriberDestroyed(streamID: "st", subscriberID: "su"),
        .offerRequested(routed, from: "symphony.x"),
      ])
    let offer = rig.machine.offer("v=0", to: routed)
    #expect(offer.uri.resource == .stream("st"))
    #expect(
      offer.content == ["type": "offer", "sdp": "v=0", "peerId": "q", "sourceStreamId": "MANTIS"])
  }

  @Test func passesSignalsMutesAndArchivesOn() {
    var rig = SignallingRig()
    rig.enter()
    rig.receive(.signal, .signal(id: "1", to: nil), ["type": "chat", "data": "hi"], from: "c2")
    rig.receive(.signal, .signal(id: "2", to: SignallingRig.own), ["data": ["x": 1]], from: "")
    rig.receive(
      .update, .stream("st"), ["reason": "mute", "channels": ["audio"], "active": true], from: "c2")
    rig.receive(.update, .session, ["reason": "mute", "channels": ["audio"], "active": true])
    #expect(rig.machine.muteOnEntry)
    rig.receive(.update, .session, ["reason": "mute", "channels": ["audio"], "active": false])
    #expect(!rig.machine.muteOnEntry)
    rig.receive(.created, .archive("a"), ["id": "a", "name": "show", "status": "started"])
    rig.receive(.updated, .archive("a"), ["status": "paused"])
    rig.receive(.updated, .archive("a"), ["status": "stopped"])
    #expect(
      rig.events() == [
        .signal(type: "chat", data: "hi", from: "c2"), .signal(type: nil, data: ["x": 1], from: nil),
        .muteRequested(streamID: "st", active: true), .muteForced(active: true),
        .muteForced(active: false), .archiveStarted(id: "a", name: "show"),
        .archiveStopped(id: "a", name: "show"),
      ])
  }

  // MARK: Leaving

  @Test func leavesWithAWord() {
    var rig = SignallingRig()
    rig.enter()
    rig.machine.leave(at: rig.now)
    #expect(
      rig.drain() == [
        .send(RumorFrame(.disconnect, headers: ["reconnect": ""])), .closeSocket(code: 1000),
        .event(.disconnected(reason: "clientDisconnected", nil)),
      ])
    rig.machine.leave(at: rig.now)
    rig.machine.socketClosed(code: 1000, at: rig.now)
    #expect(rig.drain() == [])
  }

  @Test func isThrownOut() {
    var rig = SignallingRig()
    rig.enter()
    rig.receive(
      .deleted, .connection(SignallingRig.own), SignallingRig.ownInfo.json, reason: "forceDisconnected")
    #expect(
      rig.drain().dropFirst() == [
        .send(RumorFrame(.disconnect, headers: ["reconnect": ""])), .closeSocket(code: 1000),
        .event(.disconnected(reason: "forceDisconnected", .forceDisconnected)),
      ])
  }
}
