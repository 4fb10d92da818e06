import Glibc

/// An address to bind to.
struct SocketAddress {
  let family: Int32
  private let bytes: [UInt8]

  /// The first address of a host's name.
  init(host: String, port: Int) throws(WebServerError) {
    var hints = addrinfo()
    hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV
    hints.ai_family = AF_UNSPEC
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var list: UnsafeMutablePointer<addrinfo>?
    let status = getaddrinfo(host, String(port), &hints, &list)
    guard status == 0 else { throw .unknownHost(host, reason: String(cString: gai_strerror(status))) }
    defer { freeaddrinfo(list) }
    guard let first = list?.pointee, let address = first.ai_addr else {
      throw .unknownHost(host, reason: "it has no address")
    }
    family = first.ai_family
    bytes = [UInt8](UnsafeRawBufferPointer(start: address, count: Int(first.ai_addrlen)))
  }

  /// False leaves the reason in `errno`.
  func bind(_ descriptor: Int32) -> Bool {
    bytes.withUnsafeBytes { bytes in
      bytes.withMemoryRebound(to: sockaddr.self) { name in
        Glibc.bind(descriptor, name.baseAddress, socklen_t(bytes.count)) == 0
      }
    }
  }

  /// The port that a descriptor is bound to.
  static func port(of descriptor: Int32) -> Int? {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let status = withUnsafeMutableBytes(of: &storage) { bytes in
      bytes.withMemoryRebound(to: sockaddr.self) { getsockname(descriptor, $0.baseAddress, &length) }
    }
    return status == 0 ? parts(of: storage).map { Int($0.port) } : nil
  }

  /// The bytes of an IPv4 or IPv6 address, in network order, and its port.
  static func parts(of storage: sockaddr_storage) -> (address: [UInt8], port: UInt16)? {
    withUnsafeBytes(of: storage) { bytes in
      // The port stands at the same place in both.
      let port = UInt16(bytes[2]) << 8 | UInt16(bytes[3])
      switch Int32(storage.ss_family) {
      case AF_INET: return (Array(bytes[4..<8]), port)
      case AF_INET6:
        let address = Array(bytes[8..<24])
        // A socket for both families sees IPv4 addresses as ::ffff:a.b.c.d (RFC 4291, 2.5.5.2).
        let isIPv4 = address.starts(with: [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF])
        return (isIPv4 ? Array(address.suffix(4)) : address, port)
      default: return nil
      }
    }
  }

  /// An address of this machine that others can reach it by: of the first interface that is up and no
  /// loopback, IPv4 before IPv6. Nil if there is none.
  static func reachable() -> String? {
    var list: UnsafeMutablePointer<ifaddrs>?
    guard getifaddrs(&list) == 0 else { return nil }
    defer { freeifaddrs(list) }
    var found: [Int32: String] = [:]
    var next = list
    while let entry = next {
      next = entry.pointee.ifa_next
      let flags = entry.pointee.ifa_flags
      guard flags & UInt32(IFF_UP) != 0, flags & UInt32(IFF_LOOPBACK) == 0,
        let name = entry.pointee.ifa_addr
      else { continue }
      let family = Int32(name.pointee.sa_family)
      let size = family == AF_INET ? MemoryLayout<sockaddr_in>.size : MemoryLayout<sockaddr_in6>.size
      guard family == AF_INET || family == AF_INET6, found[family] == nil else { continue }
      var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
      guard
        getnameinfo(name, socklen_t(size), &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0
      else { continue }
      let host = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
      // A link-local address needs a zone, which no URL can carry.
      if !host.contains("%") { found[family] = host }
    }
    return found[AF_INET] ?? found[AF_INET6]
  }
}
