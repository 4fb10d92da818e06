import Base
import SDP

/// What the transport costs: packets through protect and send, and through receive and unprotect, between
/// two transports on this machine's loopback interface.
package struct TransportBenchmark: Sendable {
  /// Of the network thread, if it did nothing else.
  package let packetsSentPerSecond: Double
  package let packetsReceivedPerSecond: Double
  package let packetsLost: Int
  /// Such as `DTLSv1.2 ECDHE-ECDSA-AES128-GCM-SHA256 aeadAES128GCM`.
  package let association: String

  /// Few enough to fit into the receiving socket's buffer at once.
  private static let batch = 32

  /// - Parameters:
  ///   - packets: to send.
  ///   - size: of each RTP packet before protection, in bytes; 12 to 1400.
  ///   - counterMode: AES-CM with HMAC-SHA1 in place of AES-GCM.
  @NetworkActor
  package static func run(packets: Int, size: Int = 1200, counterMode: Bool = false) async throws(PeerError)
    -> TransportBenchmark
  {
    let pair = try Pair(counterMode: counterMode)
    try pair.start()
    guard await pair.loop(until: { pair.isConnected }) else { throw .iceTimedOut(after: Pair.limit) }

    let count = min(max(size, 12), 1400)
    let buffer = UnsafeMutableRawBufferPointer.allocate(
      byteCount: count + SRTPTransport.tailroom, alignment: 16)
    defer { buffer.deallocate() }
    buffer.initializeMemory(as: UInt8.self, repeating: 0)
    var sending = Duration.zero
    var sent = 0
    let start = MonotonicClock.now()
    while sent < packets {
      let before = MonotonicClock.now()
      for _ in 0..<min(batch, packets - sent) {
        buffer.storeBytes(of: UInt8(0x80), toByteOffset: 0, as: UInt8.self)
        buffer.storeBytes(of: UInt8(96), toByteOffset: 1, as: UInt8.self)
        buffer.storeBytes(of: UInt16(truncatingIfNeeded: sent).bigEndian, toByteOffset: 2, as: UInt16.self)
        buffer.storeBytes(of: UInt32(1).bigEndian, toByteOffset: 8, as: UInt32.self)
        pair.sender?.send(buffer, count: count, isRTCP: false)
        sent += 1
      }
      sending += MonotonicClock.now() - before
      let target = sent
      guard await pair.loop(until: { pair.received >= target }, within: .milliseconds(200)) else { break }
    }
    let receiving = MonotonicClock.now() - start - sending
    pair.close()
    return TransportBenchmark(
      packetsSentPerSecond: Double(sent) / max(sending.seconds, 1e-9),
      packetsReceivedPerSecond: Double(pair.received) / max(receiving.seconds, 1e-9),
      packetsLost: sent - pair.received, association: pair.association)
  }
}

/// Two ends of an encrypted path in one process.
@NetworkActor
private final class Pair {
  static let limit = Duration.seconds(10)

  private(set) var sender: SecureTransport?
  private(set) var received = 0
  private(set) var association = ""
  private var receiver: SecureTransport?
  private var paths: [ICETransport] = []
  private let certificate: Certificate
  private let counterMode: Bool
  private var waiting: (condition: () -> Bool, continuation: CheckedContinuation<Bool, Never>)?
  private var timer: NetworkTimer?

  var isConnected: Bool { sender?.isConnected == true && receiver?.isConnected == true }

  init(counterMode: Bool) throws(PeerError) {
    certificate = try Certificate()
    self.counterMode = counterMode
    paths = [try makePath(0), try makePath(1)]
    sender = makeTransport(0)
    receiver = makeTransport(1)
    timer = NetworkTimer { [weak self] in self?.resume(false) }
  }

  func start() throws(PeerError) {
    for (mine, other) in [(paths[0], paths[1]), (paths[1], paths[0])] {
      _ = mine.setRemote(userFragment: other.userFragment, password: other.password)
    }
    for path in paths { try path.gather() }
  }

  /// Lets the thread work until `condition` holds; false if it does not in time.
  func loop(until condition: @escaping () -> Bool, within limit: Duration = limit) async -> Bool {
    if condition() { return true }
    timer?.set(MonotonicClock.now() + limit)
    return await withCheckedContinuation { waiting = (condition, $0) }
  }

  func close() {
    for path in paths { path.close() }
  }

  private func makePath(_ index: Int) throws(PeerError) -> ICETransport {
    try ICETransport(
      configuration: .init(includesLoopback: true), isControlling: index == 0,
      events: { [weak self] event in self?.path(index, event) },
      received: { [weak self] datagram, now in
        (index == 0 ? self?.sender : self?.receiver)?.receive(datagram, at: now)
      })
  }

  private func makeTransport(_ index: Int) -> SecureTransport {
    SecureTransport(
      certificate: certificate, transmit: { [weak self] in self?.paths[index].send($0) ?? false },
      events: { [weak self] event in
        if case .connected(let association) = event { self?.association = association }
        self?.check()
      },
      packets: { [weak self] _, _ in
        self?.received += 1
        self?.check()
      })
  }

  private func path(_ index: Int, _ event: ICETransport.Event) {
    switch event {
    case .candidate(let text):
      if text.contains("127.0.0.1"), let candidate = try? ICECandidate(parsing: text) {
        paths[1 - index].addRemoteCandidate(candidate)
      }
    case .stateChanged(.connected):
      (index == 0 ? sender : receiver)?.start(
        role: index == 0 ? .client : .server, fingerprints: [certificate.fingerprint],
        repeatsPackets: counterMode, limit: Self.limit)
    default: break
    }
  }

  private func check() {
    if waiting?.condition() == true { resume(true) }
  }

  private func resume(_ result: Bool) {
    timer?.set(nil)
    let continuation = waiting?.continuation
    waiting = nil
    continuation?.resume(returning: result)
  }
}
