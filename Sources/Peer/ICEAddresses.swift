import CNice

extension ICETransport {
  /// Addresses to make host candidates of. Left to itself libnice uses every address but loopback, and
  /// makes nothing at all on a machine that has only that.
  static func localAddresses(includesLoopback: Bool) -> [String] {
    choose(interfaceAddresses(), includesLoopback: includesLoopback)
  }

  /// Of all interfaces that are up.
  static func interfaceAddresses() -> [String] {
    var all: [String] = []
    let list = nice_interfaces_get_local_ips(1)
    var node = list
    while let current = node {
      if let text = current.pointee.data {
        all.append(String(cString: text.assumingMemoryBound(to: CChar.self)))
        g_free(text)
      }
      node = current.pointee.next
    }
    g_list_free(list)
    return all
  }

  /// Not link-local IPv6, whose scope means nothing to the other side.
  nonisolated static func isUsable(_ address: String) -> Bool { !address.lowercased().hasPrefix("fe80:") }

  nonisolated static func isLoopback(_ address: String) -> Bool {
    address.hasPrefix("127.") || address == "::1"
  }

  /// Loopback if asked for or if there is nothing else.
  static func choose(_ addresses: [String], includesLoopback: Bool) -> [String] {
    let usable = addresses.filter(isUsable)
    let others = usable.filter { !isLoopback($0) }
    let chosen = includesLoopback || others.isEmpty ? others + usable.filter(isLoopback) : others
    return Array(chosen.prefix(maximumAddresses))
  }

  /// Such as `host 192.0.2.1:5000` or `relay [2001:db8::1]:5000`.
  nonisolated static func text(_ candidate: UnsafeMutablePointer<NiceCandidate>) -> String {
    var address = candidate.pointee.addr
    let type =
      switch candidate.pointee.type {
      case NICE_CANDIDATE_TYPE_HOST: "host"
      case NICE_CANDIDATE_TYPE_SERVER_REFLEXIVE: "srflx"
      case NICE_CANDIDATE_TYPE_PEER_REFLEXIVE: "prflx"
      default: "relay"
      }
    return "\(type) \(textWithPort(&address))"
  }

  /// Such as `192.0.2.1:5000` or `[2001:db8::1]:5000`.
  nonisolated static func textWithPort(_ address: inout NiceAddress) -> String {
    let host = text(&address)
    return "\(host.contains(":") ? "[\(host)]" : host):\(nice_address_get_port(&address))"
  }

  /// Without its port.
  nonisolated static func text(_ address: inout NiceAddress) -> String {
    var buffer = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN) + 1)
    nice_address_to_string(&address, &buffer)
    return String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}
