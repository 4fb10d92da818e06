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
    let address = try SocketAddress(host: host, port: port)
    let descriptor = socket(address.family, Int32(SOCK_STREAM.rawValue), 0)
    guard descriptor >= 0 else { throw .outOfResources }
    var on: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
    guard address.bind(descriptor), listen(descriptor, 128) == 0 else {
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
    self.port = SocketAddress.port(of: descriptor) ?? port
  }

  /// A connection that has come, non-blocking.
  enum Accepted {
    case connection(Int32, from: RemoteHost)
    case none
    /// No descriptor is left in this process or system.
    case outOfDescriptors
  }

  borrowing func accept() -> Accepted {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let connection = withUnsafeMutableBytes(of: &storage) { bytes in
      bytes.withMemoryRebound(to: sockaddr.self) { Glibc.accept(descriptor, $0.baseAddress, &length) }
    }
    guard connection >= 0 else {
      return errno == EMFILE || errno == ENFILE ? .outOfDescriptors : .none
    }
    _ = fcntl(connection, F_SETFD, FD_CLOEXEC)
    otchat_set_nonblocking(connection, true)
    var on: Int32 = 1
    setsockopt(connection, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
    return .connection(connection, from: RemoteHost(storage))
  }
}
