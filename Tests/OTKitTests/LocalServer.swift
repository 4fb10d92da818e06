import Base
import COpenSSL
import Glibc

@testable import OTKit

/// A TCP (and TLS) server on a free loopback port that says what a test tells it to.
final class LocalServer: Sendable {
  let port: Int
  private let listener: Int32
  private let heads = Lock<[String]>([])

  /// The request heads seen so far.
  var requests: [String] { heads.withLock { $0 } }
  var url: String { "http://127.0.0.1:\(port)" }

  /// - Parameter answer: runs on a thread of its own for each connection, with the request's head.
  init(
    certificate: TestCertificate? = nil, _ answer: @escaping @Sendable (LocalConnection, String) -> Void
  ) throws {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var one: Int32 = 1
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, socklen_t(MemoryLayout<Int32>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let status = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
        bind(listener, generic, size) + listen(listener, 16) + getsockname(listener, generic, &size)
      }
    }
    guard status == 0 else { throw Failure() }
    port = Int(UInt16(bigEndian: address.sin_port))
    self.listener = listener
    _ = MediaThread(name: "accept") { [self] in
      while true {
        let descriptor = accept(listener, nil, nil)
        guard descriptor >= 0 else { return }
        _ = MediaThread(name: "connection") {
          guard let connection = LocalConnection(descriptor, certificate) else { return }
          if let head = connection.readHead() {
            self.heads.withLock { $0.append(head) }
            answer(connection, head)
          }
          connection.close()
        }
      }
    }
  }

  struct Failure: Error {}

  func stop() { shutdown(listener, Int32(SHUT_RDWR)) }

  /// Answers every request with these bytes.
  convenience init(bytes: String) throws { try self.init { connection, _ in connection.write(bytes) } }

  /// Answers every request with one status, headers and body.
  convenience init(
    status: Int = 200, headers: [String] = ["Content-Type: application/json"], body: String
  ) throws {
    try self.init(bytes: Self.response(status: status, headers: headers, body: body))
  }

  static func response(status: Int, headers: [String] = [], body: String) -> String {
    let lines =
      ["HTTP/1.1 \(status) Test"] + headers + ["Content-Length: \(body.utf8.count)", "Connection: close"]
    return lines.joined(separator: "\r\n") + "\r\n\r\n" + body
  }
}

/// One connection, used by its thread only.
final class LocalConnection {
  private let descriptor: Int32
  private var tls: OpaquePointer?

  init?(_ descriptor: Int32, _ certificate: TestCertificate?) {
    self.descriptor = descriptor
    guard let certificate else { return }
    // The client may have hung up on a certificate that it does not trust.
    BrokenPipe.ignore()
    tls = SSL_new(certificate.context)
    SSL_set_fd(tls, descriptor)
    guard SSL_accept(tls) == 1 else {
      ERR_clear_error()
      SSL_free(tls)
      Glibc.close(descriptor)
      return nil
    }
  }

  func read(_ count: Int) -> [UInt8]? {
    var bytes = [UInt8](repeating: 0, count: count)
    var filled = 0
    while filled < count {
      let number = bytes.withUnsafeMutableBytes { buffer in
        let rest = buffer.baseAddress.map { $0 + filled }
        return tls == nil
          ? recv(descriptor, rest, count - filled, 0) : Int(SSL_read(tls, rest, Int32(count - filled)))
      }
      guard number > 0 else { return nil }
      filled += number
    }
    return bytes
  }

  func readHead() -> String? {
    var bytes: [UInt8] = []
    while !bytes.suffix(4).elementsEqual("\r\n\r\n".utf8) {
      guard bytes.count < 16384, let byte = read(1) else { return nil }
      // The greeting of TLS, where plain HTTP is spoken, has no line ends.
      if bytes.isEmpty, byte == [0x16] { return "" }
      bytes += byte
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  func write(_ text: String) { write(Array(text.utf8)) }

  /// False once the other side takes nothing more.
  @discardableResult
  func write(_ bytes: [UInt8]) -> Bool {
    bytes.withUnsafeBytes { buffer in
      tls == nil
        ? send(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_NOSIGNAL)) > 0
        : SSL_write(tls, buffer.baseAddress, Int32(buffer.count)) > 0
    }
  }

  func close() {
    if let tls {
      SSL_shutdown(tls)
      SSL_free(tls)
    }
    tls = nil
    Glibc.close(descriptor)
  }
}

// MARK: WebSocket (RFC 6455), as far as tests need it

extension LocalConnection {
  func acceptWebSocket(_ head: String) {
    let key =
      head.split(separator: "\r\n").first { $0.lowercased().hasPrefix("sec-websocket-key:") }?
      .split(separator: " ").last ?? ""
    let digest = Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)
    var hash = [UInt8](repeating: 0, count: 20)
    SHA1(digest, digest.count, &hash)
    var text = [UInt8](repeating: 0, count: 29)
    EVP_EncodeBlock(&text, hash, 20)
    let accept = String(decoding: text.prefix(28), as: UTF8.self)
    write(
      "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        + "Sec-WebSocket-Accept: \(accept)\r\n\r\n")
  }

  /// One frame: opcode and unmasked payload.
  func readFrame() -> (opcode: UInt8, payload: [UInt8])? {
    guard let start = read(2) else { return nil }
    var count = Int(start[1] & 0x7F)
    if count >= 126 {
      guard let more = read(count == 126 ? 2 : 8) else { return nil }
      count = more.reduce(0) { $0 << 8 | Int($1) }
    }
    guard start[1] & 0x80 != 0, let mask = read(4), let payload = count == 0 ? [] : read(count) else {
      return nil
    }
    return (start[0] & 0x0F, payload.enumerated().map { $1 ^ mask[$0 & 3] })
  }

  func writeFrame(opcode: UInt8, final: Bool = true, _ payload: [UInt8]) {
    var bytes: [UInt8] = [opcode | (final ? 0x80 : 0)]
    switch payload.count {
    case ..<126: bytes.append(UInt8(payload.count))
    case ..<65536: bytes += [126, UInt8(payload.count >> 8), UInt8(payload.count & 255)]
    default: bytes += [127] + (0..<8).map { UInt8(truncatingIfNeeded: payload.count >> (56 - 8 * $0)) }
    }
    write(bytes + payload)
  }
}

/// A self-signed certificate for 127.0.0.1, made for this run.
final class TestCertificate: @unchecked Sendable {
  // Safe to share: OpenSSL counts references to a context under its own lock, and it is not changed
  // after init.
  let context: OpaquePointer?
  /// PEM file.
  let path: String

  init() throws {
    let key = otchat_EVP_EC_gen("P-256")
    let certificate = X509_new()
    X509_set_version(certificate, 2)
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1)
    X509_gmtime_adj(X509_getm_notBefore(certificate), -3600)
    X509_gmtime_adj(X509_getm_notAfter(certificate), 3600)
    X509_set_pubkey(certificate, key)
    let name = X509_get_subject_name(certificate)
    X509_NAME_add_entry_by_txt(name, "CN", 0x1001, "otchat test", -1, -1, 0)
    X509_set_issuer_name(certificate, name)
    let alternative = X509V3_EXT_conf_nid(nil, nil, NID_subject_alt_name, "IP:127.0.0.1")
    X509_add_ext(certificate, alternative, -1)
    X509_EXTENSION_free(alternative)
    X509_sign(certificate, key, EVP_sha256())
    context = SSL_CTX_new(TLS_server_method())
    SSL_CTX_use_certificate(context, certificate)
    SSL_CTX_use_PrivateKey(context, key)
    path = "/tmp/otchat-test-\(getpid())-\(UInt32.random(in: 0 ... .max)).pem"
    let file = fopen(path, "w")
    PEM_write_X509(file, certificate)
    fclose(file)
    X509_free(certificate)
    EVP_PKEY_free(key)
  }

  deinit {
    SSL_CTX_free(context)
    unlink(path)
  }
}
