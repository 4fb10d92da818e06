import CNice

extension ICETransport {
  /// Addresses to make host candidates of. Left to itself libnice uses every address but loopback, and
  /// makes nothing at all on a machine that has only that.
  static func localAddresses(includesLoopback: Bool) -> [NiceAddress] {
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
    return choose(all, includesLoopback: includesLoopback).compactMap { text in
      var address = NiceAddress()
      nice_address_init(&address)
      return nice_address_set_from_string(&address, text) != 0 ? address : nil
    }
  }

  /// Without link-local IPv6, whose scope means nothing to the other side; loopback if asked for or if
  /// there is nothing else.
  static func choose(_ addresses: [String], includesLoopback: Bool) -> [String] {
    let usable = addresses.filter { !$0.lowercased().hasPrefix("fe80:") }
    let isLoopback = { (text: String) in text.hasPrefix("127.") || text == "::1" }
    let others = usable.filter { !isLoopback($0) }
    let chosen = includesLoopback || others.isEmpty ? others + usable.filter(isLoopback) : others
    return Array(chosen.prefix(maximumAddresses))
  }

  /// Such as `host 192.0.2.1:5000` or `relay [2001:db8::1]:5000`.
  nonisolated static func text(_ candidate: UnsafeMutablePointer<NiceCandidate>) -> String {
    var address = candidate.pointee.addr
    var buffer = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN) + 1)
    nice_address_to_string(&address, &buffer)
    let host = String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    let type =
      switch candidate.pointee.type {
      case NICE_CANDIDATE_TYPE_HOST: "host"
      case NICE_CANDIDATE_TYPE_SERVER_REFLEXIVE: "srflx"
      case NICE_CANDIDATE_TYPE_PEER_REFLEXIVE: "prflx"
      default: "relay"
      }
    return "\(type) \(host.contains(":") ? "[\(host)]" : host):\(nice_address_get_port(&address))"
  }
}
