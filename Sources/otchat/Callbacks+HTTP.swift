import FoundationEssentials
import Glibc
import OTKit
import SessionServer

extension Callbacks {
  /// Posts over HTTP; any 2xx is taken as received. Redirects are not followed.
  static func posting(sessionURL: String?, archiveURL: String?) -> Callbacks {
    var client = HTTPClient()
    client.maximumRedirects = 0
    client.maximumBodySize = 64 << 10
    client.logsPaths = false
    return Callbacks(sessionURL: sessionURL, archiveURL: archiveURL) { [client] url, body in
      guard let url = ServerURL(url) else { return false }
      var request = OTKit.HTTPRequest(url)
      request.method = "POST"
      request.headers = [("Content-Type", "application/json")]
      request.body = body
      do {
        return (200..<300).contains(try await client.send(request, step: .request).status)
      } catch {
        return false
      }
    }
  }

  /// A user and a password in it would not be sent, so such a one is none.
  static func isURL(_ text: String) -> Bool {
    let hasUser = URLComponents(string: text)?.user != nil
    return !hasUser && ServerURL(text).map { ["http", "https"].contains($0.scheme) } ?? false
  }
}
