import Base
import OpenTokProtocol

/// Asks an OpenTok API where a session's signalling is (`GET /session/ID?extended=true`).
package struct SessionInfoRequest: Sendable {
  package var credentials: Credentials
  /// The id under which the connection will be made.
  package var connectionID: String
  package var trust: TLSTrust
  package var timeout: Duration
  /// Waited before each further attempt when the server is down or overloaded.
  package var retryDelays: [Duration] = [.milliseconds(600), .milliseconds(600)]

  package init(credentials: Credentials, connectionID: String, trust: TLSTrust, timeout: Duration) {
    self.credentials = credentials
    self.connectionID = connectionID
    self.trust = trust
    self.timeout = timeout
  }

  /// The public APIs: the second knows application ids (UUIDs), the first numeric keys.
  static func defaultAPI(forKey key: String) -> String {
    key.contains("-") ? "https://video.api.vonage.com" : "https://api.opentok.com"
  }

  package func send() async throws(OpenTokError) -> SessionInfo {
    let api = credentials.apiURL ?? Self.defaultAPI(forKey: credentials.apiKey)
    guard let base = ServerURL(api), base.scheme == "http" || base.scheme == "https" else {
      throw .invalidURL(ServerURL.shown(api))
    }
    var request = HTTPRequest(
      base.appending(["session", credentials.sessionID]).appendingQuery("extended", "true"))
    request.headers = [
      ("Accept", "application/json"), ("X-TB-VERSION", "1"), ("X-TB-CLIENT-VERSION", ClientVersion.text),
      ("X-TB-CONNECTIONID", connectionID),
    ]
    request.secretHeaders = [("X-OPENTOK-AUTH", credentials.token)]
    var delays = retryDelays[...]
    while true {
      let response = try await HTTPClient(trust: trust, timeout: timeout).send(request, step: .sessionInfo)
      if response.status >= 500, let delay = delays.popFirst() {
        do { try await Task.sleep(for: delay) } catch { throw .cancelled }
        continue
      }
      return try parse(response)
    }
  }

  package func parse(_ response: HTTPResponse) throws(OpenTokError) -> SessionInfo {
    guard (200..<300).contains(response.status) else { throw refusal(response.status, "", response.url) }
    guard let json = try? JSON(parsing: response.body) else { throw .notJSON(url: response.url.shown) }
    let info: SessionInfo
    do {
      info = try SessionInfo(json)
    } catch {
      switch error {
      case .refused(let code, let message): throw refusal(code, message, response.url)
      case .malformed(let missing): throw .missingKeys(url: response.url.shown, keys: [missing])
      }
    }
    guard info.partnerID == credentials.apiKey else { throw .sessionOfOtherKey }
    guard info.sessionID == credentials.sessionID else {
      throw .unexpectedAnswer(step: .sessionInfo, detail: "it describes another session")
    }
    return info
  }

  private func refusal(_ code: Int, _ reason: String, _ url: ServerURL) -> OpenTokError {
    switch code {
    case 400, 404: .sessionNotFound
    case 401, 403: .authenticationFailed(reason: reason)
    case 409: .termsOfService(reason: reason)
    default: .httpStatus(url: url.shown, status: code)
    }
  }
}
