import Base
import OpenTokProtocol

/// `/session`, `/room/NAME`: what a client needs to join; `/session/ID`: the session info for its token.
extension SessionServer {
  private static let maximumRoomName = 128

  func addCredentials(to router: inout Router) {
    for path in ["/session", "/service"] {
      router.add([.get, .post], path) { request, _ in self.credentials(request, room: "session") }
    }
    // Decoded, a room's name may have slashes in it.
    router.add([.get], "/room/*") { request, values in
      values[0].isEmpty ? .failure(404, "a room has a name") : self.credentials(request, room: values[0])
    }
    router.add([.get], "/session/:id") { request, values in self.sessionInfo(request, id: values[0]) }
  }

  /// `?role=` and `?data=` ask for another token than a publisher's without connection data.
  private func credentials(_ request: HTTPRequest, room: String) -> HTTPResponse {
    guard access.admits(request) else { return Self.accessDenied }
    guard room.count <= Self.maximumRoomName else { return .failure(400, "the room's name is too long") }
    guard let role = Role(rawValue: request.query("role") ?? Role.publisher.rawValue) else {
      return .failure(400, "no such role")
    }
    guard role != .moderator || access.admitsModerator(request) else { return Self.accessDenied }
    let data = request.query("data") ?? ""
    guard data.count <= Token.maximumConnectionData else {
      return .failure(400, "the connection data is too long")
    }
    let id = project.sessionID(ofRoom: room)
    let token = project.token(for: id, role: role, data: data, now: WallClock.microseconds() / 1_000_000)
    let answer: JSON = [
      "apiKey": .string(project.apiKey), "sessionId": .string(id.text), "token": .string(token),
      "apiUrl": .string(address(for: request).httpURL),
      // So that the page offers nothing that is refused.
      "archives": .bool(recordsArchives),
    ]
    var response = HTTPResponse.json(answer.serialized())
    response.headers.append(("Cache-Control", "no-store"))
    return response
  }

  /// Refusals have status 200: clients would try again on others.
  private func sessionInfo(_ request: HTTPRequest, id: String) -> HTTPResponse {
    guard let session = SessionID(id), session.belongs(to: project.apiKey) else {
      return .json(SessionInfo.refusal(code: 404, message: "Session not found").serialized())
    }
    let token = request.header("x-opentok-auth") ?? request.header("x-tb-token-auth") ?? ""
    let now = WallClock.microseconds() / 1_000_000
    let isArchiver = rooms.configuration.archiverKey.token(token, project.apiKey, id, now: now) != nil
    do {
      if !isArchiver {
        _ = try Token.verify(
          token, apiKey: project.apiKey, secret: project.apiSecret, sessionID: id, now: now)
      }
    } catch {
      let message = "Invalid token: \(Self.text(error))"
      return .json(SessionInfo.refusal(code: 403, message: message).serialized())
    }
    // A recorder came straight here and stays here, whatever leads others to this server.
    let address = (isArchiver ? PublicAddress(request: request) : nil) ?? address(for: request)
    let info = SessionInfo(
      sessionID: id, partnerID: project.apiKey,
      createdAt: session.creationTime.flatMap { $0 > 0 ? $0 : nil } ?? now * 1000,
      host: address.hostName, messagingURL: address.messagingURL,
      symphonyAddress: rooms.configuration.symphonyAddress,
      iceServers: rooms.configuration.iceServers.servers(for: id, now: now, nonce: UUID.v4()))
    return .json(info.json(segmentID: UUID.v4()).serialized())
  }

  /// How the client reaches the server.
  func address(for request: HTTPRequest) -> PublicAddress {
    publicAddress ?? PublicAddress(request: request) ?? ownAddress
  }

  static func text(_ error: TokenError) -> String {
    switch error {
    case .notAToken: "that is no token"
    case .cutShort: "the token is cut short"
    case .malformed(let field): "the token's \(field) makes no sense"
    case .badSignature: "the signature is not this server's"
    case .otherAPIKey(let key): "it is for the API key \(key.prefix(32))"
    case .otherSession: "it is for another session"
    case .expired(let seconds): "it expired \(seconds) s ago"
    case .notYetValid(let seconds): "it is valid in \(seconds) s only"
    case .unsupportedAlgorithm(let name): "the algorithm \(name) is not supported"
    }
  }
}
