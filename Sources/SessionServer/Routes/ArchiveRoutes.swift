import Base
import OpenTokProtocol

/// Archives as the sample servers have them: for pages and people, with the access key where there is one.
extension SessionServer {
  func addArchives(to router: inout Router) {
    func add(
      _ methods: [HTTPMethod], _ path: String, _ answer: @escaping (HTTPRequest, [String]) -> HTTPResponse
    ) {
      router.add(methods, path) { request, values in
        let isChange = methods != [.get]
        guard self.access.admitsArchives(request, toChange: isChange) else { return Self.accessDenied }
        return self.store == nil ? Self.noArchives : answer(request, values)
      }
    }
    for path in ["/start", "/start/:session", "/archive/start"] {
      let methods: [HTTPMethod] = path == "/archive/start" ? [.post] : [.get, .post]
      add(methods, path) { self.startFromPage($0, session: $1.first) }
    }
    add([.get, .post], "/stop/:archive") { self.stopArchive($1[0], for: $0) }
    add([.post], "/archive/:archive/stop") { self.stopArchive($1[0], for: $0) }
    add([.delete], "/archive/:archive") { _, values in self.deleteArchive(values[0]) }
    add([.get], "/archive") { request, _ in self.listArchives(request) }
    add([.get], "/archive/:archive") { self.answer($1[0], for: $0) }
    for path in ["/view", "/view/:archive", "/archive/:archive/view"] {
      router.add([.get], path) { self.store == nil ? Self.noArchives : self.view($0, $1.first) }
    }
    router.add([.get], "/archive/:archive/:file") { self.file($0, $1[0], named: $1[1]) }
  }

  static let noArchives = HTTPResponse.failure(501, "this server records no archives")

  /// The session in the path, in the body, or the room's.
  private func startFromPage(_ request: HTTPRequest, session: String?) -> HTTPResponse {
    let body = request.body.isEmpty ? [:] : try? JSON(parsing: request.body)
    guard let body, body.objectValue != nil else { return .failure(400, "the body is no JSON object") }
    let named = session ?? body["sessionId"]?.stringValue
    return startArchive(
      body, session: named ?? project.sessionID(ofRoom: request.query("room") ?? "session").text,
      for: request)
  }

  // MARK: Shared with the REST API

  func startArchive(_ body: JSON, session: String, for request: HTTPRequest) -> HTTPResponse {
    guard recordsArchives else { return Self.noArchives }
    return archiveAnswer(for: request) { () throws(RoomRefusal) in
      guard !isStopping else { throw RoomRefusal(503, "the server is about to stop") }
      guard SessionID(session)?.belongs(to: project.apiKey) ?? false else { throw .noSession }
      return try archives.start(
        ArchiveOptions(body), id: UUID.v4(), session: session, occupancy: rooms.occupancy(of: session),
        at: now)
    }
  }

  func stopArchive(_ id: String, for request: HTTPRequest) -> HTTPResponse {
    archiveAnswer(for: request) { () throws(RoomRefusal) in try archives.stop(id) }
  }

  func answer(_ id: String, for request: HTTPRequest) -> HTTPResponse {
    archiveAnswer(for: request) { () throws(RoomRefusal) in try archives.archive(id) }
  }

  func deleteArchive(_ id: String) -> HTTPResponse {
    do {
      try archives.delete(id)
      carryOutArchives()
      return .noContent
    } catch {
      return .failure(error.status, error.reason)
    }
  }

  /// `?offset=`, `?count=` (50, at most 1000), `?sessionId=`.
  func listArchives(_ request: HTTPRequest) -> HTTPResponse {
    func number(_ name: String, _ usual: Int, _ range: ClosedRange<Int>) -> Int? {
      guard let text = request.query(name) else { return usual }
      return Int(text).flatMap { range.contains($0) ? $0 : nil }
    }
    guard let offset = number("offset", 0, 0...Int(Int32.max)), let count = number("count", 50, 0...1000)
    else { return .failure(400, "offset is a number, count one up to 1000") }
    if let session = request.query("sessionId"), SessionID(session)?.belongs(to: project.apiKey) != true {
      return .failure(400, "sessionId is no session of this server")
    }
    let list = archives.list(session: request.query("sessionId"))
    let items = list.dropFirst(offset).prefix(count).map { json($0, for: request) }
    return .json(
      JSON.object(["count": .integer(Int64(list.count)), "items": .array(items)]).serialized())
  }

  private func archiveAnswer(
    for request: HTTPRequest, _ body: () throws(RoomRefusal) -> Archive
  ) -> HTTPResponse {
    do throws(RoomRefusal) {
      let archive = try body()
      carryOutArchives()
      return .json(json(archives.archives[archive.id] ?? archive, for: request).serialized())
    } catch {
      return .failure(error.status, error.reason)
    }
  }

  private func json(_ archive: Archive, for request: HTTPRequest) -> JSON {
    json(archive, at: address(for: request))
  }

  /// As the REST API has it, with addresses that work for a day.
  func json(_ archive: Archive, at address: PublicAddress) -> JSON {
    func url(_ name: String) -> String {
      address.httpURL + "/archive/\(archive.id)/\(name)?" + pass(for: archive.id)
    }
    return archive.json(apiKey: project.apiKey, url: archive.file.map(url), page: url("view"))
  }

  // MARK: The file and its page

  /// How long an address works that was given for a file.
  private static let passSeconds: Int64 = 24 * 3600

  /// What makes an address work without an access key, for who was told it: as URLs of cloud stores have it.
  private func pass(for id: String) -> String {
    let expires = WallClock.microseconds() / 1_000_000 + Self.passSeconds
    return "expires=\(expires)&signature=\(signature(id, expires))"
  }

  private func signature(_ id: String, _ expires: Int64) -> String {
    Hexadecimal.text(Signature.sha256("archive/\(id)/\(expires)".utf8, key: project.apiSecret))
  }

  private func hasPass(_ request: HTTPRequest, for id: String) -> Bool {
    guard let expires = request.query("expires").flatMap({ Int64($0) }),
      let signature = request.query("signature").flatMap({ Hexadecimal.bytes($0) }),
      let expected = Hexadecimal.bytes(self.signature(id, expires))
    else { return false }
    return Signature.equal(signature, expected) && expires > WallClock.microseconds() / 1_000_000
  }

  private func file(_ request: HTTPRequest, _ id: String, named name: String) -> HTTPResponse {
    guard hasPass(request, for: id) || access.admitsArchives(request, toChange: false) else {
      return Self.accessDenied
    }
    // Names come from the record, never from the request.
    guard let archive = archives.archives[id], let file = archive.file, file == name, let store else {
      return .failure(404, "no such file")
    }
    let type = file.hasSuffix(".mp4") ? "video/mp4" : "application/zip"
    var response = HTTPResponse.file(store.directory(id) + "/" + file, contentType: type, for: request)
    response?.headers.append(("Cache-Control", "private, no-cache"))
    return response ?? .failure(404, "the file is not there any more")
  }

  /// Without an archive: the latest there is, of the session in `?sessionId=` or of any.
  private func view(_ request: HTTPRequest, _ id: String?) -> HTTPResponse {
    let mayView = access.admitsArchives(request, toChange: false)
    guard mayView || id.map({ hasPass(request, for: $0) }) ?? false else { return Self.accessDenied }
    let archive = id.map { archives.archives[$0] } ?? archives.list(session: request.query("sessionId")).first
    guard let archive else { return .failure(404, id == nil ? "there is no archive yet" : "no such archive") }
    var page = HTTPResponse(
      contentType: "text/html; charset=utf-8",
      body: [UInt8](
        ArchivePage.html(archive, file: archive.file.map { "\($0)?" + pass(for: archive.id) }).utf8))
    page.headers += [("Cache-Control", "no-store"), ("Referrer-Policy", "no-referrer")]
    if let cookie = access.cookie(for: request) { page.headers.append(("Set-Cookie", cookie)) }
    return page
  }
}
