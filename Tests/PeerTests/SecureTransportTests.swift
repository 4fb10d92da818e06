import Base
import SDP
import TestSupport
import Testing

@testable import Peer

/// Two transports joined by memory; each end counts its datagrams and may lose some of them.
@NetworkActor
private final class Link {
  final class End {
    var transport: SecureTransport?
    var events: [SecureTransport.Event] = []
    var packets: [[UInt8]] = []
    /// Datagrams as sent, lost ones too.
    var sent: [[UInt8]] = []
  }

  let left = End(), right = End()
  /// Whether a datagram arrives: called with its sender and number.
  var passes: (_ fromLeft: Bool, _ number: Int) -> Bool = { _, _ in true }
  /// What arrives in a datagram's place.
  var split: (_ fromLeft: Bool, _ datagram: [UInt8]) -> [[UInt8]] = { [$1] }

  init(left: Certificate, right: Certificate) {
    self.left.transport = make(left, from: self.left, to: self.right)
    self.right.transport = make(right, from: self.right, to: self.left)
  }

  private func make(_ certificate: Certificate, from: End, to: End) -> SecureTransport {
    let fromLeft = from === left
    return SecureTransport(
      certificate: certificate,
      transmit: { [weak self] datagram in
        guard let self else { return false }
        from.sent.append(Array(datagram))
        guard passes(fromLeft, from.sent.count - 1) else { return true }
        for part in split(fromLeft, Array(datagram)) { deliver(part, to: to) }
        return true
      },
      events: { from.events.append($0) }, packets: { packet, _ in from.packets.append(Array(packet)) })
  }

  /// Through the main loop, as from a socket.
  func deliver(_ datagram: [UInt8], to end: End) {
    let transport = end.transport
    NetworkActor.perform {
      var copy = datagram
      copy.withUnsafeMutableBytes { transport?.receive($0, at: MonotonicClock.now()) }
    }
  }

  func start(limit: Duration = .seconds(30), leftFingerprint: Fingerprint? = nil) {
    right.transport?.start(
      role: .server, fingerprints: [leftFingerprint ?? certificates.0.fingerprint], limit: limit)
    left.transport?.start(role: .client, fingerprints: [certificates.1.fingerprint], limit: limit)
  }

  var areConnected: Bool { left.transport?.isConnected == true && right.transport?.isConnected == true }
}

private let certificates: (Certificate, Certificate) = {
  do { return (try Certificate(), try Certificate()) } catch { preconditionFailure("\(error)") }
}()

@NetworkActor private func connectedLink() async throws -> Link {
  let link = Link(left: certificates.0, right: certificates.1)
  link.start()
  try await eventually("handshake") { link.areConnected }
  return link
}

private func rtp(sequence: UInt16, source: UInt32 = 0x1234, payload: Int = 100) -> [UInt8] {
  var packet: [UInt8] = [0x80, 96, UInt8(sequence >> 8), UInt8(sequence & 255), 0, 0, 0, 1]
  for shift in stride(from: 24, through: 0, by: -8) {
    packet.append(UInt8(truncatingIfNeeded: source >> shift))
  }
  return packet + (0..<payload).map { UInt8(truncatingIfNeeded: $0) }
}

@NetworkActor private func send(_ packet: [UInt8], isRTCP: Bool = false, by end: Link.End) {
  var buffer = packet + [UInt8](repeating: 0, count: SRTPTransport.tailroom)
  _ = buffer.withUnsafeMutableBytes { end.transport?.send($0, count: packet.count, isRTCP: isRTCP) }
}

@Suite @NetworkActor struct SecureTransportTests {
  @Test func agreesOnGCMAndCarriesPacketsBothWays() async throws {
    let link = try await connectedLink()
    #expect(link.left.transport?.profile == .aeadAES128GCM)
    #expect(link.right.transport?.profile == .aeadAES128GCM)
    let report: [UInt8] = [0x80, 201, 0, 1, 0, 0, 0x12, 0x34]
    send(rtp(sequence: 1), by: link.left)
    send(report, isRTCP: true, by: link.left)
    send(rtp(sequence: 9), by: link.right)
    try await eventually("packets") { link.right.packets.count == 2 && link.left.packets.count == 1 }
    #expect(link.right.packets == [rtp(sequence: 1), report])
    #expect(link.left.packets == [rtp(sequence: 9)])
    #expect(link.left.sent.last != report)
    #expect(link.left.transport?.drops.total == 0)
    #expect(link.right.transport?.drops.total == 0)
  }

  @Test func handshakeDatagramsStayBelowTheLimit() async throws {
    let link = try await connectedLink()
    let sizes = (link.left.sent + link.right.sent).map(\.count)
    #expect(sizes.count >= 4)
    #expect(sizes.allSatisfy { $0 <= DTLSTransport.maximumDatagram })
  }

  @Test(arguments: [
    [0], [1], [0, 1], [2], [3], [2, 3, 4],
  ])
  func lostFlightsAreSentAgain(lost: [Int]) async throws {
    let link = Link(left: certificates.0, right: certificates.1)
    link.passes = { _, number in !lost.contains(number) }
    link.start()
    try await eventually("handshake") { link.areConnected }
  }

  /// Chromium's ClientHello, with a post-quantum key share, needs two datagrams.
  @Test(arguments: [false, true])
  func clientHelloInTwoDatagramsInAnyOrder(isReversed: Bool) async throws {
    let link = Link(left: certificates.0, right: certificates.1)
    var number: UInt8 = 40
    link.split = { fromLeft, datagram in
      guard fromLeft, datagram[0] == 22, datagram[13] == 1 else { return [datagram] }
      let body = Array(datagram[25...])
      let parts = [(0, body.count / 2), (body.count / 2, body.count)].map { start, end -> [UInt8] in
        number += 1  // record sequence numbers that the client does not use, within the replay window
        let size = end - start
        var part = Array(datagram[0..<10])
        part += [number, UInt8((size + 12) >> 8), UInt8((size + 12) & 255)]
        part += datagram[13..<19]
        part += [0, UInt8(start >> 8), UInt8(start & 255)]
        part += [0, UInt8(size >> 8), UInt8(size & 255)]
        part += body[start..<end]
        return part
      }
      return isReversed ? parts.reversed() : parts
    }
    link.start()
    try await eventually("handshake") { link.areConnected }
    #expect(number >= 42)
  }

  @Test(arguments: 1...4)
  func randomLossDelaysButDoesNotStop(seed: UInt64) async throws {
    let link = Link(left: certificates.0, right: certificates.1)
    var generator = SeededGenerator(seed: seed)
    link.passes = { _, _ in UInt8.random(in: 0..<100, using: &generator) >= 30 }
    link.start()
    try await eventually(
      "handshake", state: { "sent \(link.left.sent.count) \(link.right.sent.count)" }
    ) {
      link.areConnected
    }
  }

  @Test func clientQuickerThanItsSignallingIsHeard() async throws {
    let link = Link(left: certificates.0, right: certificates.1)
    // Of the ClientHellos only the first arrives, before the server has started, so it must have been kept.
    link.passes = { [weak link] fromLeft, number in
      !fromLeft || link?.left.sent[number].dropFirst(13).first != 1
    }
    link.left.transport?.start(
      role: .client, fingerprints: [certificates.1.fingerprint], limit: .seconds(30))
    var first = try #require(link.left.sent.first)
    first.withUnsafeMutableBytes { link.right.transport?.receive($0, at: MonotonicClock.now()) }
    link.right.transport?.start(
      role: .server, fingerprints: [certificates.0.fingerprint], limit: .seconds(30))
    try await eventually("handshake") { link.areConnected }
  }

  @Test func wrongFingerprintEndsBothSides() async throws {
    let link = Link(left: certificates.0, right: certificates.1)
    link.start(leftFingerprint: certificates.1.fingerprint)
    try await eventually("both ended") { !link.left.events.isEmpty && !link.right.events.isEmpty }
    #expect(link.right.events == [.failed(.fingerprintMismatch)])
    #expect(link.left.events.last != nil)
    #expect(link.left.transport?.isConnected == false)
    #expect(link.right.transport?.isConnected == false)
    send(rtp(sequence: 1), by: link.left)
    send(rtp(sequence: 1), by: link.right)
    await turn()
    #expect(link.left.packets.isEmpty && link.right.packets.isEmpty)
  }

  @Test func silenceEndsAtTheLimit() async throws {
    let link = Link(left: certificates.0, right: certificates.1)
    link.passes = { fromLeft, _ in fromLeft }
    link.start(limit: .milliseconds(300))
    try await eventually("both gave up") { !link.left.events.isEmpty && !link.right.events.isEmpty }
    #expect(link.left.events == [.failed(.handshakeTimedOut(after: .milliseconds(300)))])
    #expect(link.right.events == [.failed(.handshakeTimedOut(after: .milliseconds(300)))])
  }

  @Test func goodbyeIsHeard() async throws {
    let link = try await connectedLink()
    link.left.transport?.close()
    try await eventually("closed") { link.right.events.last == .closed }
    #expect(link.right.transport?.isConnected == false)
  }

  @Test func packetsBeforeKeysAreCounted() async throws {
    let link = Link(left: certificates.0, right: certificates.1)
    link.deliver(rtp(sequence: 1), to: link.right)
    send(rtp(sequence: 1), by: link.left)
    await turn()
    #expect(link.right.transport?.drops[.beforeKeys] == 1)
    #expect(link.left.transport?.drops[.notSent] == 1)
    #expect(link.right.packets.isEmpty && link.left.sent.isEmpty)
  }

  @Test func replaysAndForgeriesCostACounter() async throws {
    let link = try await connectedLink()
    send(rtp(sequence: 1), by: link.left)
    let sent = try #require(link.left.sent.last)
    link.deliver(sent, to: link.right)
    var forged = sent
    forged[20] ^= 1
    forged[3] = 2
    link.deliver(forged, to: link.right)
    link.deliver(rtp(sequence: 3), to: link.right)
    try await eventually("all seen") { link.right.transport?.drops.total == 3 }
    #expect(link.right.packets == [rtp(sequence: 1)])
    #expect(link.right.transport?.drops[.replayed] == 1)
    #expect(link.right.transport?.drops[.notAuthentic] == 2)
  }

  @Test func anyBytesCostACounterAtMost() async throws {
    let link = try await connectedLink()
    link.deliver([], to: link.right)
    link.deliver([0, 1, 0], to: link.right)
    link.deliver([70, 1, 0], to: link.right)
    link.deliver([22, 254, 253], to: link.right)
    link.deliver([128], to: link.right)
    link.deliver([144, 96] + [UInt8](repeating: 0xFF, count: 14), to: link.right)  // lying extension length
    link.deliver([143, 200, 255, 255], to: link.right)
    try await eventually("all counted") { link.right.transport?.drops.total == 7 }
    let drops = try #require(link.right.transport?.drops)
    #expect(drops[.empty] == 1 && drops[.stun] == 1 && drops[.unknownProtocol] == 1 && drops[.dtls] == 1)

    var generator = SeededGenerator(seed: 7)
    for first in UInt8.min...UInt8.max {
      for size in [1, 2, 12, 13, 40, 120] {
        var datagram = (0..<size).map { _ in UInt8.random(in: 0...255, using: &generator) }
        datagram[0] = first
        link.deliver(datagram, to: link.right)
      }
    }
    await turn()
    send(rtp(sequence: 77), by: link.left)
    try await eventually("still carries packets") { link.right.packets == [rtp(sequence: 77)] }
  }

  @Test func junkBeforeAndDuringTheHandshakeDoesNotStopIt() async throws {
    let link = Link(left: certificates.0, right: certificates.1)
    var generator = SeededGenerator(seed: 3)
    link.passes = { [weak link] fromLeft, _ in
      guard let link else { return false }
      for size in [13, 60, 400] {
        var junk = (0..<size).map { _ in UInt8.random(in: 0...255, using: &generator) }
        junk[0] = 22
        junk[1] = 254
        junk[2] = 253
        link.deliver(junk, to: fromLeft ? link.right : link.left)
      }
      return true
    }
    link.start()
    try await eventually(
      "handshake", state: { "\(link.left.events) \(link.right.events)" }
    ) {
      link.areConnected
    }
  }

  @Test func sourcesAreBounded() async throws {
    let link = try await connectedLink()
    for source in 0..<UInt32(SRTPTransport.maximumSources + 5) {
      send(rtp(sequence: 1, source: source), by: link.left)
    }
    try await eventually("all seen") {
      link.right.packets.count + (link.right.transport?.drops.total ?? 0) == SRTPTransport.maximumSources + 5
    }
    #expect(link.right.transport?.drops[.tooManySources] == 5)
  }

  private func turn() async {
    await withCheckedContinuation { done in NetworkActor.perform { done.resume() } }
  }
}
