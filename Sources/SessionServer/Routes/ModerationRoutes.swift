import Base
import OpenTokProtocol

/// What server SDKs do to a session that is going on: `/v2/project/KEY/session/ID/…`.
extension SessionServer {
  func addModeration(to router: inout Router) {
    let session = "/v2/project/:key/session/:session"
    func add(
      _ method: HTTPMethod, _ path: String,
      _ answer: @escaping (_ request: HTTPRequest, _ session: String, _ item: String?) -> HTTPResponse
    ) {
      router.add([method], session + path) { request, values in
        self.signed(request, key: values[0]) {
          guard SessionID(values[1])?.belongs(to: self.project.apiKey) ?? false else {
            return .failure(404, "no such session")
          }
          return answer(request, values[1], values.count > 2 ? values[2] : nil)
        }
      }
    }
    add(.post, "/signal") { request, session, _ in self.signal(request, session, to: nil) }
    add(.post, "/connection/:connection/signal") { self.signal($0, $1, to: $2) }
    add(.delete, "/connection/:connection") { _, session, connection in
      self.perform(.forceDisconnect(connection: connection ?? ""), in: session, answer: .noContent)
    }
    add(.get, "/stream") { _, session, _ in self.streams(of: session) }
    add(.get, "/stream/:stream") { _, session, stream in self.stream(stream ?? "", of: session) }
    add(.put, "/stream") { request, session, _ in self.setLayoutClasses(request, session) }
    add(.post, "/stream/:stream/mute") { _, session, stream in
      self.perform(.mute(stream: stream ?? ""), in: session, answer: self.projectAnswer)
    }
    add(.post, "/mute") { request, session, _ in self.muteAll(request, session) }
  }

  private func perform(_ action: RoomAction, in session: String, answer: HTTPResponse) -> HTTPResponse {
    do {
      carryOut(try rooms.perform(action, in: session, at: now))
      return answer
    } catch {
      return .failure(error.status, error.reason)
    }
  }

  private func signal(_ request: HTTPRequest, _ session: String, to connection: String?) -> HTTPResponse {
    guard let content = try? JSON(parsing: request.body), content.objectValue != nil else {
      return .failure(400, "the body is no JSON object")
    }
    let action = RoomAction.signal(id: UUID.v4(), content: content, to: connection)
    return perform(action, in: session, answer: .noContent)
  }

  private func muteAll(_ request: HTTPRequest, _ session: String) -> HTTPResponse {
    guard let content = try? JSON(parsing: request.body), let active = content["active"]?.boolValue else {
      return .failure(400, "active is missing")
    }
    let excluded = (content["excludedStreams"]?.arrayValue ?? []).compactMap(\.stringValue)
    return perform(.muteAll(active: active, excluding: excluded), in: session, answer: projectAnswer)
  }

  /// What a mute answers: the project.
  private var projectAnswer: HTTPResponse {
    let key = JSON.string(project.apiKey)
    let answer: JSON = [
      "applicationId": key, "projectId": key, "id": key, "status": "ACTIVE", "name": "", "environment": "",
      "createdAt": 0,
    ]
    return .json(answer.serialized())
  }

  private func streams(of session: String) -> HTTPResponse {
    let streams = rooms.state(of: session)?.streams ?? []
    let answer: JSON = [
      "count": .integer(Int64(streams.count)), "items": .array(streams.map { json($0, of: session) }),
    ]
    return .json(answer.serialized())
  }

  private func stream(_ id: String, of session: String) -> HTTPResponse {
    guard let stream = rooms.state(of: session)?.streams.first(where: { $0.id == id }) else {
      return .failure(404, "no such stream")
    }
    return .json(json(stream, of: session).serialized())
  }

  private func json(_ stream: StreamInfo, of session: String) -> JSON {
    let classes = rooms.layoutClasses(of: session)[stream.id] ?? []
    return [
      "id": .string(stream.id), "videoType": .string(stream.videoType ?? ""), "name": .string(stream.name),
      "layoutClassList": .array(classes.map { .string($0) }),
    ]
  }

  private func setLayoutClasses(_ request: HTTPRequest, _ session: String) -> HTTPResponse {
    guard let items = (try? JSON(parsing: request.body))?["items"]?.arrayValue else {
      return .failure(400, "items are missing")
    }
    var changes: [String: [String]] = [:]
    for item in items {
      guard let id = item["id"]?.stringValue, let classes = item["layoutClassList"]?.arrayValue else {
        return .failure(400, "a stream's id or list of classes is missing")
      }
      changes[id] = classes.compactMap(\.stringValue)
    }
    do {
      carryOut(try rooms.perform(.setLayoutClasses(changes), in: session, at: now))
    } catch {
      return .failure(400, "no such stream, or too many classes")
    }
    for (stream, classes) in changes {
      archives.layoutClasses(classes, ofStream: stream, session: session)
    }
    carryOutArchives()
    return .json(JSON.object([:]).serialized())
  }
}
