import Base
import OpenTokProtocol

/// The API key and its secret, which signs tokens and room names.
package struct ProjectCredentials: Sendable {
  package var apiKey: String
  package var apiSecret: String

  package init(apiKey: String, apiSecret: String) {
    self.apiKey = apiKey
    self.apiSecret = apiSecret
  }

  /// New ones: a number of eight digits, as other OpenTok keys are, and 160 random bits.
  package static func random() -> ProjectCredentials {
    let secret = (0..<20).map { _ in UInt8.random(in: 0...255) }
    return ProjectCredentials(
      apiKey: String(Int.random(in: 10_000_000...99_999_999)), apiSecret: Hexadecimal.text(secret))
  }

  /// Where older versions kept them.
  private static let file = "credentials.json"

  /// Those kept in the database, or beside it by an older version; made at the first use.
  static func kept(
    in database: Database, besides directory: StateDirectory
  ) throws(SessionServerError) -> ProjectCredentials {
    let (credentials, isTakenOver) = try database.transaction {
      (connection) throws(SessionServerError) -> (ProjectCredentials, Bool) in
      if let row = try connection.rows("SELECT api_key, api_secret FROM project").first {
        guard let key = row[0]?.text, let secret = row[1]?.text else {
          throw .badStateFile(path: database.path)
        }
        return (ProjectCredentials(apiKey: key, apiSecret: secret), false)
      }
      let file = try directory.read(file)
      let credentials = try file.map { (bytes) throws(SessionServerError) in try parse(bytes, directory) }
      let kept = credentials ?? random()
      try connection.run(
        "INSERT INTO project VALUES (1, ?, ?)", .text(kept.apiKey), .text(kept.apiSecret))
      return (kept, file != nil)
    }
    if isTakenOver { directory.remove(file) }
    return credentials
  }

  private static func parse(
    _ bytes: [UInt8], _ directory: StateDirectory
  ) throws(SessionServerError) -> ProjectCredentials {
    guard let json = try? JSON(parsing: bytes), let key = json["apiKey"]?.stringValue, !key.isEmpty,
      let secret = json["apiSecret"]?.stringValue, !secret.isEmpty
    else { throw .badStateFile(path: directory.file(file)) }
    return ProjectCredentials(apiKey: key, apiSecret: secret)
  }

  /// The session of a room name: always the same for this secret, so nothing has to be remembered.
  func sessionID(ofRoom name: String) -> SessionID {
    var words = NameGenerator(digest: Signature.sha256("room/\(name)".utf8, key: apiSecret))
    return SessionID(apiKey: apiKey, creationTime: 0, using: &words)
  }

  /// A token for a day from now on.
  ///
  /// - Parameter now: seconds since 1970.
  func token(for sessionID: SessionID, role: Role, data: String, now: Int64) -> String {
    Token(
      apiKey: apiKey, sessionID: sessionID.text, role: role, createTime: now, expireTime: now + 86400,
      nonce: String(Int.random(in: 0...999_999)), connectionData: data
    ).signed(secret: apiSecret)
  }
}

/// The bytes of a digest as the "random" part of a session id.
private struct NameGenerator: RandomNumberGenerator {
  let digest: [UInt8]
  var position = 0

  init(digest: [UInt8]) { self.digest = digest }

  mutating func next() -> UInt64 {
    var word: UInt64 = 0
    for _ in 0..<8 {
      word = word << 8 | (position < digest.count ? UInt64(digest[position]) : 0)
      position += 1
    }
    return word
  }
}
