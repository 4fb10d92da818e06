import CLinux

/// One address of this machine, and what Linux says of it.
package struct LocalAddress: Equatable, Sendable {
  /// IPv4, or IPv6 without a scope.
  package var text: String
  package var interface: String
  /// Of interface: `bridge`, `veth`, `tun`, …; empty: a device.
  var kind = ""
  var isLoopback = false
  /// One that is changed after some time, so that it tells little of who has it (RFC 8981).
  var isTemporary = false
  /// For what is under way only (RFC 4862, 5.5.4).
  var isDeprecated = false
  /// Not yet known to be ours alone, or known not to be.
  var isUnready = false
  /// Whether a default route goes out by the interface.
  var hasDefaultRoute = false

  var isIPv6: Bool { text.contains(":") }
  var isLinkLocal: Bool { isLinkLocalIPv6 || text.hasPrefix("169.254.") }
  var isLinkLocalIPv6: Bool { Self.isLinkLocalIPv6(text) }
  /// Of a site's own (RFC 4193).
  var isUniqueLocal: Bool { isIPv6 && (text.hasPrefix("fc") || text.hasPrefix("fd")) }

  static func isLinkLocalIPv6(_ text: String) -> Bool {
    // fe80::/10
    ["fe8", "fe9", "fea", "feb"].contains { text.lowercased().hasPrefix($0) }
  }

  private static let maximum = 256

  /// Of all interfaces that are up; empty if they cannot be found out.
  package static func all() -> [LocalAddress] {
    let found = [otchat_local_address](unsafeUninitializedCapacity: maximum) { buffer, count in
      count = Int(max(0, otchat_local_addresses(buffer.baseAddress, Int32(maximum))))
    }
    return found.filter(\.is_up).map { LocalAddress($0) }
  }

  private init(_ address: otchat_local_address) {
    func string<Characters>(_ characters: Characters) -> String {
      withUnsafeBytes(of: characters) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
    self.init(text: string(address.text), interface: string(address.interface))
    kind = string(address.kind)
    isLoopback = address.is_loopback
    isTemporary = address.is_temporary
    isDeprecated = address.is_deprecated
    isUnready = address.is_unready
    hasDefaultRoute = address.has_default_route
  }

  init(text: String, interface: String) {
    self.text = text
    self.interface = interface
  }
}
