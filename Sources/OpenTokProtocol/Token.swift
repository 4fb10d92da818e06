/// Why a token was not taken. Nothing in it repeats the token.
package enum TokenError: Error, Equatable, Sendable {
  /// Neither `T1==…` nor a JSON web token.
  case notAToken
  /// The end is missing: copied or stored incompletely.
  case cutShort
  /// It has a token's shape but this field is missing or makes no sense.
  case malformed(field: String)
  case badSignature
  /// For another project: the API key in it.
  case otherAPIKey(String)
  case otherSession
  case expired(secondsAgo: Int64)
  /// Made in the future.
  case notYetValid(secondsAhead: Int64)
  /// A web token that is not signed with HS256.
  case unsupportedAlgorithm(String)
}

/// What a client presents to enter a session: signed with the project's secret.
package struct Token: Equatable, Sendable {
  package enum Format: Sendable {
    /// `T1==` and Base64 of a form with an HMAC-SHA1.
    case t1
    /// A JSON web token (RFC 7519), HS256.
    case jwt
  }

  package static let maximumSize = 8192
  /// Characters of connection data.
  package static let maximumConnectionData = 1000
  /// Seconds: 30 days.
  package static let maximumLifetime: Int64 = 30 * 24 * 3600
  /// Seconds by which the clocks of who makes and who checks a token may differ.
  package static let clockTolerance: Int64 = 30

  package var format: Format
  package var apiKey: String
  package var sessionID: String
  package var role: Role
  /// Seconds since 1970.
  package var createTime: Int64
  /// Seconds since 1970: the first second in which it is no longer good.
  package var expireTime: Int64
  package var nonce: String
  package var connectionData: String
  /// Between blanks.
  package var initialLayoutClassList: String

  package init(
    format: Format = .t1, apiKey: String, sessionID: String, role: Role = .publisher, createTime: Int64,
    expireTime: Int64, nonce: String, connectionData: String = "", initialLayoutClassList: String = ""
  ) {
    self.format = format
    self.apiKey = apiKey
    self.sessionID = sessionID
    self.role = role
    self.createTime = createTime
    self.expireTime = expireTime
    self.nonce = nonce
    self.connectionData = connectionData
    self.initialLayoutClassList = initialLayoutClassList
  }

  package var layoutClasses: [String] { initialLayoutClassList.split(separator: " ").map(String.init) }

  /// The signed text.
  package func signed(secret: String) -> String {
    switch format {
    case .t1: t1Text(secret: secret)
    case .jwt: jwtText(secret: secret)
    }
  }

  /// What a token says, without the secret and so without proof. Works for expired ones too.
  package static func inspect(_ text: String) throws(TokenError) -> Token {
    try parse(text).token
  }

  /// Checks a token that a client presented.
  ///
  /// - Parameters:
  ///   - sessionID: the session that is to be entered.
  ///   - now: seconds since 1970.
  ///   - tolerance: seconds by which the clocks may differ.
  /// - Throws: in this order: shape, API key, signature, session, time.
  package static func verify(
    _ text: String, apiKey: String, secret: String, sessionID: String, now: Int64,
    tolerance: Int64 = clockTolerance
  ) throws(TokenError) -> Token {
    let parsed = try parse(text)
    let token = parsed.token
    guard token.apiKey == apiKey else { throw .otherAPIKey(token.apiKey) }
    let expected =
      switch token.format {
      case .t1: Signature.sha1(parsed.message, key: secret)
      case .jwt: Signature.sha256(parsed.message, key: secret)
      }
    guard Signature.equal(expected, parsed.signature) else { throw .badSignature }
    guard token.sessionID == sessionID else { throw .otherSession }
    if now >= token.expireTime.saturating(adding: tolerance) {
      throw .expired(secondsAgo: now.saturating(subtracting: token.expireTime))
    }
    if token.createTime > now.saturating(adding: tolerance) {
      throw .notYetValid(secondsAhead: token.createTime.saturating(subtracting: now))
    }
    let lifetime = token.expireTime.saturating(subtracting: token.createTime)
    guard lifetime <= maximumLifetime + clockTolerance else { throw .malformed(field: "expire_time") }
    return token
  }

  /// A token taken apart: the signature and the bytes that it covers.
  struct Parsed {
    var token: Token
    var message: [UInt8]
    var signature: [UInt8]
  }

  private static func parse(_ text: String) throws(TokenError) -> Parsed {
    guard text.utf8.count <= maximumSize else { throw .malformed(field: "size") }
    if text.hasPrefix("T1==") { return try parseT1(text) }
    if text.hasPrefix("eyJ") { return try parseJWT(text) }
    throw .notAToken
  }
}

extension Int64 {
  func saturating(adding other: Int64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? (other < 0 ? .min : .max) : sum
  }

  func saturating(subtracting other: Int64) -> Int64 {
    let (difference, overflow) = subtractingReportingOverflow(other)
    return overflow ? (other < 0 ? .max : .min) : difference
  }
}
