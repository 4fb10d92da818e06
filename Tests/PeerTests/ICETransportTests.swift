import Base
import SDP
import TestSupport
import Testing

@testable import Peer

/// Two transports of this process that hear of each other's candidates at once.
@NetworkActor
private final class Pair {
  final class End {
    var transport: ICETransport?
    var candidates: [String] = []
    var states: [ICETransport.State] = []
    var datagrams: [[UInt8]] = []
    var gatheringComplete = false
    var pair: (local: String, remote: String)?
  }

  let left = End(), right = End()
  /// What the other side gets to hear of a candidate; nil: nothing.
  var passes: (String) -> String? = { $0 }

  init(_ configuration: ICETransport.Configuration = .loopback) throws {
    left.transport = try make(left, to: right, configuration, isControlling: true)
    right.transport = try make(right, to: left, configuration, isControlling: false)
  }

  private func make(
    _ end: End, to other: End, _ configuration: ICETransport.Configuration, isControlling: Bool
  ) throws -> ICETransport {
    try ICETransport(
      configuration: configuration, isControlling: isControlling,
      events: { [weak self, weak end, weak other] event in
        guard let self, let end, let other else { return }
        switch event {
        case .candidate(let candidate):
          end.candidates.append(candidate)
          if let text = passes(candidate) { add(text, to: other) }
        case .gatheringComplete: end.gatheringComplete = true
        case .relayFailed: break
        case .stateChanged(let state): end.states.append(state)
        case .selectedPair(let local, let remote): end.pair = (local, remote)
        }
      }, received: { [weak end] datagram, _ in end?.datagrams.append(Array(datagram)) })
  }

  func add(_ text: String, to end: End) {
    do { end.transport?.addRemoteCandidate(try ICECandidate(parsing: text)) } catch {
      Issue.record("\(text)")
    }
  }

  func start() throws {
    guard let left = left.transport, let right = right.transport else { return }
    #expect(left.setRemote(userFragment: right.userFragment, password: right.password))
    #expect(right.setRemote(userFragment: left.userFragment, password: left.password))
    try left.gather()
    try right.gather()
  }

  var areConnected: Bool { left.states.contains(.connected) && right.states.contains(.connected) }
  var state: String { "\(left.states) \(right.states) \(left.candidates) \(right.candidates)" }
}

@Suite @NetworkActor struct ICETransportTests {
  @Test func findsAPathAndCarriesDatagrams() async throws {
    let pair = try Pair()
    try pair.start()
    try await eventually("connected", state: { pair.state }) { pair.areConnected }
    #expect(pair.left.transport?.selectedPair?.local == pair.right.transport?.selectedPair?.remote)
    #expect(pair.left.candidates.allSatisfy { $0.hasPrefix("candidate:") && $0.contains(" typ host") })
    #expect(!pair.left.candidates.contains { $0.lowercased().contains(" tcp ") })
    let sent = [UInt8](repeating: 0x80, count: 1200).withUnsafeBytes { pair.left.transport?.send($0) }
    #expect(sent == true)
    try await eventually("datagram") { pair.right.datagrams.count == 1 }
    #expect(pair.right.datagrams == [[UInt8](repeating: 0x80, count: 1200)])
    try await eventually("completed", state: { pair.state }) {
      pair.left.states.last == .completed && pair.right.states.last == .completed
    }
  }

  @Test func nothingIsSentWithoutAPath() throws {
    let pair = try Pair()
    let sent = [UInt8](repeating: 0x80, count: 10).withUnsafeBytes { pair.left.transport?.send($0) }
    #expect(sent == false)
  }

  @Test func uselessCandidatesAreCountedAndDoNotStall() async throws {
    let pair = try Pair()
    try pair.start()
    let useless = [
      "candidate:1 1 udp 1 f1b4a2c0-6d61-4c5e-9a7e-0123456789ab.local 50000 typ host",
      "candidate:1 1 tcp 1518280447 10.99.0.1 9 typ host tcptype active generation 0",
      "candidate:1 2 udp 1 10.99.0.1 5000 typ host", "candidate:1 1 udp 1 example.org 5000 typ host",
      "candidate:1 1 udp 1 999.0.0.1 5000 typ host", "candidate:1 1 udp 1 :: 0 typ host",
    ]
    for candidate in useless { pair.add(candidate, to: pair.left) }
    // The name may yet be told.
    #expect((pair.left.transport?.ignoredCandidates ?? 0) >= 4)
    try await eventually("connected", state: { pair.state }) { pair.areConnected }
  }

  @Test func hiddenCandidatesOfOneSideAreLearntFromItsChecks() async throws {
    let pair = try Pair()
    pair.passes = { [weak pair] candidate in
      guard let pair else { return nil }
      let isHidden = pair.right.candidates.contains(candidate)
      return isHidden ? "candidate:1 1 udp 1 hidden.local 5000 typ host" : candidate
    }
    try pair.start()
    try await eventually("connected", state: { pair.state }) { pair.areConnected }
    #expect(pair.left.transport?.selectedPair?.remote.hasPrefix("prflx") == true)
  }

  @Test func withoutUDPThereIsTCP() async throws {
    var settings = ICETransport.Configuration.loopback
    settings.usesTCP = true
    let pair = try Pair(settings)
    pair.passes = { $0.contains(" TCP ") ? $0 : nil }
    try pair.start()
    try await eventually("connected", state: { pair.state }) { pair.areConnected }
    let sent = [UInt8](repeating: 0x80, count: 1200).withUnsafeBytes { pair.left.transport?.send($0) }
    #expect(sent == true)
    try await eventually("datagram") { pair.right.datagrams.count == 1 }
    #expect(pair.right.datagrams == [[UInt8](repeating: 0x80, count: 1200)])
  }

  @Test func candidatesAreBounded() throws {
    let pair = try Pair()
    try pair.start()
    for port in 1...100 {
      pair.add("candidate:\(port) 1 udp \(port) 192.0.2.77 \(port) typ host", to: pair.left)
    }
    #expect((pair.left.transport?.ignoredCandidates ?? 0) >= 75)
  }

  @Test func credentialsOfWrongLengthAreRefused() throws {
    let pair = try Pair()
    #expect(
      pair.left.transport?.setRemote(userFragment: "abc", password: String(repeating: "x", count: 22))
        == false)
    #expect(pair.left.transport?.setRemote(userFragment: "abcd", password: "short") == false)
    #expect(
      pair.left.transport?.setRemote(userFragment: "abcd", password: String(repeating: "x", count: 257))
        == false)
  }

  @Test func failsWhenEveryCandidateIsInVain() async throws {
    let pair = try Pair()
    pair.passes = { _ in nil }
    try pair.start()
    pair.add("candidate:1 1 udp 1 127.0.0.1 9 typ host", to: pair.left)
    pair.left.transport?.endRemoteCandidates()
    try await eventually("failed", state: { pair.state }) {
      pair.left.states.last == .failed
    }
  }

  @Test func relayOnlyWithoutARelayGathersNothing() async throws {
    let pair = try Pair(.init(relayOnly: true, includesLoopback: true))
    try pair.start()
    try await eventually("gathered") { pair.left.gatheringComplete }
    #expect(pair.left.candidates.isEmpty)
  }

  @Test func closedTransportIsSilent() async throws {
    let pair = try Pair()
    try pair.start()
    try await eventually("connected", state: { pair.state }) { pair.areConnected }
    pair.right.transport?.close()
    pair.right.transport?.close()
    let events = pair.right.states.count
    #expect([1].withUnsafeBytes { pair.right.transport?.send($0) } == false)
    _ = [UInt8](repeating: 0x80, count: 10).withUnsafeBytes { pair.left.transport?.send($0) }
    try await Task.sleep(for: .milliseconds(20))
    #expect(pair.right.states.count == events && pair.right.datagrams.isEmpty)
  }
}

@Suite struct ICEServerURLTests {
  @Test func readsWhatServersHandOut() throws {
    let stun = try #require(ICEServerURL("stun:stun.example.org"))
    #expect(
      stun.scheme == .stun && stun.host == "stun.example.org" && stun.port == 3478 && stun.transport == .udp)
    let turn = try #require(ICEServerURL("turn:192.0.2.1:443?transport=tcp"))
    #expect(turn.scheme == .turn && turn.host == "192.0.2.1" && turn.port == 443 && turn.transport == .tcp)
    let secure = try #require(ICEServerURL("TURNS:[2001:db8::1]"))
    #expect(
      secure.scheme == .turns && secure.host == "2001:db8::1" && secure.port == 5349
        && secure.transport == .tcp)
  }

  @Test(arguments: [
    "", "stun", "stun:", "http://x", "stun://x", "turn:x:0", "turn:x:65536", "turn:x:+1", "turn:x:",
    "turn:[::1",
    "turn:x?transport=sctp", "turn:x?foo=udp", "stun:x?transport=udp", "turn:a b", "turn:[x]", "turn:user@x",
  ])
  func refusesTheRest(text: String) { #expect(ICEServerURL(text) == nil) }
}
