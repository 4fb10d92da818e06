import CLinux
import Glibc

/// A bound, non-blocking UDP socket.
struct DatagramSocket: ~Copyable {
  let descriptor: Int32

  deinit { close(descriptor) }

  /// Nil if the address cannot be had.
  init?(host: String, port: Int) {
    guard let address = try? SocketAddress(host: host, port: port) else { return nil }
    let descriptor = socket(address.family, Int32(SOCK_DGRAM.rawValue), 0)
    guard descriptor >= 0 else { return nil }
    guard address.bind(descriptor) else {
      close(descriptor)
      return nil
    }
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    otchat_set_nonblocking(descriptor, true)
    self.descriptor = descriptor
  }

  /// Takes the datagrams that have come and sends what `answer` makes of them.
  borrowing func serve(_ answer: (_ datagram: [UInt8], _ address: [UInt8], _ port: UInt16) -> [UInt8]?) {
    for _ in 0..<64 {
      var buffer = [UInt8](repeating: 0, count: 1500)
      var storage = sockaddr_storage()
      var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
      withUnsafeMutableBytes(of: &storage) { bytes in
        bytes.withMemoryRebound(to: sockaddr.self) { name in
          let count = recvfrom(descriptor, &buffer, buffer.count, 0, name.baseAddress, &length)
          buffer.removeLast(buffer.count - max(0, count))
        }
      }
      guard !buffer.isEmpty else { return }
      guard let (address, port) = SocketAddress.parts(of: storage),
        let reply = answer(buffer, address, port)
      else { continue }
      withUnsafeBytes(of: &storage) { bytes in
        bytes.withMemoryRebound(to: sockaddr.self) { name in
          _ = sendto(descriptor, reply, reply.count, 0, name.baseAddress, length)
        }
      }
    }
  }
}
