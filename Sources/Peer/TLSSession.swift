import Base
import COpenSSL
import Glibc

/// A TLS client on a connected socket that blocks, within its own limits (1.2 or newer, RFC 8446).
struct TLSSession: ~Copyable {
  private let context: OpaquePointer
  private let ssl: OpaquePointer

  deinit {
    ERR_clear_error()
    if SSL_is_init_finished(ssl) == 1 { SSL_shutdown(ssl) }
    SSL_free(ssl)
    SSL_CTX_free(context)
  }

  /// - Throws: if the handshake fails or the certificate is not `host`'s.
  init(_ descriptor: Int32, to host: String, trust: RelayTrust) throws(BlockingSocket.Failure) {
    ERR_clear_error()
    guard let context = SSL_CTX_new(TLS_client_method()) else { throw .init(text: "OpenSSL: SSL_CTX_new") }
    _ = otchat_SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION)
    SSL_CTX_set_default_verify_paths(context)
    if let file = trust.certificateFile { SSL_CTX_load_verify_locations(context, file, nil) }
    SSL_CTX_set_verify(context, trust.insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, nil)
    guard let ssl = SSL_new(context) else {
      SSL_CTX_free(context)
      throw .init(text: "OpenSSL: SSL_new")
    }
    let isAddress = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1
    if !isAddress {
      SSL_set1_host(ssl, host)
      otchat_SSL_set_server_name(ssl, host)
    }
    SSL_set_fd(ssl, descriptor)
    ERR_clear_error()
    guard SSL_connect(ssl) == 1 else {
      let result = SSL_get_verify_result(ssl)
      let reason =
        result == X509_V_OK
        ? PeerError.openSSLReason() ?? "no answer"
        : X509_verify_cert_error_string(Int(result)).map { String(cString: $0) } ?? "certificate \(result)"
      SSL_free(ssl)
      SSL_CTX_free(context)
      throw .init(text: "TLS: \(reason)")
    }
    self.context = context
    self.ssl = ssl
  }

  /// Whether something can be read that poll(2) does not know of.
  var hasPending: Bool { SSL_pending(ssl) > 0 }

  /// Writes everything; false if that is no longer possible.
  borrowing func write(_ bytes: ArraySlice<UInt8>) -> Bool {
    ERR_clear_error()
    return bytes.withUnsafeBytes { SSL_write(ssl, $0.baseAddress, Int32(clamping: $0.count)) } == bytes.count
  }

  /// How many bytes were read; nil at the end.
  borrowing func read(_ buffer: inout [UInt8]) -> Int? {
    ERR_clear_error()
    let count = SSL_read(ssl, &buffer, Int32(clamping: buffer.count))
    return count > 0 ? Int(count) : nil
  }
}
