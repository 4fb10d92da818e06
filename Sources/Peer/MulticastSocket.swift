import Glibc

/// A UDP socket that has joined an IPv4 group on some interfaces and sends to the group on each of them.
struct MulticastSocket: ~Copyable {
  let descriptor: Int32
  private let group: in_addr
  private let port: UInt16
  private let interfaces: [Int32]

  deinit { close(descriptor) }

  /// Nil if there is no interface to send on or the system refuses.
  ///
  /// - Parameter interfaces: their numbers.
  init?(group: in_addr, port: UInt16, interfaces: [Int32]) {
    let descriptor = socket(
      AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    guard descriptor >= 0 else { return nil }
    // Others on this machine listen on the port too.
    Self.set(descriptor, SOL_SOCKET, SO_REUSEADDR, Int32(1))
    Self.set(descriptor, SOL_SOCKET, SO_REUSEPORT, Int32(1))
    Self.set(descriptor, Int32(IPPROTO_IP), IP_MULTICAST_TTL, Int32(255))
    let joined = interfaces.filter { index in
      Self.set(
        descriptor, Int32(IPPROTO_IP), IP_ADD_MEMBERSHIP,
        ip_mreqn(imr_multiaddr: group, imr_address: in_addr(s_addr: 0), imr_ifindex: index))
    }
    // Without the port answers come to our own one only (RFC 6762, 6.7), which is better than nothing.
    guard !joined.isEmpty, Self.bind(descriptor, port) || Self.bind(descriptor, 0) else {
      close(descriptor)
      return nil
    }
    self.descriptor = descriptor
    self.group = group
    self.port = port
    self.interfaces = joined
  }

  /// Sends to the group, once on each interface; what cannot be sent is lost.
  borrowing func send(_ message: [UInt8]) {
    var address = Self.address(group, port)
    for index in interfaces {
      let outgoing = ip_mreqn(imr_multiaddr: group, imr_address: in_addr(s_addr: 0), imr_ifindex: index)
      guard Self.set(descriptor, Int32(IPPROTO_IP), IP_MULTICAST_IF, outgoing) else { continue }
      withUnsafeBytes(of: &address) { bytes in
        _ = bytes.withMemoryRebound(to: sockaddr.self) {
          sendto(descriptor, message, message.count, 0, $0.baseAddress, socklen_t(bytes.count))
        }
      }
    }
  }

  /// Takes what has come from the group's port, at most 64 datagrams; the rest another time.
  borrowing func receive(_ body: (UnsafeRawBufferPointer) -> Void) {
    withUnsafeTemporaryAllocation(byteCount: 9000, alignment: 8) { buffer in
      for _ in 0..<64 {
        var source = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let count = withUnsafeMutableBytes(of: &source) { bytes in
          bytes.withMemoryRebound(to: sockaddr.self) {
            recvfrom(descriptor, buffer.baseAddress, buffer.count, 0, $0.baseAddress, &length)
          }
        }
        guard count >= 0 else { return }
        if UInt16(bigEndian: source.sin_port) == port {
          body(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        }
      }
    }
  }

  /// The interfaces with an IPv4 address that can multicast; the loopback interface if there is no other.
  static func interfaces() -> [Int32] {
    var list: UnsafeMutablePointer<ifaddrs>?
    guard getifaddrs(&list) == 0 else { return [] }
    defer { freeifaddrs(list) }
    var found: [Int32] = []
    var loopback: [Int32] = []
    var next = list
    while let entry = next?.pointee {
      next = entry.ifa_next
      let flags = Int32(bitPattern: entry.ifa_flags)
      guard entry.ifa_addr?.pointee.sa_family == sa_family_t(AF_INET), flags & Int32(IFF_UP) != 0
      else { continue }
      let index = Int32(bitPattern: if_nametoindex(entry.ifa_name))
      if flags & Int32(IFF_LOOPBACK) != 0 {
        loopback.append(index)
      } else if flags & Int32(IFF_MULTICAST) != 0, !found.contains(index), found.count < 16 {
        found.append(index)
      }
    }
    return found.isEmpty ? Array(loopback.prefix(1)) : found
  }

  @discardableResult
  private static func set(_ descriptor: Int32, _ level: Int32, _ option: Int32, _ value: some BitwiseCopyable)
    -> Bool
  {
    withUnsafeBytes(of: value) {
      setsockopt(descriptor, level, option, $0.baseAddress, socklen_t($0.count)) == 0
    }
  }

  private static func address(_ host: in_addr, _ port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr = host
    return address
  }

  private static func bind(_ descriptor: Int32, _ port: UInt16) -> Bool {
    var address = address(in_addr(s_addr: 0), port)
    return withUnsafeBytes(of: &address) { bytes in
      bytes.withMemoryRebound(to: sockaddr.self) {
        Glibc.bind(descriptor, $0.baseAddress, socklen_t(bytes.count)) == 0
      }
    }
  }
}
