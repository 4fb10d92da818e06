import Base
import COpenSSL
import Glibc
import SDP

/// One DTLS 1.2 association (RFC 6347) that agrees on SRTP keys (RFC 5764): no sockets, no timers of its
/// own. Feed it datagrams, take datagrams from it, and call `handleTimeout` when `timeout` has passed.
///
/// Works on memory BIOs, which lose datagram boundaries: what OpenSSL writes is cut at record headers and
/// packed into datagrams of at most `maximumDatagram` bytes.
struct DTLSTransport: ~Copyable {
  enum Role: Sendable {
    case client, server
  }

  enum State: Sendable, Equatable {
    case connecting, connected, closed
  }

  /// Largest datagram sent, in bytes of UDP payload.
  static let maximumDatagram = 1200
  /// Largest datagram taken in; nobody sends handshakes in pieces above the path's MTU.
  static let maximumReceivedDatagram = 8192
  private static let recordHeader = 13

  let role: Role
  private(set) var state = State.connecting
  private var isTired = false
  private let fingerprints: [Fingerprint]
  private let ssl: OpaquePointer
  private let input: OpaquePointer, output: OpaquePointer  // freed with `ssl`

  /// - Parameters:
  ///   - fingerprints: what the other side's description promised; one of them must fit.
  ///   - profiles: preferred first.
  init(
    certificate: Certificate, role: Role, fingerprints: [Fingerprint], profiles: [SRTPProfile]
  ) throws(PeerError) {
    guard let ssl = SSL_new(certificate.context) else { throw .openSSL("SSL_new") }
    // 0 is success here.
    guard SSL_set_tlsext_use_srtp(ssl, profiles.map(\.name).joined(separator: ":")) == 0 else {
      SSL_free(ssl)
      throw .openSSL("SSL_set_tlsext_use_srtp")
    }
    guard let input = BIO_new(BIO_s_mem()), let output = BIO_new(BIO_s_mem()) else {
      SSL_free(ssl)
      throw .openSSL("BIO_new")
    }
    otchat_BIO_retry_when_empty(input)
    otchat_BIO_retry_when_empty(output)
    SSL_set_bio(ssl, input, output)
    SSL_set_options(ssl, OTCHAT_SSL_OP_NO_QUERY_MTU)
    _ = otchat_SSL_set_mtu(ssl, Self.maximumDatagram)
    // 1 s, as RFC 6347 (4.2.4.1) has it, is long for a call. The other side repeats nothing of its own
    // accord while it waits for us, so a lost flight costs one of these.
    DTLS_set_timer_cb(ssl) { _, last in last == 0 ? 200_000 : min(last * 2, 1_500_000) }
    switch role {
    case .client: SSL_set_connect_state(ssl)
    case .server: SSL_set_accept_state(ssl)
    }
    self.role = role
    self.fingerprints = fingerprints
    self.ssl = ssl
    self.input = input
    self.output = output
  }

  deinit { SSL_free(ssl) }

  /// Writes the first flight of a client.
  mutating func start() throws(PeerError) { try handshake() }

  /// Takes in one datagram. Datagrams that make no sense are ignored; false if this one was refused unread.
  mutating func receive(_ datagram: UnsafeRawBufferPointer) throws(PeerError) -> Bool {
    guard state != .closed, datagram.count >= Self.recordHeader,
      datagram.count <= Self.maximumReceivedDatagram
    else { return false }
    BIO_write(input, datagram.baseAddress, Int32(datagram.count))
    if state == .connecting { try handshake() }
    if state == .connected { readApplicationData() }
    // Each datagram stands alone: what OpenSSL left of a broken one must not be glued to the next.
    otchat_BIO_reset(input)
    return true
  }

  /// Time until `handleTimeout` is due; nil when nothing waits for an answer.
  var timeout: Duration? {
    var left = timeval()
    guard state == .connecting, !isTired, otchat_DTLSv1_get_timeout(ssl, &left) == 1 else { return nil }
    return .seconds(Int64(left.tv_sec)) + .microseconds(Int64(left.tv_usec))
  }

  /// Sends the last flight again; OpenSSL does so twelve times, which takes 15 s.
  mutating func handleTimeout() {
    guard state == .connecting else { return }
    ERR_clear_error()
    if otchat_DTLSv1_handle_timeout(ssl) < 0 { isTired = true }
    ERR_clear_error()
  }

  /// Says goodbye (close_notify) if the other side may think that the association stands.
  mutating func close() {
    if state != .closed, SSL_is_init_finished(ssl) == 1 {
      ERR_clear_error()
      SSL_shutdown(ssl)
      ERR_clear_error()
    }
    state = .closed
  }

  /// Takes everything that is to be sent, datagram by datagram.
  mutating func takeDatagrams() -> [[UInt8]] {
    let pending = BIO_ctrl_pending(output)
    guard pending > 0 else { return [] }
    var bytes = [UInt8](repeating: 0, count: pending)
    let count = Int(BIO_read(output, &bytes, Int32(clamping: pending)))
    guard count > 0 else { return [] }
    var datagrams: [[UInt8]] = []
    var start = 0
    var end = 0
    while end + Self.recordHeader <= count {
      let next = min(end + Self.recordHeader + (Int(bytes[end + 11]) << 8 | Int(bytes[end + 12])), count)
      if next - start > Self.maximumDatagram, end > start {
        datagrams.append(Array(bytes[start..<end]))
        start = end
      }
      end = next
    }
    if end > start { datagrams.append(Array(bytes[start..<end])) }
    return datagrams
  }

  private mutating func handshake() throws(PeerError) {
    ERR_clear_error()
    let result = SSL_do_handshake(ssl)
    if result == 1 {
      try checkFingerprint()
      state = .connected
      return
    }
    switch SSL_get_error(ssl, result) {
    case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return
    default: throw .handshakeFailed(PeerError.openSSLReason() ?? "closed by the other side")
    }
  }

  private func checkFingerprint() throws(PeerError) {
    guard let certificate = SSL_get1_peer_certificate(ssl) else { throw .fingerprintMismatch }
    defer { X509_free(certificate) }
    for expected in fingerprints
    where Fingerprint(of: certificate, algorithm: expected.algorithm) == expected { return }
    throw .fingerprintMismatch
  }

  /// Nobody sends us data by DTLS; reading it answers repeated handshake flights and finds alerts.
  private mutating func readApplicationData() {
    var scratch: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
    while true {
      ERR_clear_error()
      let result = withUnsafeMutableBytes(of: &scratch) { SSL_read(ssl, $0.baseAddress, Int32($0.count)) }
      if result > 0 { continue }
      switch SSL_get_error(ssl, result) {
      case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: break
      default: state = .closed
      }
      ERR_clear_error()
      return
    }
  }

  /// What both sides agreed on, such as `DTLSv1.2 ECDHE-ECDSA-AES128-GCM-SHA256`.
  var summary: String {
    let version = SSL_get_version(ssl).map { String(cString: $0) } ?? "?"
    let cipher = SSL_get_current_cipher(ssl).flatMap { SSL_CIPHER_get_name($0) }.map { String(cString: $0) }
    return "\(version) \(cipher ?? "?")"
  }

  /// The SRTP keys of a connected association (RFC 5764, 4.2).
  func exportKeys() throws(PeerError) -> SRTPKeys {
    guard let selected = SSL_get_selected_srtp_profile(ssl),
      let profile = SRTPProfile(rawValue: selected.pointee.id)
    else { throw .noProtectionProfile }
    let (key, salt) = (profile.keySize, profile.saltSize)
    var material = [UInt8](repeating: 0, count: 2 * (key + salt))
    let label = "EXTRACTOR-dtls_srtp"
    guard
      SSL_export_keying_material(ssl, &material, material.count, label, label.utf8.count, nil, 0, 0) == 1
    else { throw .openSSL("SSL_export_keying_material") }
    // client key, server key, client salt, server salt
    let client = Array(material[0..<key] + material[2 * key..<2 * key + salt])
    let server = Array(material[key..<2 * key] + material[2 * key + salt..<2 * key + 2 * salt])
    return role == .client
      ? SRTPKeys(profile: profile, local: client, remote: server)
      : SRTPKeys(profile: profile, local: server, remote: client)
  }
}
