import COpenSSL

/// A certificate chain and its private key, as PEM files.
package struct CertificateFiles: Equatable, Sendable {
  package var certificate: String
  package var key: String

  package init(certificate: String, key: String) {
    self.certificate = certificate
    self.key = key
  }

  /// Throws `badCertificate` if a file cannot be read or the key is not the certificate's.
  func check() throws(WebServerError) {
    guard let context = SSL_CTX_new(TLS_server_method()) else { throw .outOfResources }
    defer {
      SSL_CTX_free(context)
      ERR_clear_error()
    }
    guard SSL_CTX_use_certificate_chain_file(context, certificate) == 1 else {
      throw .badCertificate(reason: "\(certificate): no readable certificate (PEM)")
    }
    guard SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) == 1 else {
      throw .badCertificate(reason: "\(key): no readable private key (PEM) of that certificate")
    }
    guard SSL_CTX_check_private_key(context) == 1 else {
      throw .badCertificate(reason: "\(key): the key of another certificate")
    }
  }
}
