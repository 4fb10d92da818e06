import COpenSSL
import Glibc

/// A TLS certificate of our own making, kept in the state directory (`tls-cert.pem`, `tls-key.pem`).
enum SelfSignedCertificate {
  private static let certificateFile = "tls-cert.pem"
  private static let keyFile = "tls-key.pem"
  /// Browsers take no longer ones, even when told to trust them.
  private static let days = 800

  /// The kept certificate, made anew if there is none, it is not for `host`, or it ends within a month.
  static func kept(
    in directory: StateDirectory, host: String
  ) throws(SessionServerError) -> CertificateFiles {
    let files = CertificateFiles(
      certificate: directory.file(certificateFile), key: directory.file(keyFile))
    if let pem = try directory.read(certificateFile), try directory.read(keyFile) != nil,
      isGood(pem, host: host), (try? files.check()) != nil
    {
      return files
    }
    guard let made = make(host: host) else {
      throw .state(path: files.certificate, reason: "the certificate cannot be made")
    }
    _ = try directory.write(keyFile, made.key, replaces: true)
    _ = try directory.write(certificateFile, made.certificate, replaces: true)
    return files
  }

  private static func isGood(_ pem: [UInt8], host: String) -> Bool {
    guard let input = BIO_new_mem_buf(pem, Int32(pem.count)) else { return false }
    defer { BIO_free(input) }
    guard let certificate = PEM_read_bio_X509(input, nil, nil, nil) else {
      ERR_clear_error()
      return false
    }
    defer { X509_free(certificate) }
    var inAMonth = time(nil) + 30 * 86400
    guard X509_cmp_time(X509_get0_notAfter(certificate), &inAMonth) > 0 else { return false }
    return isAddress(host)
      ? X509_check_ip_asc(certificate, host, 0) == 1 : X509_check_host(certificate, host, 0, 0, nil) == 1
  }

  /// An ECDSA P-256 certificate for `host`, this machine's name and loopback, and its key, as PEM.
  static func make(host: String) -> (certificate: [UInt8], key: [UInt8])? {
    guard let key = otchat_EVP_EC_gen("P-256"), let certificate = X509_new() else { return nil }
    defer {
      X509_free(certificate)
      EVP_PKEY_free(key)
    }
    X509_set_version(certificate, 2)
    let serial = X509_get_serialNumber(certificate)
    ASN1_INTEGER_set_uint64(serial, UInt64.random(in: 1...UInt64(Int64.max)))
    X509_gmtime_adj(X509_getm_notBefore(certificate), -86400)
    X509_gmtime_adj(X509_getm_notAfter(certificate), days * 86400)
    X509_set_pubkey(certificate, key)
    let name = X509_get_subject_name(certificate)
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, "otchat", -1, -1, 0)
    X509_set_issuer_name(certificate, name)
    let extensions = [
      (NID_subject_alt_name, alternativeNames(host)), (NID_basic_constraints, "critical,CA:FALSE"),
      (NID_key_usage, "critical,digitalSignature"), (NID_ext_key_usage, "serverAuth"),
    ]
    for (identifier, value) in extensions {
      guard let entry = X509V3_EXT_conf_nid(nil, nil, identifier, value) else { return nil }
      X509_add_ext(certificate, entry, -1)
      X509_EXTENSION_free(entry)
    }
    guard X509_sign(certificate, key, EVP_sha256()) > 0 else { return nil }
    let certificatePEM = pem { PEM_write_bio_X509($0, certificate) }
    let keyPEM = pem { PEM_write_bio_PrivateKey($0, key, nil, nil, 0, nil, nil) }
    guard let certificatePEM, let keyPEM else { return nil }
    return (certificatePEM, keyPEM)
  }

  private static func alternativeNames(_ host: String) -> String {
    var names = ["localhost", "127.0.0.1", "::1"]
    var buffer = [CChar](repeating: 0, count: 256)
    if gethostname(&buffer, buffer.count - 1) == 0 {
      names.append(String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self))
    }
    names.append(host)
    // What is neither name nor address would change the meaning of the list.
    let usable = names.filter { name in
      !name.isEmpty && name.utf8.count <= 253
        && name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-.:_*".contains($0)) }
    }
    return usable.map { (isAddress($0) ? "IP:" : "DNS:") + $0 }.joined(separator: ",")
  }

  private static func isAddress(_ host: String) -> Bool {
    var bytes = in6_addr()
    return inet_pton(AF_INET, host, &bytes) == 1 || inet_pton(AF_INET6, host, &bytes) == 1
  }

  private static func pem(_ write: (OpaquePointer?) -> Int32) -> [UInt8]? {
    guard let output = BIO_new(BIO_s_mem()) else { return nil }
    defer { BIO_free(output) }
    guard write(output) == 1 else { return nil }
    var bytes = [UInt8](repeating: 0, count: 16 << 10)
    let count = BIO_read(output, &bytes, Int32(bytes.count))
    return count > 0 ? Array(bytes[..<Int(count)]) : nil
  }
}
