import CCurl
import OpenTokProtocol

/// An http, https, ws or wss URL taken apart by libcurl's parser (RFC 3986).
package struct ServerURL: Sendable, Equatable {
  package var scheme: String
  package var host: String
  package var port: Int
  /// Percent-encoded, begins with `/`.
  package var path: String
  /// Percent-encoded, without the `?`; nil if there is none.
  package var query: String?

  /// A text without a scheme is taken as `http` on a loopback host and as `https` elsewhere.
  /// Nil if it is no URL of one of the four schemes, or names no host.
  package init?(_ text: String) {
    let text = String(text.drop { $0.isWhitespace })
    guard !text.isEmpty, let handle = curl_url() else { return nil }
    defer { curl_url_cleanup(handle) }
    let flags = UInt32(CURLU_NON_SUPPORT_SCHEME | CURLU_URLENCODE)
    func parse(_ text: String) -> Bool { curl_url_set(handle, CURLUPART_URL, text, flags) == CURLUE_OK }
    func part(_ part: CURLUPart, _ flags: UInt32 = 0) -> String? {
      var value: UnsafeMutablePointer<CChar>?
      guard curl_url_get(handle, part, &value, flags) == CURLUE_OK, let value else { return nil }
      defer { curl_free(value) }
      return String(cString: value)
    }
    let hasScheme = text.contains("://")
    // One slash is one too few, and no name of a host.
    let beginning = text.prefix { $0 != "/" }.lowercased()
    guard hasScheme || !["http:", "https:", "ws:", "wss:"].contains(beginning) else { return nil }
    guard parse(hasScheme ? text : "https://" + text), let host = part(CURLUPART_HOST), !host.isEmpty,
      var scheme = part(CURLUPART_SCHEME)?.lowercased()
    else { return nil }
    if !hasScheme, Self.isLoopback(host) { scheme = "http" }
    guard let defaultPort = Self.defaultPort(scheme) else { return nil }
    self.scheme = scheme
    self.host = host
    port = part(CURLUPART_PORT).flatMap { Int($0) } ?? defaultPort
    path = part(CURLUPART_PATH) ?? "/"
    query = part(CURLUPART_QUERY)
  }

  private static func defaultPort(_ scheme: String) -> Int? {
    switch scheme {
    case "http", "ws": 80
    case "https", "wss": 443
    default: nil
    }
  }

  private static func isLoopback(_ host: String) -> Bool {
    host == "localhost" || host == "[::1]" || host.hasPrefix("127.")
  }

  package var isLoopback: Bool { Self.isLoopback(host) }
  package var isSecure: Bool { scheme == "https" || scheme == "wss" }

  /// Scheme, host and port.
  package var origin: String {
    port == Self.defaultPort(scheme) ? "\(scheme)://\(host)" : "\(scheme)://\(host):\(port)"
  }

  package var text: String { origin + path + (query.map { "?" + $0 } ?? "") }

  /// For messages: a query may hold an access key, so it is left out.
  package var shown: String { origin + path }

  /// A text that may be no URL, for messages: without what would be a query, a fragment, or a user's name
  /// and password.
  package static func shown(_ text: String) -> String {
    let shown = text.prefix { $0 != "?" && $0 != "#" }
    guard let at = shown.lastIndex(of: "@") else { return String(shown) }
    let scheme = shown.firstRange(of: "://").map { shown[..<$0.upperBound] } ?? ""
    return String(scheme + shown[shown.index(after: at)...])
  }

  /// The host as a resolver wants it: an IPv6 address without its brackets.
  package var hostName: String {
    host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
  }

  /// Path and query: what stands in a request line.
  package var target: String { path + (query.map { "?" + $0 } ?? "") }

  package var segments: [Substring] { path.split(separator: "/") }

  /// This URL with `segments` (percent-encoded here) behind its path; a query is kept.
  package func appending(_ segments: [String]) -> ServerURL {
    var url = self
    while url.path.hasSuffix("/") { url.path.removeLast() }
    for segment in segments { url.path += "/" + Self.percentEncoded(segment) }
    return url
  }

  /// Adds `name=value` (percent-encoded here) to the query.
  package func appendingQuery(_ name: String, _ value: String) -> ServerURL {
    var url = self
    let item = Self.percentEncoded(name) + "=" + Self.percentEncoded(value)
    if let query, !query.isEmpty { url.query = query + "&" + item } else { url.query = item }
    return url
  }

  /// All but the unreserved characters of RFC 3986, 2.3 as `%XX`.
  package static func percentEncoded(_ text: String) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    var bytes: [UInt8] = []
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"):
        bytes.append(byte)
      default:
        bytes += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Of an otchat server's page (`/`, `/test.html`) the `room` in the query, which is taken out of it.
  mutating func takeRoomOfPage() -> String? {
    guard segments.isEmpty || segments.last == "test.html" else { return nil }
    if segments.last == "test.html" { path = String(path.dropLast("/test.html".count)) + "/" }
    var fields = FormEncoding.fields(query ?? "")
    guard let room = fields.first(where: { $0.key == "room" && !$0.value.isEmpty })?.value else { return nil }
    fields.removeAll { $0.key == "room" }
    query = fields.isEmpty ? nil : FormEncoding.text(fields)
    return room
  }

  /// The name in an address that ends in `/room/NAME`.
  package var room: String? {
    guard segments.count >= 2, segments[segments.count - 2] == "room", let name = segments.last else {
      return nil
    }
    // In a path a plus is one.
    return FormEncoding.fields("room=" + name.replacing("+", with: "%2B")).first?.value
  }
}
