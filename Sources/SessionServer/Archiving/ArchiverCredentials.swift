import Base
import OpenTokProtocol

/// With what a recorder enters a session of its own server, as a member whom no one sees: it is in no list
/// and no count, nobody hears of its coming and going, and it may subscribe and nothing else.
///
/// To be used as any client's: session info from `apiURL`, then the WebSocket named there.
package struct ArchiverCredentials: Equatable, Sendable, CustomStringConvertible {
  package var apiKey: String
  package var sessionID: String
  /// Good for a day, for this server process only: signed with a key that never leaves it.
  package var token: String
  /// The server itself, not what stands in front of it: a loopback address unless it listens on another one.
  package var apiURL: String
  /// The server's certificate chain (PEM), when it speaks TLS. It is for the server's name, so a client that
  /// comes by address either does not check it, or takes it as it is: both talk to this process's own port.
  package var certificateFile: String?

  package var description: String { "ArchiverCredentials(\(apiURL), token hidden)" }
}

/// Makes and checks the tokens of recorders.
struct ArchiverKey: Sendable {
  private let secret = Hexadecimal.text((0..<32).map { _ in UInt8.random(in: 0...255) })

  /// - Parameter now: seconds since 1970.
  func token(apiKey: String, sessionID: String, now: Int64) -> String {
    Token(
      apiKey: apiKey, sessionID: sessionID, role: .subscriber, createTime: now, expireTime: now + 86400,
      nonce: String(Int.random(in: 0...999_999))
    ).signed(secret: secret)
  }

  /// The token, if it was made with this key for that session.
  ///
  /// - Parameter now: seconds since 1970.
  func token(_ text: String, _ apiKey: String, _ sessionID: String, now: Int64) -> Token? {
    try? Token.verify(text, apiKey: apiKey, secret: secret, sessionID: sessionID, now: now)
  }
}

extension SessionServer {
  /// What a recorder needs to enter `sessionID`.
  package func archiverCredentials(_ sessionID: String) -> ArchiverCredentials {
    ArchiverCredentials(
      apiKey: project.apiKey, sessionID: sessionID,
      token: rooms.configuration.archiverKey.token(
        apiKey: project.apiKey, sessionID: sessionID, now: WallClock.microseconds() / 1_000_000),
      apiURL: PublicAddress(
        isSecure: certificateFile != nil, authority: PublicAddress.authority(host: ownHost, port: port)
      ).httpURL, certificateFile: certificateFile)
  }

  /// An address of this machine at which the server listens.
  private var ownHost: String {
    switch configuration.host {
    case "0.0.0.0": "127.0.0.1"
    case "::": "::1"
    default: configuration.host
    }
  }
}
