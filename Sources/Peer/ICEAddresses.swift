import CNice

extension ICETransport {
  nonisolated static func isLoopback(_ address: String) -> Bool {
    address.hasPrefix("127.") || address == "::1"
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
