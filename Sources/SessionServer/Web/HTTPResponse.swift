/// A whole response, or one whose body is a file's. CORS headers are added to every one.
package struct HTTPResponse: Sendable {
  package var status: Int
  package var headers: [(name: String, value: String)]
  package var body: [UInt8]
  /// In place of the body: bytes of a file.
  package var file: (body: FileBody, range: Range<Int64>)?

  /// It waits for `WebServer.release`; not before an upgrade.
  package var isHeld = false

  var bodyBytes: Int64 { file.map { Int64($0.range.count) } ?? Int64(body.count) }

  package init(status: Int, headers: [(name: String, value: String)] = [], body: [UInt8] = []) {
    self.status = status
    self.headers = headers
    self.body = body
  }

  package init(status: Int = 200, contentType: String, body: [UInt8]) {
    self.init(status: status, headers: [("Content-Type", contentType)], body: body)
  }

  package static let noContent = HTTPResponse(status: 204)

  /// Without a charset: the Python server SDK takes any other content type for XML.
  package static func json(_ bytes: [UInt8], status: Int = 200) -> HTTPResponse {
    HTTPResponse(status: status, contentType: "application/json", body: bytes)
  }

  /// `{"code": status, "message": …, "error": …}`: what server SDKs and what the sample pages read.
  package static func failure(_ status: Int, _ message: String) -> HTTPResponse {
    var quoted = ""
    for scalar in message.unicodeScalars {
      switch scalar {
      case "\"", "\\": quoted += "\\\(scalar)"
      case _ where scalar.value < 0x20: quoted += " "
      default: quoted.unicodeScalars.append(scalar)
      }
    }
    let text = "{\"code\":\(status),\"message\":\"\(quoted)\",\"error\":\"\(quoted)\"}"
    return .json([UInt8](text.utf8), status: status)
  }
}
