// A JSON web token (RFC 7519) with HS256: `iss` is the API key, `ist` the text "project".
extension Token {
  func jwtText(secret: String) -> String {
    let header: JSON = ["alg": "HS256", "typ": "JWT"]
    var claims: JSON = [
      "iss": .string(apiKey), "ist": "project", "iat": .integer(createTime), "exp": .integer(expireTime),
      "nonce": .string(nonce), "role": .string(role.rawValue), "session_id": .string(sessionID),
      "scope": "session.connect", "initial_layout_class_list": .string(initialLayoutClassList),
    ]
    if !connectionData.isEmpty { claims["connection_data"] = .string(connectionData) }
    let message = [header, claims].map { Base64.urlText($0.serialized()) }.joined(separator: ".")
    return message + "." + Base64.urlText(Signature.sha256(message.utf8, key: secret))
  }

  static func parseJWT(_ text: String) throws(TokenError) -> Parsed {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count <= 3 else { throw .malformed(field: "parts") }
    guard parts.count == 3, let header = claims(parts[0]) else { throw .cutShort }
    guard let claims = claims(parts[1]) else { throw .malformed(field: "claims") }
    let algorithm = header["alg"]?.stringValue ?? ""
    let apiKey = claims["iss"]?.stringValue ?? claims["application_id"]?.stringValue
    guard algorithm == "HS256" else { throw .unsupportedAlgorithm(String(algorithm.prefix(16))) }
    guard let apiKey, !apiKey.isEmpty else { throw .malformed(field: "iss") }
    guard claims["ist"].map({ $0 == "project" }) ?? true else { throw .malformed(field: "ist") }
    guard claims["scope"]?.stringValue == "session.connect" else { throw .malformed(field: "scope") }
    guard let sessionID = claims["session_id"]?.stringValue else { throw .malformed(field: "session_id") }
    func seconds(_ key: String) throws(TokenError) -> Int64 {
      guard let value = claims[key]?.doubleValue, let seconds = Int64(exactly: value.rounded(.down)) else {
        throw .malformed(field: key)
      }
      return seconds
    }
    guard let role = Role(rawValue: claims["role"]?.stringValue ?? Role.publisher.rawValue) else {
      throw .malformed(field: "role")
    }
    let connectionData = claims["connection_data"]?.stringValue ?? ""
    guard connectionData.count <= maximumConnectionData else { throw .malformed(field: "connection_data") }
    guard let signature = Base64.bytes(parts[2]), signature.count == 32 else { throw .cutShort }
    let token = Token(
      format: .jwt, apiKey: apiKey, sessionID: sessionID, role: role, createTime: try seconds("iat"),
      expireTime: try seconds("exp"),
      nonce: claims["nonce"]?.stringValue ?? claims["nonce"]?.doubleValue.map { "\($0)" } ?? "",
      connectionData: connectionData,
      initialLayoutClassList: claims["initial_layout_class_list"]?.stringValue ?? "")
    return Parsed(token: token, message: Array((parts[0] + "." + parts[1]).utf8), signature: signature)
  }

  private static func claims(_ part: Substring) -> JSON? {
    guard let bytes = Base64.bytes(part), let json = try? JSON(parsing: bytes), json.objectValue != nil else {
      return nil
    }
    return json
  }
}
