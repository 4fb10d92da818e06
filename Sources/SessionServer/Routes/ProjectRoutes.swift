import Base
import Glibc
import OpenTokProtocol

/// What server SDKs call: `/session/create` and `/v2/project/KEY/…`, signed with the API secret.
extension SessionServer {
  func addProject(to router: inout Router) {
    router.add([.post], "/session/create") { request, _ in
      self.signed(request) { self.createSession(request) }
    }
    router.add([.get, .post, .put, .patch, .delete], "/v2/project/:key/*") { request, values in
      self.signed(request, key: values[0]) { .failure(501, "this server does not do that") }
    }
  }

  /// Answers if the request carries the project's token, or its key and secret (the older way).
  func signed(
    _ request: HTTPRequest, key: String? = nil, _ answer: () -> HTTPResponse
  ) -> HTTPResponse {
    let isSigned: Bool
    if let token = request.header("x-opentok-auth") {
      isSigned = ProjectToken.isValid(token, for: project, now: WallClock.microseconds() / 1_000_000)
    } else if let pair = request.header("x-tb-partner-auth") {
      let expected = "\(project.apiKey):\(project.apiSecret)"
      isSigned = Signature.equal(
        Signature.sha256(pair.utf8, key: project.apiSecret),
        Signature.sha256(expected.utf8, key: project.apiSecret))
    } else {
      isSigned = false
    }
    guard isSigned, key == nil || key == project.apiKey else { return .failure(403, "Invalid token") }
    return answer()
  }

  /// Sessions are relayed, whatever is asked for; their ids carry all there is to know.
  private func createSession(_ request: HTTPRequest) -> HTTPResponse {
    let form = FormEncoding.fields(String(decoding: request.body, as: UTF8.self))
    func value(_ key: String) -> String { form.first { $0.key == key }?.value ?? "" }
    var archive: AutomaticArchive?
    switch value("archiveMode") {
    case "", "manual": break
    case "always":
      guard recordsArchives else { return Self.noArchives }
      let asked = AutomaticArchive(name: value("archiveName"), resolution: value("archiveResolution"))
      guard ArchiveOptions(automatic: asked) != nil else {
        return .failure(400, "there is no archiveResolution like that")
      }
      archive = asked
    default: return .failure(400, "archiveMode is manual or always")
    }
    var generator = SystemGenerator()
    let now = WallClock.microseconds() / 1000
    let id = SessionID(apiKey: project.apiKey, creationTime: now, archive: archive, using: &generator)
    guard id.text.utf8.count <= SessionID.maximumSize else {
      return .failure(400, "the archiveName is too long")
    }
    let key = JSON.string(project.apiKey)
    let session: JSON = [
      "session_id": .string(id.text), "project_id": key, "partner_id": key,
      "create_dt": .string(Self.date(milliseconds: now)), "media_server_url": "",
    ]
    return .json(JSON.array([session]).serialized())
  }

  /// As in `Mon Nov 30 15:20:00 UTC 2026`.
  private static func date(milliseconds: Int64) -> String {
    var seconds = time_t(milliseconds / 1000)
    var parts = tm()
    gmtime_r(&seconds, &parts)
    var text = [CChar](repeating: 0, count: 64)
    let count = strftime(&text, text.count, "%a %b %e %H:%M:%S UTC %Y", &parts)
    return String(decoding: text[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
