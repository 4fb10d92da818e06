import Base
import COpenSSL
import Glibc
import Testing

/// A plain TCP or TLS client, blocking with a time limit, that sees the very bytes.
///
/// Unchecked, as each is used by one thread at a time: a test, or a thread that the test waits for.
final class LoopbackClient: @unchecked Sendable {
  let descriptor: Int32
  private var received: [UInt8] = []
  private var tls: OpaquePointer?
  private var context: OpaquePointer?

  struct Failure: Error { var what: String }

  /// - Parameter receiveBuffer: bytes of the socket's receive buffer, small for a slow reader.
  init(port: Int, receiveBuffer: Int32? = nil) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    if var size = receiveBuffer {
      setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
    }
    var on: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
    var limit = timeval(tv_sec: 60, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let status = withUnsafeBytes(of: &address) { bytes in
      bytes.withMemoryRebound(to: sockaddr.self) {
        connect(descriptor, $0.baseAddress, socklen_t(bytes.count))
      }
    }
    guard status == 0 else { throw Failure(what: "connect: \(String(cString: strerror(errno)))") }
  }

  deinit {
    if let tls { SSL_free(tls) }
    if let context { SSL_CTX_free(context) }
    close(descriptor)
  }

  /// Speaks TLS from now on, without looking at the certificate; its subject's SHA-256 comes back.
  func startTLS(maximumVersion: Int32 = TLS1_3_VERSION) throws {
    guard let context = SSL_CTX_new(TLS_client_method()) else { throw Failure(what: "SSL_CTX_new") }
    self.context = context
    _ = SSL_CTX_ctrl(context, SSL_CTRL_SET_MAX_PROTO_VERSION, Int(maximumVersion), nil)
    guard let tls = SSL_new(context), SSL_set_fd(tls, descriptor) == 1 else { throw Failure(what: "SSL_new") }
    self.tls = tls
    guard SSL_connect(tls) == 1 else { throw Failure(what: "TLS handshake") }
  }

  func send(_ text: String) throws { try send([UInt8](text.utf8)) }

  func send(_ bytes: [UInt8]) throws {
    var sent = 0
    while sent < bytes.count {
      let rest = Array(bytes[sent...])
      let count: Int
      if let tls {
        count = Int(SSL_write(tls, rest, Int32(rest.count)))
      } else {
        count = Glibc.send(descriptor, rest, rest.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { throw Failure(what: "send: \(String(cString: strerror(errno)))") }
      sent += count
    }
  }

  /// Exactly `count` bytes.
  func receive(_ count: Int) throws -> [UInt8] {
    while received.count < count {
      guard try fill() else { throw Failure(what: "closed after \(received.count) of \(count) bytes") }
    }
    defer { received.removeFirst(count) }
    return Array(received[..<count])
  }

  /// Up to and with the end of the headers.
  func receiveHead() throws -> String {
    let mark = [UInt8]("\r\n\r\n".utf8)
    while true {
      if let end = received.indices.first(where: { received[$0...].starts(with: mark) }) {
        return String(decoding: try receive(end + 4), as: UTF8.self)
      }
      guard try fill() else { throw Failure(what: "closed inside the headers") }
    }
  }

  /// Everything until the other side closes.
  func receiveAll() throws -> [UInt8] {
    while try fill() {}
    defer { received = [] }
    return received
  }

  /// Closes with a reset: what a lost network looks like.
  func reset() {
    var linger = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
    shutdown(descriptor, Int32(SHUT_RD))
    var address = sockaddr()
    address.sa_family = sa_family_t(AF_UNSPEC)
    // Connecting to "nothing" drops the connection at once, the descriptor stays until deinit.
    connect(descriptor, &address, socklen_t(MemoryLayout<sockaddr>.size))
  }

  /// False at the end of the stream.
  private func fill() throws -> Bool {
    var buffer = [UInt8](repeating: 0, count: 64 << 10)
    let count = buffer.withUnsafeMutableBytes { bytes in
      if let tls { return Int(SSL_read(tls, bytes.baseAddress, Int32(bytes.count))) }
      return recv(descriptor, bytes.baseAddress, bytes.count, 0)
    }
    if count > 0 {
      received += buffer[..<count]
      return true
    }
    if tls != nil || count == 0 || errno == ECONNRESET { return false }
    throw Failure(what: "receive: \(String(cString: strerror(errno)))")
  }
}

/// Whether large messages are equal: a failed `#expect` on the arrays themselves would look for the
/// smallest difference for hours.
func isSame(_ left: [UInt8], _ right: [UInt8]) -> Bool { left == right }

/// What came back for a request.
struct Answer {
  var status: Int
  var headers: [String: String]
  var body: [UInt8]
  var text: String { String(decoding: body, as: UTF8.self) }
}

extension LoopbackClient {
  /// One request on this connection.
  func request(
    _ method: String, _ path: String, headers: [String: String] = [:], body: [UInt8]? = nil
  ) throws -> Answer {
    var head = "\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    for (name, value) in headers.sorted(by: { $0.key < $1.key }) { head += "\(name): \(value)\r\n" }
    if let body { head += "Content-Length: \(body.count)\r\n" }
    try send([UInt8]((head + "\r\n").utf8) + (body ?? []))
    return try answer(hasBody: method != "HEAD")
  }

  func answer(hasBody: Bool = true) throws -> Answer {
    let lines = try receiveHead().split(separator: "\r\n")
    let words = lines[0].split(separator: " ")
    guard words.count >= 2, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]) else {
      throw Failure(what: "status line \(lines[0])")
    }
    var headers: [String: String] = [:]
    for line in lines.dropFirst() {
      let parts = line.split(separator: ":", maxSplits: 1)
      headers[parts[0].lowercased()] = parts.count > 1 ? String(parts[1].drop { $0 == " " }) : ""
    }
    let count = hasBody ? Int(headers["content-length"] ?? "0") ?? 0 : 0
    return Answer(status: status, headers: headers, body: try receive(count))
  }
}
