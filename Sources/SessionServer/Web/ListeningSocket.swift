import CLinux
import Glibc

/// A bound and listening TCP socket. libwebsockets could listen itself, but would not say why it failed.
package struct ListeningSocket: ~Copyable, Sendable {
  let descriptor: Int32
  /// The port it got: the one asked for, or a free one if that was 0.
  package let port: Int

  deinit { close(descriptor) }

  /// - Parameter port: 0 takes a free one.
  init(host: String, port: Int) throws(WebServerError) {
    guard let address = try Self.resolve(host, port) else {
      throw .unknownHost(host, reason: "it has no address")
    }
    let descriptor = socket(address.family, Int32(SOCK_STREAM.rawValue), 0)
    guard descriptor >= 0 else { throw .outOfResources }
    var on: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
    let bound = address.bytes.withUnsafeBytes { bytes in
      bytes.withMemoryRebound(to: sockaddr.self) {
        Glibc.bind(descriptor, $0.baseAddress, socklen_t(bytes.count))
      }
    }
    guard bound == 0, listen(descriptor, 128) == 0 else {
      let code = errno
      close(descriptor)
      switch code {
      case EADDRINUSE: throw .addressInUse(host: host, port: port)
      case EACCES, EPERM: throw .permissionDenied(host: host, port: port)
      case EADDRNOTAVAIL: throw .addressNotAvailable(host: host)
      default: throw .cannotListen(host: host, port: port, reason: String(cString: strerror(code)))
      }
    }
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    otchat_set_nonblocking(descriptor, true)
    self.descriptor = descriptor
    self.port = Self.port(of: descriptor) ?? port
  }

  /// A connection that has come, non-blocking.
  enum Accepted {
    case connection(Int32)
    case none
    /// No descriptor is left in this process or system.
    case outOfDescriptors
  }

  borrowing func accept() -> Accepted {
    let connection = Glibc.accept(descriptor, nil, nil)
    guard connection >= 0 else {
      return errno == EMFILE || errno == ENFILE ? .outOfDescriptors : .none
    }
    _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
    otchat_set_nonblocking(connection, true)
    var on: Int32 = 1
    setsockopt(connection, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
    return .connection(connection)
  }

  private static func resolve(
    _ host: String, _ port: Int
  ) throws(WebServerError) -> (family: Int32, bytes: [UInt8])? {
    var hints = addrinfo()
    hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
    hints.ai_family = AF_UNSPEC
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var list: UnsafeMutablePointer<addrinfo>?
    let status = getaddrinfo(host, String(port), &hints, &list)
    guard status == 0 else { throw .unknownHost(host, reason: String(cString: gai_strerror(status))) }
    defer { freeaddrinfo(list) }
    guard let first = list?.pointee, let address = first.ai_addr else { return nil }
    return (first.ai_family, [UInt8](UnsafeRawBufferPointer(start: address, count: Int(first.ai_addrlen))))
  }

  private static func port(of descriptor: Int32) -> Int? {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let status = withUnsafeMutableBytes(of: &storage) { bytes in
      bytes.withMemoryRebound(to: sockaddr.self) { getsockname(descriptor, $0.baseAddress, &length) }
    }
    guard status == 0 else { return nil }
    // The port stands at the same place in IPv4 and IPv6 addresses, in network order.
    return withUnsafeBytes(of: &storage) { Int($0[2]) << 8 | Int($0[3]) }
  }
}
