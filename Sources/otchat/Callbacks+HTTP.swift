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
      guard let url = ServerURL(url) else { return "its URL is none" }
      var request = OTKit.HTTPRequest(url)
      request.method = "POST"
      request.headers = [("Content-Type", "application/json")]
      request.body = body
      do throws(OpenTokError) {
        let status = try await client.send(request, step: .request).status
        return (200..<300).contains(status) ? nil : "its receiver answers \(status)"
      } catch {
        return reason(error)
      }
    }
  }

  /// Without the URL's path, which may hold a secret.
  private static func reason(_ error: OpenTokError) -> String {
    switch error {
    case .notHTTP: "what answers there does not speak HTTP"
    case .tooManyRedirects: "its receiver redirects, which is not followed"
    case .answerTooLarge: "its receiver's answer is too large"
    case .invalidURL: "its URL is none"
    default: error.message
    }
  }

  /// A user and a password in it would not be sent, so such a one is none.
  static func isURL(_ text: String) -> Bool {
    let hasUser = URLComponents(string: text)?.user != nil
    return !hasUser && ServerURL(text).map { ["http", "https"].contains($0.scheme) } ?? false
  }
}
