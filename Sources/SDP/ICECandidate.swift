/// A candidate address for ICE (RFC 8839, 5.1).
package struct ICECandidate: Equatable, Sendable {
  package enum Kind: String, Sendable {
    case host, srflx, prflx, relay
  }

  /// Bytes behind `candidate:`.
  package static let maximumSize = 1024

  package var foundation: String
  /// 1: RTP, or everything with rtcp-mux; 2: RTCP.
  package var component: UInt16
  /// As it was spelled: `udp`, `UDP`, `tcp`, …
  package var transport: String
  package var priority: UInt32
  /// An IPv4 or IPv6 address, or a name: mDNS names end in `.local`.
  package var address: String
  package var port: UInt16
  package var kind: Kind
  package var relatedAddress: String?
  package var relatedPort: UInt16?
  /// Everything behind: `tcptype`, `generation`, `ufrag`, `network-id`, …, in order.
  package var attributes: [SDPAttribute]

  package init(
    foundation: String, component: UInt16 = 1, transport: String = "udp", priority: UInt32, address: String,
    port: UInt16, kind: Kind, relatedAddress: String? = nil, relatedPort: UInt16? = nil,
    attributes: [SDPAttribute] = []
  ) {
    self.foundation = foundation
    self.component = component
    self.transport = transport
    self.priority = priority
    self.address = address
    self.port = port
    self.kind = kind
    self.relatedAddress = relatedAddress
    self.relatedPort = relatedPort
    self.attributes = attributes
  }

  /// - Parameter text: with or without `a=` and `candidate:` before it.
  package init(parsing text: String) throws(SDPError) {
    var rest = text[...]
    for prefix in ["a=", "candidate:"] where rest.utf8.starts(with: prefix.utf8) {
      rest = Substring(rest.utf8.dropFirst(prefix.utf8.count))
    }
    guard rest.utf8.count <= Self.maximumSize, !rest.unicodeScalars.contains(where: { $0.value < 0x20 })
    else { throw .candidate }
    let words = rest.words
    guard words.count >= 8, words.count % 2 == 0, words[0].utf8.count <= 32,
      let component = UInt16(words[1]), (1...256).contains(component), let priority = UInt32(words[3]),
      words[4].utf8.count <= 255, let port = UInt16(words[5]), words[6] == "typ",
      let kind = Kind(rawValue: String(words[7]))
    else { throw .candidate }
    self.init(
      foundation: String(words[0]), component: component, transport: String(words[2]), priority: priority,
      address: String(words[4]), port: port, kind: kind)
    for index in stride(from: 8, to: words.count, by: 2) {
      let value = String(words[index + 1])
      switch words[index] {
      case "raddr" where relatedAddress == nil && attributes.isEmpty: relatedAddress = value
      case "rport" where relatedPort == nil && attributes.isEmpty:
        guard let port = UInt16(value) else { throw .candidate }
        relatedPort = port
      default: attributes.append(SDPAttribute(String(words[index]), value))
      }
    }
  }

  /// `candidate:…`
  package var text: String { "candidate:" + value }

  /// What stands behind `candidate:`.
  package var value: String {
    var words = [
      foundation, "\(component)", transport, "\(priority)", address, "\(port)", "typ", kind.rawValue,
    ]
    if let relatedAddress { words += ["raddr", relatedAddress] }
    if let relatedPort { words += ["rport", "\(relatedPort)"] }
    for attribute in attributes { words += [attribute.name, attribute.value] }
    return words.joined(separator: " ")
  }

  package subscript(_ name: String) -> String? { attributes.first { $0.name == name }?.value }

  package var isUDP: Bool { transport.lowercased() == "udp" }
  package var isTCP: Bool { transport.lowercased() == "tcp" }
  /// `active`, `passive` or `so` (RFC 6544).
  package var tcpType: String? { self["tcptype"] }
  /// A name in place of a host address, to be resolved in the local network.
  package var isMDNS: Bool { address.lowercased().hasSuffix(".local") }
}
