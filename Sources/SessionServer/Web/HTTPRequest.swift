/// Methods that the server knows; libwebsockets hangs up on any other.
package enum HTTPMethod: String, Sendable {
  case get = "GET"
  case head = "HEAD"
  case post = "POST"
  case put = "PUT"
  case patch = "PATCH"
  case delete = "DELETE"
  case options = "OPTIONS"
}

/// A whole request, its body included.
package struct HTTPRequest: Sendable {
  package var method: HTTPMethod
  /// Decoded, without the query.
  package var path: String
  /// Decoded names and values, in order.
  package var query: [(name: String, value: String)]
  /// The headers that the server asked for, by lower-case name.
  package var headers: [String: String]
  package var body: [UInt8]
  package var isSecure: Bool

  package init(
    method: HTTPMethod, path: String, query: [(name: String, value: String)] = [],
    headers: [String: String] = [:], body: [UInt8] = [], isSecure: Bool = false
  ) {
    self.method = method
    self.path = path
    self.query = query
    self.headers = headers
    self.body = body
    self.isSecure = isSecure
  }

  /// The first value of that name in the query.
  package func query(_ name: String) -> String? { query.first { $0.name == name }?.value }

  /// - Parameter name: in lower case.
  package func header(_ name: String) -> String? { headers[name] }
}
