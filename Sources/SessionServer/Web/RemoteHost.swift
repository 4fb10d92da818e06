import Glibc

/// Where a connection comes from, as far as it can be counted: of IPv6 addresses the first half, since a host
/// can take as many as it likes of the second.
struct RemoteHost: Hashable, Sendable {
  /// Of an address of another kind: none.
  private let bytes: [UInt8]

  init(_ storage: sockaddr_storage) { self.init(address: SocketAddress.parts(of: storage)?.address ?? []) }

  /// - Parameter address: 4 or 16 bytes, in network order.
  init(address: [UInt8]) {
    // Those of a link have the first half in common (fe80::/64).
    let isLinkLocal = address.starts(with: [0xFE, 0x80])
    isLoopback =
      address.count == 4 ? address[0] == 127 : address == [UInt8](repeating: 0, count: 15) + [1]
    bytes = address.count == 16 && !isLinkLocal && !isLoopback ? Array(address.prefix(8)) : address
  }

  /// Of this machine: its own programs, and a proxy that stands before the server.
  let isLoopback: Bool
}
