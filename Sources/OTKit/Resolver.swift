import Glibc

/// Names to addresses. Blocks: for threads of our own.
enum Resolver {
  /// Numeric addresses in the order of preference (RFC 6724), at most eight.
  static func addresses(of host: String) -> Result<[String], OpenTokError> {
    var hints = addrinfo()
    hints.ai_family = AF_UNSPEC
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var list: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(host, nil, &hints, &list) == 0 else { return .failure(.hostNotFound(host: host)) }
    defer { freeaddrinfo(list) }
    var addresses: [String] = []
    var next = list
    while let entry = next, addresses.count < 8 {
      if let address = text(entry.pointee.ai_addr, entry.pointee.ai_addrlen), !addresses.contains(address) {
        addresses.append(address)
      }
      next = entry.pointee.ai_next
    }
    return .success(addresses)
  }

  /// In numbers, without the port.
  static func text(_ address: UnsafePointer<sockaddr>, _ length: socklen_t) -> String? {
    var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
    guard getnameinfo(address, length, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0 else {
      return nil
    }
    return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
