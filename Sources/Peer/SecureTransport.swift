import Base
import SDP

/// DTLS-SRTP over a path that somebody else provides (RFC 5764): tells DTLS, RTP and RTCP apart, runs the
/// handshake with its timers and limit, then protects and checks packets in place.
@NetworkActor
final class SecureTransport {
  enum Event: Equatable {
    /// Keys are there; what was agreed on.
    case connected(String)
    case failed(PeerError)
    /// The other side said goodbye.
    case closed
  }

  private enum State {
    case new, connecting, connected, ended
  }

  /// DTLS that comes before `start`, from a client quicker than its signalling, is kept this far.
  private static let maximumEarlyDatagrams = 8
  private static let scratchSize = 2048

  private(set) var drops = DropCounters()
  private(set) var packetsSent = 0, bytesSent = 0
  private(set) var packetsReceived = 0, bytesReceived = 0
  private(set) var lastReceived: Instant?
  /// The other side's certificate fits its fingerprint and keys are there.
  var isConnected: Bool { state == .connected }
  /// The SRTP profile in use, once connected.
  var profile: SRTPProfile? { srtp?.profile }

  private let certificate: Certificate
  private let transmit: (UnsafeRawBufferPointer) -> Bool
  private let events: (Event) -> Void
  private let packets: (UnsafeRawBufferPointer, Instant) -> Void
  private let capture: ConnectionCapture?
  private var state = State.new
  private var dtls: DTLSTransport?
  private var srtp: SRTPTransport?
  private var timer: NetworkTimer?
  private var limit: (duration: Duration, deadline: Instant)?
  private var repeatsPackets = false
  private var early: [[UInt8]] = []
  // For packets that libnice hands over unaligned (out of a TURN message): libsrtp needs alignment.
  private let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: scratchSize, alignment: 16)

  /// - Parameters:
  ///   - transmit: sends one datagram; false if it was not sent.
  ///   - packets: called with each authentic RTP or RTCP packet; the memory is valid during the call only.
  ///   - capture: gets every packet that was sent or that is authentic.
  init(
    certificate: Certificate, transmit: @escaping (UnsafeRawBufferPointer) -> Bool,
    events: @escaping (Event) -> Void, packets: @escaping (UnsafeRawBufferPointer, Instant) -> Void,
    capture: ConnectionCapture? = nil
  ) {
    self.certificate = certificate
    self.transmit = transmit
    self.events = events
    self.packets = packets
    self.capture = capture
    timer = NetworkTimer { [weak self] in self?.timeout() }
  }

  isolated deinit { scratch.deallocate() }

  /// Starts the handshake; the path should be open. Ends in `.connected` or `.failed` within `limit`.
  ///
  /// - Parameter repeatsPackets: packets may be sent again under their number, with other header
  ///   extensions. Two messages under one nonce would give AES-GCM's authentication key away, so then
  ///   only AES-CM is agreed on.
  func start(
    role: DTLSTransport.Role, fingerprints: [Fingerprint], repeatsPackets: Bool = false, limit: Duration
  ) {
    guard state == .new else { return }
    state = .connecting
    self.repeatsPackets = repeatsPackets
    self.limit = (limit, MonotonicClock.now() + limit)
    attempt { () throws(PeerError) in
      dtls = try DTLSTransport(
        certificate: certificate, role: role, fingerprints: fingerprints,
        profiles: repeatsPackets ? [.aes128CMSHA1_80] : [.aeadAES128GCM, .aes128CMSHA1_80])
      if role == .client { try dtls?.start() }
    }
    let datagrams = early
    early = []
    for datagram in datagrams { datagram.withUnsafeBytes { receiveDTLS($0) } }
  }

  /// Takes in one datagram, whose memory is written to.
  func receive(_ datagram: UnsafeMutableRawBufferPointer, at now: Instant) {
    guard let first = datagram.first else { return drops.count(.empty) }
    switch first {
    case 128...191: receiveSRTP(datagram, at: now)
    case 20...63: receiveDTLS(UnsafeRawBufferPointer(datagram))
    case 0...3: drops.count(.stun)
    default: drops.count(.unknownProtocol)
    }
  }

  /// Protects the packet in the first `count` bytes of `buffer` in place and sends it. `buffer` needs
  /// `SRTPTransport.tailroom` bytes more.
  @discardableResult
  func send(_ buffer: UnsafeMutableRawBufferPointer, count: Int, isRTCP: Bool) -> Bool {
    // Protecting it changes it.
    let plain = capture == nil ? nil : Array(buffer[..<min(count, buffer.count)])
    guard state == .connected, let size = srtp?.protect(buffer, count: count, isRTCP: isRTCP),
      transmit(UnsafeRawBufferPointer(rebasing: buffer[0..<size]))
    else {
      drops.count(.notSent)
      return false
    }
    packetsSent &+= 1
    bytesSent &+= size
    if let capture, let plain {
      capture.record(isRTCP ? .rtcp : .rtp, plain, .outbound, at: MonotonicClock.now())
    }
    return true
  }

  /// Says goodbye to the other side. Nothing is sent or received after it.
  func close() {
    dtls?.close()
    flush()
    end()
  }

  private func receiveSRTP(_ datagram: UnsafeMutableRawBufferPointer, at now: Instant) {
    guard state == .connected else { return drops.count(.beforeKeys) }
    guard datagram.count >= 2 else { return drops.count(.malformed) }
    var packet = datagram
    if let address = packet.baseAddress, UInt(bitPattern: address) & 3 != 0 {
      guard packet.count <= scratch.count else { return drops.count(.malformed) }
      scratch.copyMemory(from: UnsafeRawBufferPointer(packet))
      packet = UnsafeMutableRawBufferPointer(rebasing: scratch[0..<packet.count])
    }
    let isRTCP = (192...223).contains(packet[1])
    switch srtp?.unprotect(packet, isRTCP: isRTCP) {
    case .packet(let size):
      capture?.record(isRTCP ? .rtcp : .rtp, Array(packet[..<size]), .inbound, at: now)
      packetsReceived &+= 1
      bytesReceived &+= datagram.count
      lastReceived = now
      packets(UnsafeRawBufferPointer(rebasing: packet[0..<size]), now)
    case .dropped(let reason): drops.count(reason)
    case nil: drops.count(.beforeKeys)
    }
  }

  private func receiveDTLS(_ datagram: UnsafeRawBufferPointer) {
    switch state {
    case .new:
      guard early.count < Self.maximumEarlyDatagrams,
        datagram.count <= DTLSTransport.maximumReceivedDatagram
      else { return drops.count(.dtls) }
      early.append(Array(datagram))
    case .connecting, .connected:
      attempt { () throws(PeerError) in
        if try dtls?.receive(datagram) != true { drops.count(.dtls) }
      }
    case .ended: drops.count(.dtls)
    }
  }

  private func timeout() {
    guard state == .connecting else { return }
    if let limit, MonotonicClock.now() >= limit.deadline {
      return fail(.handshakeTimedOut(after: limit.duration))
    }
    attempt { () throws(PeerError) in dtls?.handleTimeout() }
  }

  /// One step of the handshake, and what follows from it.
  private func attempt(_ step: () throws(PeerError) -> Void) {
    do throws(PeerError) {
      try step()
      flush()
      switch (state, dtls?.state) {
      case (.connecting, .connected): try connected()
      case (.connecting, .connecting): schedule(dtls?.timeout)
      case (_, .closed):
        end()
        events(.closed)
      default: break
      }
    } catch {
      fail(error)
    }
  }

  private func connected() throws(PeerError) {
    guard let keys = try dtls?.exportKeys() else { return }
    srtp = try SRTPTransport(keys, repeatsPackets: repeatsPackets)
    state = .connected
    timer?.set(nil)
    events(.connected("\(dtls?.summary ?? "") \(keys.profile)"))
  }

  private func schedule(_ timeout: Duration?) {
    guard let limit else { return }
    timer?.set(min(limit.deadline, timeout.map { MonotonicClock.now() + $0 } ?? limit.deadline))
  }

  private func flush() {
    for datagram in dtls?.takeDatagrams() ?? [] {
      if !datagram.withUnsafeBytes({ transmit($0) }) { drops.count(.notSent) }
    }
  }

  private func fail(_ error: PeerError) {
    dtls?.close()
    flush()  // the alert that tells the other side
    end()
    events(.failed(error))
  }

  private func end() {
    state = .ended
    timer?.set(nil)
    dtls = nil
    srtp = nil
    early = []
  }
}
