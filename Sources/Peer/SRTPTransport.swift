import CSRTP

/// SRTP protection profiles we speak; the raw value is the DTLS number (RFC 5764, 4.1.2; RFC 7714, 14.2).
enum SRTPProfile: UInt, Sendable {
  case aes128CMSHA1_80 = 1
  case aeadAES128GCM = 7

  /// As OpenSSL spells it.
  var name: String {
    switch self {
    case .aes128CMSHA1_80: "SRTP_AES128_CM_SHA1_80"
    case .aeadAES128GCM: "SRTP_AEAD_AES_128_GCM"
    }
  }

  var keySize: Int { 16 }

  var saltSize: Int {
    switch self {
    case .aes128CMSHA1_80: 14
    case .aeadAES128GCM: 12
    }
  }
}

/// Master key and salt of each direction.
struct SRTPKeys: Sendable {
  var profile: SRTPProfile
  var local: [UInt8]
  var remote: [UInt8]
}

/// A libsrtp session for all sources of one direction.
private struct SRTPSession: ~Copyable {
  /// How far back, in packets, a late one is still told from a replay.
  private static let replayWindow: UInt = 1024
  private static let isInitialised = srtp_init() == srtp_err_status_ok

  let handle: srtp_t

  init(
    _ profile: SRTPProfile, masterKey: [UInt8], _ sources: srtp_ssrc_type_t, repeatsPackets: Bool = false
  ) throws(PeerError) {
    guard Self.isInitialised else { throw .library("libsrtp: srtp_init failed") }
    var policy = srtp_policy_t()
    switch profile {
    case .aeadAES128GCM:
      srtp_crypto_policy_set_aes_gcm_128_16_auth(&policy.rtp)
      srtp_crypto_policy_set_aes_gcm_128_16_auth(&policy.rtcp)
    case .aes128CMSHA1_80:
      srtp_crypto_policy_set_rtp_default(&policy.rtp)
      srtp_crypto_policy_set_rtcp_default(&policy.rtcp)
    }
    policy.ssrc.type = sources
    policy.window_size = Self.replayWindow
    policy.allow_repeat_tx = repeatsPackets && profile == .aes128CMSHA1_80 ? 1 : 0
    var session: srtp_t?
    var key = masterKey
    let status = key.withUnsafeMutableBufferPointer { bytes in
      policy.key = bytes.baseAddress  // copied by srtp_create
      return srtp_create(&session, &policy)
    }
    guard status == srtp_err_status_ok, let session else {
      throw .library("libsrtp: srtp_create: \(status.rawValue)")
    }
    handle = session
  }

  deinit { srtp_dealloc(handle) }
}

/// Encrypts and authenticates RTP and RTCP (RFC 3711, RFC 7714) in place, without allocation once a
/// source is known.
struct SRTPTransport: ~Copyable {
  /// Room needed behind a packet: the longest tag and the SRTCP index.
  static let tailroom = 24
  /// Each source costs memory and time in libsrtp; who holds the keys could invent one a packet.
  static let maximumSources = 64

  let profile: SRTPProfile
  private let outbound: SRTPSession
  private let inbound: SRTPSession
  private var sources: [UInt32] = []

  /// - Parameter repeatsPackets: allows to protect a packet number again; ignored for AES-GCM.
  init(_ keys: SRTPKeys, repeatsPackets: Bool = false) throws(PeerError) {
    let outbound = try SRTPSession(
      keys.profile, masterKey: keys.local, ssrc_any_outbound, repeatsPackets: repeatsPackets)
    let inbound = try SRTPSession(keys.profile, masterKey: keys.remote, ssrc_any_inbound)
    profile = keys.profile
    self.outbound = outbound
    self.inbound = inbound
  }

  /// Protects the first `count` bytes of `buffer`, which needs `tailroom` bytes behind them.
  /// - Returns: the protected packet's size; nil if it cannot be sent.
  func protect(_ buffer: UnsafeMutableRawBufferPointer, count: Int, isRTCP: Bool) -> Int? {
    guard count >= 8, buffer.count - count >= Self.tailroom else { return nil }
    var size = Int32(clamping: count)
    let status =
      isRTCP
      ? srtp_protect_rtcp(outbound.handle, buffer.baseAddress, &size)
      : srtp_protect(outbound.handle, buffer.baseAddress, &size)
    return status == srtp_err_status_ok ? Int(size) : nil
  }

  /// What became of a received packet.
  enum Unprotected: Equatable {
    /// Authentic; this many bytes are left of it.
    case packet(Int)
    case dropped(DropReason)
  }

  /// Checks and decrypts `packet` in place; its memory must be aligned to 4 bytes.
  mutating func unprotect(_ packet: UnsafeMutableRawBufferPointer, isRTCP: Bool) -> Unprotected {
    guard packet.count >= (isRTCP ? 8 : 12) else { return .dropped(.malformed) }
    let source = UInt32(
      bigEndian: packet.loadUnaligned(fromByteOffset: isRTCP ? 4 : 8, as: UInt32.self))
    let isKnown = sources.contains(source)
    guard isKnown || sources.count < Self.maximumSources else { return .dropped(.tooManySources) }
    var size = Int32(clamping: packet.count)
    let status =
      isRTCP
      ? srtp_unprotect_rtcp(inbound.handle, packet.baseAddress, &size)
      : srtp_unprotect(inbound.handle, packet.baseAddress, &size)
    switch status {
    case srtp_err_status_ok:
      if !isKnown { sources.append(source) }
      return .packet(Int(size))
    case srtp_err_status_replay_fail, srtp_err_status_replay_old: return .dropped(.replayed)
    case srtp_err_status_auth_fail, srtp_err_status_cipher_fail: return .dropped(.notAuthentic)
    default: return .dropped(.malformed)
    }
  }
}
