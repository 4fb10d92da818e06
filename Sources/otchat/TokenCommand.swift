import Base
import CommandLineKit
import FoundationEssentials
import Glibc
import OpenTokProtocol

/// `otchat token create` and `otchat token inspect`: offline.
enum TokenCommand {
  static func create(_ arguments: Arguments) throws {
    let sessionID = try required(arguments, "session-id")
    guard let session = SessionID(sessionID) else {
      throw Failure(
        .usage, "--session-id is no session id", hint: "session ids look like 1_MX4xMDB-fj…; was it cut?")
    }
    let apiKey = arguments.text("api-key") ?? session.apiKey
    guard session.belongs(to: apiKey) else {
      throw Failure(.usage, "the session belongs to API key \(session.apiKey), not \(apiKey)")
    }
    let secret = try required(arguments, "api-secret")
    let data = arguments.text("data") ?? ""
    guard data.count <= Token.maximumConnectionData else {
      throw Failure(.usage, "--data has \(data.count) characters; at most \(Token.maximumConnectionData)")
    }
    let now = Int64(Date().timeIntervalSince1970)
    let token = Token(
      format: arguments.text("format") == "jwt" ? .jwt : .t1, apiKey: apiKey, sessionID: sessionID,
      role: arguments.text("role").flatMap(Role.init(rawValue:)) ?? .publisher, createTime: now,
      expireTime: now + Int64(arguments.integer("expires-in") ?? 86_400),
      nonce: String(Int.random(in: 0..<1_000_000)), connectionData: data)
    Output.write(token.signed(secret: secret) + "\n")
  }

  static func inspect(_ arguments: Arguments) throws {
    var text = arguments.operands.first ?? "-"
    if text == "-" { text = readLine() ?? "" }
    text = text.trimmed
    if let session = SessionID(text) {
      print(
        "session id",
        [
          ("API key", session.apiKey),
          // The ids of an otchat server say none: they are the same whenever they are made.
          ("created", session.creationTime.flatMap { $0 > 0 ? date($0 / 1000) : nil } ?? "not told"),
        ])
      return
    }
    do {
      let token = try Token.inspect(text)
      let now = Int64(Date().timeIntervalSince1970)
      let left = token.expireTime - now
      let signature = try signature(of: text, token, secret: arguments.text("api-secret"))
      print(
        token.format == .t1 ? "T1 token" : "JSON web token",
        [
          ("API key", token.apiKey), ("session", token.sessionID), ("role", token.role.rawValue),
          ("created", date(token.createTime)),
          ("expires", date(token.expireTime) + (left >= 0 ? " (in \(left) s)" : " (expired \(-left) s ago)")),
          ("data", token.connectionData.debugDescription),
          ("signature", signature.text),
        ])
      // For scripts: what the server would refuse is no success.
      if !signature.isGood { throw TokenError.badSignature }
      if left + Token.clockTolerance <= 0 { throw TokenError.expired(secondsAgo: -left) }
    } catch let error as TokenError {
      throw Failure(error)
    }
  }

  private static func signature(
    of text: String, _ token: Token, secret: String?
  ) throws -> (text: String, isGood: Bool) {
    guard let secret else { return ("not checked; --api-secret or OTCHAT_API_SECRET", true) }
    do {
      // Only the signature is asked about, so the clock is set to when the token was made.
      _ = try Token.verify(
        text, apiKey: token.apiKey, secret: secret, sessionID: token.sessionID, now: token.createTime)
      return ("right", true)
    } catch .badSignature {
      return ("WRONG: made with another secret, or altered", false)
    }
  }

  private static func print(_ title: String, _ rows: [(String, String)]) {
    Output.write(title + "\n")
    for (name, value) in rows {
      Output.write("  \(name.padded(to: 10)) \(value)\n")
    }
  }

  private static func date(_ seconds: Int64) -> String {
    Date(timeIntervalSince1970: Double(seconds)).formatted(.iso8601)
  }

  private static func required(_ arguments: Arguments, _ flag: String) throws -> String {
    if let text = arguments.text(flag), !text.isEmpty { return text }
    let variable = arguments.command.flag(named: flag)?.environment
    throw Failure(.usage, "--\(flag) is needed", hint: variable.map { "or set \($0)" })
  }
}
