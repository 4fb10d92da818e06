/// A STUN or TURN server as its URL names it (RFC 7064, RFC 7065).
package struct ICEServerURL: Hashable, Sendable {
  package enum Scheme: String, Sendable {
    case stun, stuns, turn, turns

    var isSecure: Bool { self == .stuns || self == .turns }
    var isRelay: Bool { self == .turn || self == .turns }
  }

  package enum Transport: String, Sendable {
    case udp, tcp
  }

  package let scheme: Scheme
  /// A name or an address; IPv6 without brackets.
  package let host: String
  package let port: UInt16
  package let transport: Transport

  /// Nil for everything that is not `scheme:host[:port][?transport=udp|tcp]`.
  package init?(_ text: some StringProtocol) {
    guard text.utf8.count <= 512, let colon = text.firstIndex(of: ":"),
      let scheme = Scheme(rawValue: text[..<colon].lowercased())
    else { return nil }
    var rest = text[text.index(after: colon)...]
    var transport = scheme.isSecure ? Transport.tcp : .udp
    if let mark = rest.firstIndex(of: "?") {
      let query = rest[rest.index(after: mark)...].split(separator: "=", omittingEmptySubsequences: false)
      guard scheme.isRelay, query.count == 2, query[0] == "transport",
        let named = Transport(rawValue: query[1].lowercased())
      else { return nil }
      transport = named
      rest = rest[..<mark]
    }
    guard let (host, port) = Self.hostAndPort(rest) else { return nil }
    self.scheme = scheme
    self.host = host
    self.port = port ?? (scheme.isSecure ? 5349 : 3478)
    self.transport = transport
  }

  /// Without anything that would be secret.
  package var text: String {
    let host = host.contains(":") ? "[\(host)]" : host
    return "\(scheme):\(host):\(port)" + (scheme == .turn && transport == .tcp ? "?transport=tcp" : "")
  }

  private static func hostAndPort(_ text: some StringProtocol) -> (String, UInt16?)? {
    let host: String
    let tail: String
    if text.first == "[" {
      guard let end = text.firstIndex(of: "]") else { return nil }
      host = String(text[text.index(after: text.startIndex)..<end])
      tail = String(text[text.index(after: end)...])
      guard host.allSatisfy({ $0.isHexDigit || $0 == ":" || $0 == "." }) else { return nil }
    } else {
      let end = text.firstIndex(of: ":") ?? text.endIndex
      host = String(text[..<end])
      tail = String(text[end...])
      guard host.utf8.allSatisfy(isHostCharacter) else { return nil }
    }
    guard !host.isEmpty else { return nil }
    if tail.isEmpty { return (host, nil) }
    guard tail.first == ":", tail.dropFirst().utf8.allSatisfy({ (48...57).contains($0) }),
      let port = UInt16(tail.dropFirst()), port > 0
    else { return nil }
    return (host, port)
  }

  private static func isHostCharacter(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
      true
    default: false
    }
  }
}
