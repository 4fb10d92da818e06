import Base
import OTKit
import OpenTokProtocol

/// Why a server did not do something with an archive.
package enum ArchiveServiceError: Error, Sendable {
  /// It could not be asked.
  case unanswered(OpenTokError)
  /// It said no; the text is its own.
  case refused(status: Int, message: String)
  /// It is none that records, or its answer makes no sense.
  case noArchives(url: String)
}

/// An archive as the server describes it.
package struct RemoteArchive: Equatable, Sendable {
  package var id: String
  package var name: String
  package var status: String
  package var reason: String
  /// Seconds.
  package var duration: Int64
  /// Bytes.
  package var size: Int64
  /// Milliseconds since 1970.
  package var createdAt: Int64
  package var outputMode: String
  /// Of the file, when it is there.
  package var url: String?
  /// Of a page that shows it; not every server names one.
  package var viewURL: String?
  package var json: JSON

  package init?(_ json: JSON) {
    guard let id = json["id"]?.stringValue, let status = json["status"]?.stringValue else { return nil }
    self.id = id
    self.status = status
    self.json = json
    name = json["name"]?.stringValue ?? ""
    reason = json["reason"]?.stringValue ?? ""
    duration = json["duration"]?.integerValue ?? 0
    size = json["size"]?.integerValue ?? 0
    createdAt = json["createdAt"]?.integerValue ?? 0
    outputMode = json["outputMode"]?.stringValue ?? ""
    url = json["url"]?.stringValue
    viewURL = json["viewUrl"]?.stringValue
  }
}

/// The archive routes of an app server (`/archive/start`, `/archive/ID/stop`, …), ours or a sample server's.
package struct ArchiveService: Sendable {
  private let base: ServerURL
  private let client: HTTPClient

  /// - Parameter server: as for `Credentials.fetch`; what its query holds (an access key) is kept.
  package init?(server: String, room: String?, trust: TLSTrust, timeout: Duration) {
    guard var endpoint = Credentials.endpoint(of: server, room: room) else { return nil }
    var segments = endpoint.segments.map(String.init)
    segments.removeLast(min(segments.count, segments.dropLast().last == "room" ? 2 : 1))
    endpoint.path = segments.isEmpty ? "/" : "/" + segments.joined(separator: "/")
    base = endpoint
    client = HTTPClient(trust: trust, timeout: timeout)
  }

  /// - Parameter options: further members of the request, such as `name` and `outputMode`.
  package func start(
    session: String, options: JSON = [:]
  ) async throws(ArchiveServiceError) -> RemoteArchive {
    var body = options
    body["sessionId"] = .string(session)
    return try archive(await send("POST", ["archive", "start"], body: body))
  }

  package func stop(_ id: String) async throws(ArchiveServiceError) -> RemoteArchive {
    try archive(await send("POST", ["archive", id, "stop"], body: [:]))
  }

  package func get(_ id: String) async throws(ArchiveServiceError) -> RemoteArchive {
    try archive(await send("GET", ["archive", id]))
  }

  package func delete(_ id: String) async throws(ArchiveServiceError) {
    _ = try await send("DELETE", ["archive", id])
  }

  /// The newest first.
  package func list(session: String?) async throws(ArchiveServiceError) -> [RemoteArchive] {
    let query = [("count", "1000")] + (session.map { [("sessionId", $0)] } ?? [])
    let answer = try await send("GET", ["archive"], query: query)
    guard let items = answer["items"]?.arrayValue else { throw .noArchives(url: base.shown) }
    // Not every server heeds the query.
    return items.compactMap { RemoteArchive($0) }.filter { archive in
      archive.json["sessionId"]?.stringValue.map { session == nil || $0 == session } ?? true
    }
  }

  /// The page that shows an archive.
  package func page(of archive: RemoteArchive) -> String {
    if let url = archive.viewURL { return url }
    var url = base.appending(["archive", archive.id, "view"])
    url.query = nil
    return url.text
  }

  private func archive(_ json: JSON) throws(ArchiveServiceError) -> RemoteArchive {
    guard let archive = RemoteArchive(json) else { throw .noArchives(url: base.shown) }
    return archive
  }

  private func send(
    _ method: String, _ path: [String], query: [(String, String)] = [], body: JSON? = nil
  ) async throws(ArchiveServiceError) -> JSON {
    var url = base.appending(path)
    for (name, value) in query { url = url.appendingQuery(name, value) }
    var request = HTTPRequest(url)
    request.method = method
    request.headers = [("Accept", "application/json")]
    if let body {
      request.headers.append(("Content-Type", "application/json"))
      request.body = body.serialized()
    }
    let response: HTTPResponse
    do {
      response = try await client.send(request, step: .request)
    } catch {
      throw .unanswered(error)
    }
    let json = (try? JSON(parsing: response.body)) ?? .null
    guard (200..<300).contains(response.status) else {
      guard let message = (json["message"] ?? json["error"])?.stringValue else {
        throw .noArchives(url: url.shown)
      }
      throw .refused(status: response.status, message: message)
    }
    return json
  }
}
