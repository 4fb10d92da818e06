import COpenSSL

/// A hash over a certificate as it stands in SDP: `sha-256 AB:CD:…` (RFC 8122, 5).
package struct CertificateFingerprint: Hashable, Sendable {
  /// Hashes that still mean something; md5 and sha-1 do not.
  package enum Algorithm: String, Sendable, CaseIterable {
    case sha256 = "sha-256"
    case sha384 = "sha-384"
    case sha512 = "sha-512"

    fileprivate var digest: OpaquePointer? {
      switch self {
      case .sha256: EVP_sha256()
      case .sha384: EVP_sha384()
      case .sha512: EVP_sha512()
      }
    }

    fileprivate var size: Int {
      switch self {
      case .sha256: 32
      case .sha384: 48
      case .sha512: 64
      }
    }
  }

  package let algorithm: Algorithm
  package let bytes: [UInt8]

  /// Of a certificate (`X509 *`); nil only if OpenSSL fails.
  init?(of certificate: OpaquePointer, _ algorithm: Algorithm) {
    var bytes = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
    var count: UInt32 = 0
    guard X509_digest(certificate, algorithm.digest, &bytes, &count) == 1 else { return nil }
    self.algorithm = algorithm
    self.bytes = Array(bytes.prefix(Int(count)))
  }

  /// - Parameters:
  ///   - algorithm: in any case, such as `SHA-256`; unknown ones give nil.
  ///   - value: pairs of hexadecimal digits joined by colons, of exactly the hash's length.
  package init?(algorithm: some StringProtocol, value: some StringProtocol) {
    guard let algorithm = Algorithm(rawValue: algorithm.lowercased()) else { return nil }
    let pairs = value.split(separator: ":", omittingEmptySubsequences: false)
    guard pairs.count == algorithm.size else { return nil }
    var bytes: [UInt8] = []
    for pair in pairs {
      guard pair.utf8.count == 2, pair.allSatisfy(\.isHexDigit), let byte = UInt8(pair, radix: 16) else {
        return nil
      }
      bytes.append(byte)
    }
    self.algorithm = algorithm
    self.bytes = bytes
  }

  /// Upper-case pairs joined by colons.
  package var value: String {
    let digits = Array("0123456789ABCDEF".utf8)
    var text: [UInt8] = []
    for byte in bytes {
      if !text.isEmpty { text.append(UInt8(ascii: ":")) }
      text.append(digits[Int(byte >> 4)])
      text.append(digits[Int(byte & 15)])
    }
    return String(decoding: text, as: UTF8.self)
  }
}
