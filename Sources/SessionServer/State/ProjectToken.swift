import OpenTokProtocol

/// What server SDKs put into `X-OPENTOK-AUTH`: a JSON web token (RFC 7519) for a whole project.
enum ProjectToken {
  /// Seconds by which the clocks of the two sides may differ.
  static let clockTolerance: Int64 = 30
  static let maximumSize = 4096

  /// Whether the token is the project's, signed with its secret and still good.
  ///
  /// - Parameter now: seconds since 1970.
  static func isValid(_ text: String, for project: ProjectCredentials, now: Int64) -> Bool {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard text.utf8.count <= maximumSize, parts.count == 3, let header = json(parts[0]),
      let claims = json(parts[1]), let signature = Base64.bytes(parts[2]),
      header["alg"] == "HS256"
    else { return false }
    let expected = Signature.sha256("\(parts[0]).\(parts[1])".utf8, key: project.apiSecret)
    guard Signature.equal(expected, signature) else { return false }
    guard claims["iss"] == .string(project.apiKey), claims["ist"].map({ $0 == "project" }) ?? true,
      // A client's token opens one session; it must not open the project.
      claims["scope"] == nil, claims["session_id"] == nil,
      let expires = claims["exp"]?.doubleValue
    else { return false }
    let issued = claims["iat"]?.doubleValue ?? Double(now)
    return expires + Double(clockTolerance) > Double(now) && issued - Double(clockTolerance) <= Double(now)
  }

  private static func json(_ part: Substring) -> JSON? {
    Base64.bytes(part).flatMap { try? JSON(parsing: $0) }
  }
}
