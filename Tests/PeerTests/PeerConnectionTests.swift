import Base
import Glibc
import RTP
import SDP
import TestSupport
import Testing

@testable import Peer

private let certificate: Certificate = {
  do { return try Certificate() } catch { preconditionFailure("\(error)") }
}()

/// A connection and everything it told.
@NetworkActor
private final class Party {
  var connection: PeerConnection?
  var candidates: [(candidate: String, mid: String?, index: Int)] = []
  var iceStates: [PeerConnection.ICEState] = []
  var connected: [String] = []
  var errors: [PeerError] = []
  var video: [ReceivedVideoFrame] = []
  var audio: [ReceivedAudioPacket] = []
  var keyFrameRequests = 0
  var isRemoteClosed = false
  /// Hears of each candidate.
  weak var other: Party?

  /// Longer than a busy machine may take between two steps of a test: all tests begin at once.
  static let unlimited: Duration = .seconds(600)

  init(limit: Duration = Party.unlimited, _ change: (inout PeerConnection.Configuration) -> Void = { _ in }) {
    var configuration = PeerConnection.Configuration(certificate: certificate, cname: "test")
    configuration.includesLoopback = true
    configuration.limit = limit
    configuration.interruptionLimit = Self.unlimited
    change(&configuration)
    connection = PeerConnection(configuration: configuration) { [weak self] in self?.heard($0) }
  }

  private func heard(_ event: PeerEvent) {
    switch event {
    case .localCandidate(let candidate, let mid, let index):
      candidates.append((candidate, mid, index))
      other?.connection?.addRemoteCandidate(candidate, sdpMid: mid, sdpMLineIndex: index)
    case .iceStateChanged(let state, _, _, _): iceStates.append(state)
    case .connected(let description): connected.append(description)
    case .failed(let error): errors.append(error)
    case .keyFrameRequested: keyFrameRequests += 1
    case .video(let frame): video.append(frame)
    case .audio(let packet): audio.append(packet)
    case .remoteClosed: isRemoteClosed = true
    case .gatheringComplete, .relayFailed, .targetBitrate, .packetLoss, .audioMinimumDelay: break
    }
  }

  var state: String { "\(iceStates) connected \(connected) errors \(errors) candidates \(candidates.count)" }
}

@NetworkActor
private struct Call {
  let publisher: Party, subscriber: Party

  init(
    limit: Duration = Party.unlimited, mediaLimit: Duration = Party.unlimited, trickles: Bool = true,
    publisher change: (inout PeerConnection.Configuration) -> Void = { _ in }
  ) {
    publisher = Party(limit: limit) {
      $0.mediaLimit = mediaLimit
      change(&$0)
    }
    subscriber = Party(limit: limit) { $0.mediaLimit = mediaLimit }
    if trickles {
      publisher.other = subscriber
      subscriber.other = publisher
    }
  }

  func negotiate(audio: Bool = true, video: Bool = true) throws {
    let publisher = try #require(publisher.connection)
    let offer = try publisher.offer(audio: audio, video: video, streamID: "s")
    let answer = try #require(subscriber.connection).answer(toOffer: offer)
    try publisher.setAnswer(answer)
  }

  func connect(audio: Bool = true, video: Bool = true) async throws {
    try negotiate(audio: audio, video: video)
    try await eventually("connected", state: { state }) {
      !publisher.connected.isEmpty && !subscriber.connected.isEmpty
    }
  }

  var state: String { "publisher \(publisher.state) subscriber \(subscriber.state)" }

  func close() {
    publisher.connection?.close()
    subscriber.connection?.close()
  }
}

/// Enough of a VP8 frame for whoever does not decode it.
private func picture(_ number: Int, isKeyFrame: Bool, size: Int = 3000) -> EncodedVideoFrame {
  var bytes: [UInt8] = isKeyFrame ? [0x10, 0, 0, 0x9D, 0x01, 0x2A, 0x80, 0x02, 0xE0, 0x01] : [0x11, 0, 0]
  bytes += (bytes.count..<size).map { UInt8(truncatingIfNeeded: $0 &+ number) }
  return EncodedVideoFrame(
    bytes: bytes, isKeyFrame: isKeyFrame, captureTime: MonotonicClock.now(), width: 640, height: 480)
}

private func sound(_ number: Int) -> EncodedAudioFrame {
  EncodedAudioFrame(
    bytes: [0x78] + (0..<60).map { UInt8(truncatingIfNeeded: $0 &+ number) }, timestamp: UInt32(number * 960),
    captureTime: MonotonicClock.now(), level: 20)
}

@Suite @NetworkActor struct PeerConnectionTests {
  @Test func picturesAndSoundArrive() async throws {
    let call = Call()
    try await call.connect()
    #expect(call.publisher.keyFrameRequests >= 1)
    let sent = (0..<10).map { picture($0, isKeyFrame: $0 == 0) }
    for number in 0..<10 {
      call.publisher.connection?.send(sent[number])
      call.publisher.connection?.send(sound(number))
      try await Task.sleep(for: .milliseconds(10))
    }
    try await eventually("media", state: { "\(call.subscriber.video.count) \(call.subscriber.audio.count)" })
    {
      call.subscriber.video.count == 10 && call.subscriber.audio.count == 10
    }
    #expect(call.subscriber.video.map(\.bytes) == sent.map(\.bytes))
    #expect(call.subscriber.audio.map(\.bytes) == (0..<10).map { sound($0).bytes })
    let statistics = try #require(call.subscriber.connection?.statistics())
    #expect(statistics.dropped.total == 0)
    #expect(statistics.packetsReceived >= 40 && statistics.bytesReceived > 30_000)
    #expect(statistics.rtp?.inbound.count == 2)
    #expect(statistics.localCandidate?.hasPrefix("host ") == true && statistics.remoteCandidate != nil)
    #expect(call.subscriber.connected.first?.contains("DTLSv1.2") == true)
    #expect(call.subscriber.iceStates.prefix(2) == [.checking, .connected])
    call.close()
  }

  @Test func candidatesNameTheirSection() async throws {
    let call = Call()
    try await call.connect()
    #expect(
      call.publisher.candidates.allSatisfy {
        $0.mid == "0" && $0.index == 0 && $0.candidate.hasPrefix("candidate:")
      })
    #expect(!call.subscriber.candidates.isEmpty)
    call.close()
  }

  @Test func candidatesMayComeBeforeTheDescription() async throws {
    let call = Call()
    let publisher = try #require(call.publisher.connection)
    let subscriber = try #require(call.subscriber.connection)
    let offer = try publisher.offer(audio: true, video: true, streamID: "s")
    try await eventually("candidates") { !call.publisher.candidates.isEmpty }
    let answer = try subscriber.answer(toOffer: offer)
    try await eventually("candidates") { !call.subscriber.candidates.isEmpty }
    try publisher.setAnswer(answer)
    try await eventually("connected", state: { call.state }) { !call.publisher.connected.isEmpty }
    for _ in 0..<200 {
      publisher.addRemoteCandidate(
        "candidate:1 1 udp 1 192.0.2.9 1 typ host", sdpMid: nil, sdpMLineIndex: nil)
    }
    call.close()
  }

  @Test func pendingCandidatesAreBounded() throws {
    let party = Party()
    for _ in 0..<200 {
      party.connection?.addRemoteCandidate(
        "candidate:1 1 udp 1 192.0.2.9 1 typ host", sdpMid: "0", sdpMLineIndex: 0)
    }
    #expect(party.connection?.pendingCandidates.count == PeerConnection.maximumPendingCandidates)
  }

  @Test func keyFrameRequestReachesThePublisher() async throws {
    let call = Call()
    try await call.connect(audio: false)
    let before = call.publisher.keyFrameRequests
    for number in 0..<3 {
      call.publisher.connection?.send(picture(number, isKeyFrame: number == 0))
    }
    try await eventually("media") { call.subscriber.video.count == 3 }
    call.subscriber.connection?.requestKeyFrame()
    try await eventually("request") { call.publisher.keyFrameRequests > before }
    call.close()
  }

  @Test func strangersOnTheMediaPortChangeNothing() async throws {
    let call = Call()
    try await call.connect()
    call.publisher.connection?.send(picture(0, isKeyFrame: true))
    try await eventually("media") { call.subscriber.video.count == 1 }
    let stranger = try #require(Stranger())
    var generator = SeededGenerator(seed: 5)
    let local = try call.subscriber.candidates.map { try ICECandidate(parsing: $0.candidate) }
    for candidate in local where !candidate.address.contains(":") {
      let secured = Array("GET / HTTP/1.1\r\n".utf8)
      var datagrams: [[UInt8]] = [
        [], [0], [0, 1], [0, 1, 0, 0], [0, 1, 0xFF, 0xFF, 0x21, 0x12, 0xA4, 0x42], [0x16, 0xFE, 0xFD],
        secured,
        // A binding request without credentials, and one whose attribute is longer than itself.
        [0, 1, 0, 0, 0x21, 0x12, 0xA4, 0x42] + [UInt8](repeating: 9, count: 12),
        [0, 1, 0, 8, 0x21, 0x12, 0xA4, 0x42] + [UInt8](repeating: 9, count: 12) + [
          0, 6, 0xFF, 0xFF, 1, 2, 3, 4,
        ],
        [0x80, 96, 0, 1] + [UInt8](repeating: 0, count: 40), [0x80, 200, 0, 1, 0, 0, 0, 0],
      ]
      for _ in 0..<60 {
        datagrams.append(
          (0..<Int.random(in: 1...200, using: &generator)).map { _ in .random(in: 0...255, using: &generator)
          })
      }
      for datagram in datagrams { stranger.send(datagram, to: candidate) }
    }
    for number in 1..<20 {
      call.publisher.connection?.send(picture(number, isKeyFrame: false))
      try await Task.sleep(for: .milliseconds(2))
    }
    try await eventually("media goes on", state: { "\(call.subscriber.video.count) \(call.state)" }) {
      call.subscriber.video.count == 20
    }
    #expect(call.subscriber.errors.isEmpty && !call.subscriber.isRemoteClosed)
    // A machine with too much to do may have seen a gap meanwhile.
    try await eventually("connected", state: { call.state }) {
      [.connected, .completed].contains(call.subscriber.iceStates.last)
    }
    call.close()
  }

  @Test func closingIsHeardByTheOther() async throws {
    let call = Call()
    try await call.connect()
    call.publisher.connection?.close()
    try await eventually("goodbye") { call.subscriber.isRemoteClosed }
    #expect(call.publisher.isRemoteClosed == false && call.publisher.errors.isEmpty)
    #expect(call.subscriber.connection?.statistics().iceState == .closed)
    #expect(throws: PeerError.self) { try call.subscriber.connection?.answer(toOffer: "v=0") }
  }

  @Test func wrongFingerprintEndsTheConnection() async throws {
    let call = Call()
    let publisher = try #require(call.publisher.connection)
    let offer = try publisher.offer(audio: true, video: false, streamID: "s")
    let mine = certificate.fingerprint.text
    let forged = offer.replacing(mine, with: try Certificate().fingerprint.text)
    #expect(forged != offer)
    try publisher.setAnswer(try #require(call.subscriber.connection).answer(toOffer: forged))
    try await eventually("failed", state: { call.state }) { !call.subscriber.errors.isEmpty }
    #expect(call.subscriber.errors == [.fingerprintMismatch])
    #expect(call.subscriber.errors.first?.stage == .dtls)
    #expect(call.subscriber.connected.isEmpty)
    call.close()
  }

  @Test func eachStageHasItsLimit() async throws {
    let unanswered = Party(limit: .milliseconds(100))
    _ = try unanswered.connection?.offer(audio: true, video: false, streamID: "s")
    let unreachable = Call(limit: .milliseconds(100), trickles: false)
    try unreachable.negotiate()
    try await eventually("gave up", state: { unreachable.state }) {
      !unanswered.errors.isEmpty && !unreachable.publisher.errors.isEmpty
        && !unreachable.subscriber.errors.isEmpty
    }
    #expect(unanswered.errors == [.answerTimedOut(after: .milliseconds(100))])
    #expect(unanswered.errors.first?.stage == .signalling)
    #expect(unreachable.publisher.errors == [.iceTimedOut(after: .milliseconds(100))])
    #expect(unreachable.subscriber.errors.first?.stage == .ice)
  }

  @Test func connectedWithoutAPacketIsToldAfterItsLimit() async throws {
    let call = Call(mediaLimit: .milliseconds(200))
    try call.negotiate()
    try await eventually("told", state: { call.state }) { !call.subscriber.errors.isEmpty }
    #expect(call.subscriber.errors == [.mediaTimedOut(after: .milliseconds(200))])
    #expect(call.subscriber.errors.first?.stage == .media)
    #expect(call.subscriber.connected.count == 1)
    call.close()
  }

  @Test func callsInTheWrongOrderAreErrors() throws {
    let party = Party()
    let connection = try #require(party.connection)
    #expect(throws: PeerError.self) { try connection.setAnswer("v=0\r\n") }
    #expect(throws: PeerError.self) { try connection.restartICE() }
    #expect(throws: PeerError.self) { try connection.offer(audio: false, video: false, streamID: "s") }
    #expect(throws: PeerError.self) { try connection.answer(toOffer: "nonsense") }
    _ = try connection.offer(audio: true, video: false, streamID: "s")
    #expect(throws: PeerError.self) { try connection.offer(audio: true, video: false, streamID: "s") }
    #expect(throws: PeerError.self) { try connection.answer(toOffer: "v=0\r\n") }
    connection.close()
    #expect(throws: PeerError.self) { try connection.setAnswer("v=0\r\n") }
  }

  @Test func restartChangesThePathAndKeepsTheMedia() async throws {
    let call = Call()
    try await call.connect()
    let publisher = try #require(call.publisher.connection)
    let subscriber = try #require(call.subscriber.connection)
    call.publisher.connection?.send(picture(0, isKeyFrame: true))
    try await eventually("media") { call.subscriber.video.count == 1 }
    let old = try #require(publisher.statistics().localCandidate)
    let offer = try publisher.restartICE()
    try publisher.setAnswer(try subscriber.answer(toOffer: offer))
    call.publisher.connection?.send(picture(1, isKeyFrame: false))
    try await eventually("new path", state: { call.state }) {
      publisher.nextICE == nil && subscriber.nextICE == nil && publisher.statistics().localCandidate != old
    }
    call.publisher.connection?.send(picture(2, isKeyFrame: false))
    try await eventually("media goes on") { call.subscriber.video.count == 3 }
    #expect(call.publisher.connected.count == 1 && call.subscriber.connected.count == 1)
    #expect(call.publisher.errors.isEmpty && call.subscriber.errors.isEmpty)
    call.close()
  }

  @Test func aLostPathIsNoticedAndReplaced() async throws {
    let call = Call { $0.silenceLimit = .milliseconds(700) }
    try await call.connect()
    let publisher = try #require(call.publisher.connection)
    let subscriber = try #require(call.subscriber.connection)
    subscriber.ice?.close()
    try await eventually("noticed", state: { call.state }) { call.publisher.iceStates.last == .disconnected }
    #expect(call.publisher.errors.isEmpty)
    // The first of two offers in a row is answered in vain.
    let first = try subscriber.answer(toOffer: try publisher.restartICE())
    let second = try subscriber.answer(toOffer: try publisher.restartICE())
    try publisher.setAnswer(first)
    try publisher.setAnswer(second)
    try await eventually("new path", state: { call.state }) {
      [.connected, .completed].contains(call.publisher.iceStates.last) && publisher.nextICE == nil
    }
    publisher.send(picture(0, isKeyFrame: true))
    try await eventually("media") { call.subscriber.video.count == 1 }
    #expect(call.publisher.errors.isEmpty && call.subscriber.errors.isEmpty)
    call.close()
  }

  @Test func aRestartWithoutAnAnswerDoesNotStandInTheWayOfTheNext() async throws {
    let call = Call()
    try await call.connect()
    let publisher = try #require(call.publisher.connection)
    let subscriber = try #require(call.subscriber.connection)
    let old = try #require(publisher.statistics().localCandidate)
    _ = try publisher.restartICE()
    try publisher.setAnswer(try subscriber.answer(toOffer: try publisher.restartICE(answerIsLost: true)))
    try await eventually("new path", state: { call.state }) {
      publisher.nextICE == nil && subscriber.nextICE == nil && publisher.statistics().localCandidate != old
    }
    #expect(call.publisher.errors.isEmpty && call.subscriber.errors.isEmpty)
    call.close()
  }

  /// RFC 7675, 5.1: not even when the other side is heard again, until ICE has been restarted.
  @Test func withoutConsentNothingIsSentUntilARestart() async throws {
    let call = Call {
      $0.silenceLimit = .milliseconds(350)
      $0.consentLimit = .milliseconds(700)
    }
    try await call.connect()
    let publisher = try #require(call.publisher.connection)
    let subscriber = try #require(call.subscriber.connection)
    subscriber.ice?.close()
    try await eventually("silence", state: { call.state }) {
      publisher.send(sound(0))
      let before = publisher.statistics().packetsSent
      publisher.send(sound(1))
      return call.publisher.iceStates.last == .disconnected && publisher.statistics().packetsSent == before
    }
    #expect(publisher.statistics().dropped[.notSent] > 0)
    var restarts = 0
    try await eventually("media after a restart", state: { call.state }) {
      // On a machine with too much to do the new path may get as silent as the first.
      if publisher.nextICE == nil, call.publisher.iceStates.last == .disconnected {
        try publisher.setAnswer(try subscriber.answer(toOffer: try publisher.restartICE(.silence)))
        restarts += 1
      }
      publisher.send(picture(0, isKeyFrame: true))
      return !call.subscriber.video.isEmpty
    }
    #expect(restarts > 0)
    call.close()
  }

  @Test func aLostAddressCallsForARestart() async throws {
    // A machine with too much to do is no silence.
    let call = Call {
      $0.silenceLimit = .seconds(300)
      $0.interruptionLimit = .seconds(600)
    }
    try await call.connect()
    let publisher = try #require(call.publisher.connection)
    // A machine with too much to do may have seen a gap meanwhile.
    try await eventually("nothing is lost") {
      !publisher.isAffected(by: AddressWatch.shared.addresses.union(["192.0.2.1"]))
    }
    #expect(publisher.isAffected(by: ["192.0.2.1"]))
    // With nothing to go out from there is nothing to try.
    #expect(!publisher.isAffected(by: []))
    #expect(!publisher.isAffected(by: ["127.0.0.9", "::1"]))
    call.close()
    #expect(!publisher.isAffected(by: ["192.0.2.1"]))
  }

  @Test func silenceEndsTheConnectionAtLast() async throws {
    let call = Call {
      $0.silenceLimit = .milliseconds(300)
      $0.interruptionLimit = .milliseconds(900)
    }
    try await call.connect()
    call.subscriber.connection?.ice?.close()
    try await eventually("ended", state: { call.state }) { !call.publisher.errors.isEmpty }
    #expect(call.publisher.errors == [.consentLost])
    #expect(call.publisher.iceStates.last == .failed)
    #expect(call.publisher.connection?.hasEnded == true)
    call.close()
  }

  @Test func aPeerStartedAnewIsAnswered() async throws {
    let call = Call()
    try await call.connect()
    let other = try Certificate()
    let again = Party { $0.certificate = other }
    again.other = call.subscriber
    call.subscriber.other = again
    let offer = try #require(again.connection).offer(audio: true, video: true, streamID: "s")
    try #require(again.connection).setAnswer(try #require(call.subscriber.connection).answer(toOffer: offer))
    try await eventually("connected again", state: { call.state }) {
      !again.connected.isEmpty && call.subscriber.connected.count == 2
    }
    again.connection?.send(picture(0, isKeyFrame: true))
    try await eventually("media") { call.subscriber.video.count == 1 }
    call.close()
    again.connection?.close()
  }

  @Test func retransmissionWithoutItsOwnStreamUsesCounterMode() async throws {
    let call = Call()
    let publisher = try #require(call.publisher.connection)
    let offer = try publisher.offer(audio: false, video: true, streamID: "s")
    let answer = try #require(call.subscriber.connection).answer(
      toOffer: offer.replacing("a=rtpmap:97 rtx/90000\r\n", with: ""))
    try publisher.setAnswer(answer)
    try await eventually("connected", state: { call.state }) { !call.publisher.connected.isEmpty }
    #expect(publisher.secure?.profile == .aes128CMSHA1_80)
    call.close()
  }

  @Test func connectionsWithoutOwnerGoAway() async throws {
    weak var connection: PeerConnection?
    do {
      let call = Call()
      try await call.connect()
      connection = call.publisher.connection
      #expect(connection != nil)
    }
    try await eventually("gone") { connection == nil }
  }

  /// Answers checks and makes none: the answering side has to choose the path.
  @Test func aServerWithIceLiteIsReached() async throws {
    let subscriber = Party()
    let certificate = try Certificate()
    let offer = MediaOffer(
      audio: true, video: false, streamID: "s", cname: "c", random: &Self.random)
    var packets = 0
    var secure: SecureTransport?
    let server = try ICETransport(
      configuration: .init(includesLoopback: true), isControlling: false, isLite: true,
      events: { event in
        if case .candidate(let candidate) = event {
          subscriber.connection?.addRemoteCandidate(candidate, sdpMid: "0", sdpMLineIndex: 0)
        }
      }, received: { datagram, now in secure?.receive(datagram, at: now) })
    secure = SecureTransport(
      certificate: certificate, transmit: { server.send($0) }, events: { _ in },
      packets: { _, _ in packets += 1 })
    var description = offer.description(
      LocalTransport(
        sessionID: 1, version: 1, userFragment: server.userFragment, password: server.password,
        fingerprint: certificate.fingerprint))
    description.append(attribute: "ice-lite")
    let answer = try SessionDescription(
      parsing: try #require(subscriber.connection).answer(toOffer: description.serialized()))
    let remote = try #require(answer.transport(ofMedium: 0))
    #expect(server.setRemote(userFragment: remote.usernameFragment ?? "", password: remote.password ?? ""))
    secure?.start(role: .server, fingerprints: remote.fingerprints, limit: .seconds(30))
    try server.gather()
    try await eventually("connected", state: { subscriber.state }) { !subscriber.connected.isEmpty }
    subscriber.connection?.close()
    try await eventually("goodbye") { packets > 0 }
    server.close()
    secure = nil
  }

  private static var random = SeededGenerator(seed: 9)

  @Test func closedConnectionsGiveTheirSocketsBack() async throws {
    func sockets() -> Int {
      (0..<1024).count { descriptor in
        var kind: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        return getsockopt(Int32(descriptor), SOL_SOCKET, SO_TYPE, &kind, &size) == 0
          && kind == Int32(SOCK_DGRAM.rawValue)
      }
    }
    var parties: [Party] = []
    for _ in 0..<20 {
      let party = Party()
      _ = try #require(party.connection).offer(audio: true, video: true, streamID: "s")
      parties.append(party)
    }
    let open = sockets()
    #expect(open >= 20)
    for party in parties { party.connection?.close() }
    // Other tests open and close theirs meanwhile, far fewer than these.
    try await eventually("closed", state: { "\(open) \(sockets())" }) { sockets() <= open - 20 }
  }

  @Test func eventReceiverMayClose() async throws {
    let call = Call()
    try await call.connect()
    var seen = 0
    let closing = Party()
    var configuration = PeerConnection.Configuration(certificate: certificate, cname: "test")
    configuration.includesLoopback = true
    closing.connection = PeerConnection(configuration: configuration) { [weak closing] event in
      seen += 1
      if case .connected = event { closing?.connection?.close() }
    }
    let publisher = Party()
    publisher.other = closing
    let offer = try #require(publisher.connection).offer(audio: true, video: true, streamID: "s")
    try #require(publisher.connection).setAnswer(try #require(closing.connection).answer(toOffer: offer))
    try await eventually("goodbye", state: { publisher.state }) { publisher.isRemoteClosed }
    #expect(seen > 0)
    call.close()
  }
}

/// A UDP socket of nobody.
private final class Stranger {
  private let descriptor: Int32

  init?() {
    descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
    if descriptor < 0 { return nil }
  }

  deinit { close(descriptor) }

  func send(_ datagram: [UInt8], to candidate: ICECandidate) {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = candidate.port.bigEndian
    inet_pton(AF_INET, candidate.address, &address.sin_addr)
    withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        _ = sendto(
          descriptor, datagram, datagram.count, 0, address, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  }
}
