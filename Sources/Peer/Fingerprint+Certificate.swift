import COpenSSL
import SDP

extension Fingerprint {
  /// Of a certificate (`X509 *`); nil for hashes that no longer prove anything (md5, sha-1) or are unknown.
  init?(of certificate: OpaquePointer, algorithm: String) {
    let digest: OpaquePointer? =
      switch algorithm {
      case "sha-256": EVP_sha256()
      case "sha-384": EVP_sha384()
      case "sha-512": EVP_sha512()
      default: nil
      }
    var bytes = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
    var count: UInt32 = 0
    guard let digest, X509_digest(certificate, digest, &bytes, &count) == 1 else { return nil }
    self.init(algorithm: algorithm, bytes: Array(bytes.prefix(Int(count))))
  }
}
