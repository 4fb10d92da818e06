import COpenSSL
import SDP

/// A self-signed ECDSA P-256 certificate with the DTLS settings that present it (RFC 8827, 6.5). Making
/// one costs a key pair, so it is made once and shared by every connection.
package final class Certificate: @unchecked Sendable {
  // Safe to share: `SSL_CTX` is reference-counted and locked by OpenSSL, and it is only read after init.
  let context: OpaquePointer
  /// SHA-256, for our descriptions.
  package let fingerprint: Fingerprint

  private static let ciphers = "ECDHE+AESGCM:ECDHE+CHACHA20:!aNULL"
  private static let day = 86_400

  /// Valid from yesterday (clocks differ) for 30 days.
  package init() throws(PeerError) {
    guard let key = otchat_EVP_EC_gen("P-256") else { throw .openSSL("EVP_EC_gen") }
    defer { EVP_PKEY_free(key) }
    guard let certificate = X509_new() else { throw .openSSL("X509_new") }
    defer { X509_free(certificate) }

    var serial: UInt64 = 0
    let random = withUnsafeMutableBytes(of: &serial) { bytes in
      RAND_bytes(bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), Int32(bytes.count))
    }
    guard random == 1 else { throw .openSSL("RAND_bytes") }
    let name = X509_get_subject_name(certificate)
    guard X509_set_version(certificate, 2) == 1,
      ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), serial >> 1 | 1) == 1,
      X509_gmtime_adj(X509_getm_notBefore(certificate), -Self.day) != nil,
      X509_gmtime_adj(X509_getm_notAfter(certificate), 30 * Self.day) != nil,
      X509_set_pubkey(certificate, key) == 1,
      X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, "WebRTC", -1, -1, 0) == 1,
      X509_set_issuer_name(certificate, name) == 1,
      X509_sign(certificate, key, EVP_sha256()) > 0
    else { throw .openSSL("X509") }
    guard let fingerprint = Fingerprint(of: certificate, algorithm: "sha-256") else {
      throw .openSSL("X509_digest")
    }
    self.fingerprint = fingerprint
    context = try Self.makeContext(key: key, certificate: certificate)
  }

  deinit { SSL_CTX_free(context) }

  private static func makeContext(key: OpaquePointer, certificate: OpaquePointer) throws(PeerError)
    -> OpaquePointer
  {
    guard let context = SSL_CTX_new(DTLS_method()) else { throw .openSSL("SSL_CTX_new") }
    SSL_CTX_set_options(context, OTCHAT_SSL_OP_NO_RENEGOTIATION | OTCHAT_SSL_OP_NO_TICKET)
    otchat_SSL_CTX_set_session_cache_off(context)
    // Any certificate passes here; `DTLSTransport` holds it against the description's fingerprint.
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT) { _, _ in 1 }
    guard otchat_SSL_CTX_set_min_proto_version(context, DTLS1_2_VERSION) == 1,
      SSL_CTX_set_cipher_list(context, ciphers) == 1,
      otchat_SSL_CTX_set1_groups_list(context, "X25519:P-256:P-384") == 1,
      SSL_CTX_use_certificate(context, certificate) == 1,
      SSL_CTX_use_PrivateKey(context, key) == 1
    else {
      SSL_CTX_free(context)
      throw .openSSL("SSL_CTX")
    }
    return context
  }
}

extension PeerError {
  /// With the oldest reason in this thread's error queue, which is emptied.
  static func openSSL(_ what: String) -> PeerError {
    .library("OpenSSL \(what): \(openSSLReason() ?? "failed")")
  }

  /// The oldest reason in this thread's error queue, which is emptied.
  static func openSSLReason() -> String? {
    let code = ERR_get_error()
    ERR_clear_error()
    guard code != 0, let reason = ERR_reason_error_string(code) else { return nil }
    return String(cString: reason)
  }
}
