import OpenTokProtocol

/// What server SDKs do with archives: `/v2/project/KEY/archive…`.
extension SessionServer {
  func addProjectArchives(to router: inout Router) {
    func add(
      _ method: HTTPMethod, _ path: String, _ answer: @escaping (HTTPRequest, _ id: String) -> HTTPResponse
    ) {
      router.add([method], "/v2/project/:key/archive" + path) { request, values in
        self.signed(request, key: values[0]) {
          self.store == nil ? Self.noArchives : answer(request, values.count > 1 ? values[1] : "")
        }
      }
    }
    add(.post, "") { request, _ in
      self.withBody(request) { body in
        guard let session = body["sessionId"]?.stringValue else {
          return .failure(400, "sessionId is missing")
        }
        return self.startArchive(body, session: session, for: request)
      }
    }
    add(.get, "") { request, _ in self.listArchives(request) }
    add(.get, "/:archive") { self.answer($1, for: $0) }
    add(.post, "/:archive/stop") { self.stopArchive($1, for: $0) }
    add(.delete, "/:archive") { _, id in self.deleteArchive(id) }
    add(.put, "/:archive/layout") { request, id in
      self.withBody(request) { body in
        self.change(answer: .json(JSON.object([:]).serialized())) { () throws(RoomRefusal) in
          try self.archives.setLayout(ArchiveLayout(body), of: id)
        }
      }
    }
    add(.patch, "/:archive/streams") { request, id in
      self.withBody(request) { self.changeStreams($0, of: id) }
    }
  }

  private func changeStreams(_ body: JSON, of id: String) -> HTTPResponse {
    change(answer: .noContent) { () throws(RoomRefusal) in
      switch (body["addStream"]?.stringValue, body["removeStream"]?.stringValue) {
      case (let stream?, nil):
        let session = try archives.archive(id).sessionID
        try archives.addStream(
          stream, hasAudio: ArchiveOptions.flag("hasAudio", in: body),
          hasVideo: ArchiveOptions.flag("hasVideo", in: body), to: id,
          known: rooms.occupancy(of: session).streams.contains { $0.id == stream })
      case (nil, let stream?): try archives.removeStream(stream, from: id)
      default: throw RoomRefusal(400, "either addStream or removeStream is needed")
      }
    }
  }

  private func change(
    answer: HTTPResponse, _ body: () throws(RoomRefusal) -> Void
  ) -> HTTPResponse {
    do throws(RoomRefusal) {
      try body()
      carryOutArchives()
      return answer
    } catch {
      return .failure(error.status, error.reason)
    }
  }

  private func withBody(_ request: HTTPRequest, _ answer: (JSON) -> HTTPResponse) -> HTTPResponse {
    guard let body = try? JSON(parsing: request.body), body.objectValue != nil else {
      return .failure(400, "the body is no JSON object")
    }
    return answer(body)
  }
}
