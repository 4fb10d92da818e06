/// OpenSSL's verification results (x509_vfy.h) in words that say what to do about it.
enum CertificateProblem {
  /// Whether TLS ended because the other side sent something else: OpenSSL says so in its error's text.
  static func isNoTLS(_ text: String) -> Bool {
    let text = text.lowercased()
    return ["wrong version number", "http request", "packet length too long", "record layer failure"]
      .contains { text.contains($0) }
  }

  static func text(_ result: Int) -> String {
    switch result {
    // libcurl compares the name itself and leaves its own 1 behind.
    case 1, 62, 63, 64: "its certificate is for another name"
    case 2, 20, 21: "its certificate was issued by nobody this machine trusts"
    case 9: "its certificate is not valid yet; is this machine's clock right?"
    case 10: "its certificate has expired"
    case 18: "its certificate is self-signed"
    case 19: "its certificate chain ends in a self-signed one"
    default: "its certificate was not accepted (OpenSSL verification result \(result))"
    }
  }
}
