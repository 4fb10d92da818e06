/// Finds the handler of a request by method and path. Unknown paths get 404, known paths with another
/// method 405, both as JSON; OPTIONS is the preflight of CORS on every path; HEAD is a GET.
package struct Router {
  /// A request and what stood in the places of `:name` and of a last `*` in the pattern, in order.
  package typealias Handler = (HTTPRequest, [String]) -> HTTPResponse

  private struct Route {
    var methods: [HTTPMethod]
    var pattern: [Substring]
    var handler: Handler
  }

  private var routes: [Route] = []

  package init() {}

  /// - Parameter pattern: `/a/:name/b`; a last `*` takes the rest of the path.
  package mutating func add(_ methods: [HTTPMethod], _ pattern: String, _ handler: @escaping Handler) {
    let segments = pattern.split(separator: "/")
    routes.append(Route(methods: methods, pattern: segments, handler: handler))
  }

  package func answer(_ request: HTTPRequest) -> HTTPResponse {
    if request.method == .options {
      return HTTPResponse(status: 200, headers: [("Access-Control-Max-Age", "86400")])
    }
    let method = request.method == .head ? .get : request.method
    let path = request.path.split(separator: "/", omittingEmptySubsequences: true)
    var allowed: [String] = []
    for route in routes {
      guard let values = Self.match(path, route.pattern) else { continue }
      if route.methods.contains(method) { return route.handler(request, values) }
      allowed += route.methods.map(\.rawValue).filter { !allowed.contains($0) }
    }
    guard !allowed.isEmpty else { return .failure(404, "not found") }
    var response = HTTPResponse.failure(405, "method not allowed")
    response.headers.append(("Allow", (allowed + ["OPTIONS"]).joined(separator: ", ")))
    return response
  }

  private static func match(_ path: [Substring], _ pattern: [Substring]) -> [String]? {
    if pattern.last == "*" {
      return path.count >= pattern.count - 1
        ? match(Array(path.prefix(pattern.count - 1)), pattern.dropLast())
          .map { $0 + [path.dropFirst(pattern.count - 1).joined(separator: "/")] } : nil
    }
    guard path.count == pattern.count else { return nil }
    var values: [String] = []
    for (segment, expected) in zip(path, pattern) {
      if expected.first == ":" {
        values.append(String(segment))
      } else if segment != expected {
        return nil
      }
    }
    return values
  }
}
