/// Scheme, host and port by which a client reaches the server: what goes into the URLs it is given.
struct PublicAddress: Equatable, Sendable {
  var isSecure: Bool
  /// Host, with the port if it is not the scheme's own one.
  var authority: String

  init(isSecure: Bool, authority: String) {
    self.isSecure = isSecure
    self.authority = authority
  }

  /// From `--public-url`; nil if it is not `http(s)://HOST[:PORT]`, with or without a slash at the end.
  init?(url: String) {
    let isSecure: Bool
    let rest: Substring
    if url.lowercased().hasPrefix("https://") {
      (isSecure, rest) = (true, url.dropFirst(8))
    } else if url.lowercased().hasPrefix("http://") {
      (isSecure, rest) = (false, url.dropFirst(7))
    } else {
      return nil
    }
    let authority = rest.last == "/" ? rest.dropLast() : rest
    guard Self.isAuthority(authority) else { return nil }
    self.init(isSecure: isSecure, authority: String(authority))
  }

  /// As the client says in its `Host` header; nil if it says none or nonsense.
  init?(request: HTTPRequest) {
    guard let host = request.header("host"), Self.isAuthority(host) else { return nil }
    // The native SDK always names the port, also the usual one.
    let usualPort = request.isSecure ? ":443" : ":80"
    let authority = host.hasSuffix(usualPort) ? String(host.dropLast(usualPort.count)) : host
    self.init(isSecure: request.isSecure, authority: authority)
  }

  var httpURL: String { (isSecure ? "https://" : "http://") + authority }
  var messagingURL: String { (isSecure ? "wss://" : "ws://") + authority + "/rumorwebsocketsv2" }

  /// The host alone, an IPv6 address without its brackets.
  var hostName: String {
    if authority.first == "[" { return String(authority.dropFirst().prefix { $0 != "]" }) }
    return String(authority.prefix { $0 != ":" })
  }

  /// An authority of a host and a port as it may be put into a URL.
  static func authority(host: String, port: Int) -> String {
    (host.contains(":") ? "[\(host)]" : host) + ":\(port)"
  }

  /// It goes into answers, so nothing but names, addresses and ports.
  private static func isAuthority(_ text: some StringProtocol) -> Bool {
    !text.isEmpty && text.utf8.count <= 300
      && text.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"),
          UInt8(ascii: ":"), UInt8(ascii: "["), UInt8(ascii: "]"):
          true
        default: false
        }
      }
  }
}
