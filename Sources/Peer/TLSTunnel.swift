import Base
import COpenSSL
import Glibc
import Synchronization

/// Which TURN servers are believed to be who they say they are.
package struct RelayTrust: Sendable, Equatable {
  /// A PEM file of certificates that are trusted beside those of the system.
  package var certificateFile: String?
  /// Believe every certificate.
  package var insecure = false

  package init(certificateFile: String? = nil, insecure: Bool = false) {
    self.certificateFile = certificateFile
    self.insecure = insecure
  }
}

/// The way to a TURN server over TLS (`turns:`, RFC 7065): libnice speaks TURN over TCP, but no TLS, so it
/// connects to a port of this machine, from where everything goes on over TLS.
///
/// A thread waits for connections, one more serves each; all end with the tunnel and its last connection.
final class TLSTunnel: Sendable {
  struct Destination: Sendable {
    var host: String
    var port: UInt16
    var trust: RelayTrust
  }

  /// One a local address and transport is what libnice makes.
  private static let maximumConnections = 32
  /// For a connection and for the handshake.
  private static let openingLimit = 5
  /// Without progress in the middle of something, in seconds.
  private static let stallLimit = 30

  let port: UInt16
  private let listener: Int32

  /// Nil if this machine has no port or no thread left.
  ///
  /// - Parameter isIPv6: whether libnice comes from IPv6 addresses.
  init?(to destination: Destination, isIPv6: Bool) {
    let descriptor = socket(
      isIPv6 ? AF_INET6 : AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    guard descriptor >= 0 else { return nil }
    guard let port = Self.listen(descriptor, isIPv6: isIPv6) else {
      close(descriptor)
      return nil
    }
    let connections = Count()
    let accepting = try? MediaThread.start(name: "turns") {
      while let local = Self.accept(descriptor) {
        let isWelcome = connections.value.add(1, ordering: .relaxed).newValue <= Self.maximumConnections
        let serving =
          !isWelcome
          ? nil
          : try? MediaThread.start(name: "turns") {
            Self.serve(local, destination)
            close(local)
            connections.value.subtract(1, ordering: .relaxed)
          }
        guard serving == nil else { continue }
        connections.value.subtract(1, ordering: .relaxed)
        close(local)
      }
      close(descriptor)
    }
    guard accepting != nil else {
      close(descriptor)
      return nil
    }
    // Not before: from here on `deinit` is for it.
    self.port = port
    listener = descriptor
  }

  private final class Count: Sendable {
    let value = Atomic<Int>(0)
  }

  // Wakes the thread, which closes it.
  deinit { shutdown(listener, Int32(SHUT_RDWR)) }

  // MARK: This machine's side

  private static func listen(_ descriptor: Int32, isIPv6: Bool) -> UInt16? {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    return withUnsafeMutableBytes(of: &storage) { bytes -> UInt16? in
      if isIPv6 {
        bytes.bindMemory(to: sockaddr_in6.self)[0].sin6_family = sa_family_t(AF_INET6)
        bytes.bindMemory(to: sockaddr_in6.self)[0].sin6_addr = in6addr_loopback
      } else {
        bytes.bindMemory(to: sockaddr_in.self)[0].sin_family = sa_family_t(AF_INET)
        bytes.bindMemory(to: sockaddr_in.self)[0].sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
      }
      let size = isIPv6 ? MemoryLayout<sockaddr_in6>.size : MemoryLayout<sockaddr_in>.size
      return bytes.withMemoryRebound(to: sockaddr.self) { name -> UInt16? in
        guard let address = name.baseAddress, bind(descriptor, address, socklen_t(size)) == 0,
          Glibc.listen(descriptor, 16) == 0, getsockname(descriptor, address, &length) == 0
        else { return nil }
        // The port is at the same place in both.
        return UInt16(bigEndian: UnsafeRawPointer(address).loadUnaligned(fromByteOffset: 2, as: UInt16.self))
      }
    }
  }

  /// Nil once the tunnel is gone.
  private static func accept(_ listener: Int32) -> Int32? {
    while true {
      let descriptor = Glibc.accept(listener, nil, nil)
      if descriptor >= 0 {
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        return descriptor
      }
      guard errno == EINTR || errno == ECONNABORTED else { return nil }
    }
  }

  private static func serve(_ local: Int32, _ destination: Destination) {
    BlockingSocket.blockBrokenPipes()
    do throws(BlockingSocket.Failure) {
      let remote = try BlockingSocket(
        to: destination.host, port: destination.port, isStream: true, limit: openingLimit)
      let session = try TLSSession(remote.descriptor, to: destination.host, trust: destination.trust)
      for descriptor in [local, remote.descriptor] {
        BlockingSocket.setLimits(descriptor, seconds: stallLimit)
      }
      carry(local, remote.descriptor, session)
    } catch {
      Log.info("ice", "turns: \(destination.host): \(error.text)")
    }
  }

  private static func carry(_ local: Int32, _ remote: Int32, _ session: borrowing TLSSession) {
    var buffer = [UInt8](repeating: 0, count: 16_384)
    while true {
      var ready = [
        pollfd(fd: local, events: Int16(POLLIN), revents: 0),
        pollfd(fd: remote, events: Int16(POLLIN), revents: 0),
      ]
      let isBuffered = session.hasPending
      guard poll(&ready, 2, isBuffered ? 0 : -1) >= 0 || errno == EINTR else { return }
      if ready[0].revents != 0 {
        let count = recv(local, &buffer, buffer.count, 0)
        guard count > 0, session.write(buffer[..<count]) else { return }
      }
      if isBuffered || ready[1].revents != 0 {
        guard let count = session.read(&buffer) else { return }
        var sent = 0
        while sent < count {
          let result = buffer[sent..<count].withUnsafeBytes {
            send(local, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
          }
          guard result > 0 else { return }
          sent += result
        }
      }
    }
  }
}
