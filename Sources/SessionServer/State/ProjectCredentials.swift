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

  private static let file = "credentials.json"

  /// Those kept in the directory; made at the first use.
  static func kept(in directory: StateDirectory) throws(SessionServerError) -> ProjectCredentials {
    if let bytes = try directory.read(file) { return try parse(bytes, directory) }
    let new = random()
    let json: JSON = ["apiKey": .string(new.apiKey), "apiSecret": .string(new.apiSecret)]
    if try directory.write(file, json.serialized() + [10]) { return new }
    guard let bytes = try directory.read(file) else { throw .badStateFile(path: directory.file(file)) }
    return try parse(bytes, directory)
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
