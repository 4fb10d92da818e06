import CommandLineKit
import OTKit
import OpenTokProtocol

/// What ends a command: one line that says what and where, perhaps one that says what to do, and the exit code.
struct Failure: Error {
  let code: ExitCode
  let message: String
  let hint: String?

  init(_ code: ExitCode, _ message: String, hint: String? = nil) {
    self.code = code
    self.message = message
    self.hint = hint
  }

  init(_ error: any Error) {
    switch error {
    case let failure as Failure: self = failure
    case let usage as UsageError:
      self.init(usage.isConfiguration ? .badConfiguration : .usage, usage.message, hint: usage.hint)
    case let error as OpenTokError:
      let number = error.code == 0 ? "" : " (\(error.code) \(error.name))"
      self.init(
        ExitCode(rawValue: error.exitCode.rawValue) ?? .internalError, error.message + number,
        hint: error.hint)
    case let error as TokenError: self.init(error)
    default: self.init(.internalError, "\(error)")
    }
  }

  /// - Parameter error: what is wrong with a token that `otchat token` was given.
  init(_ error: TokenError) {
    let message =
      switch error {
      case .notAToken: "that is neither a token (T1==… or eyJ…) nor a session id"
      case .cutShort: "the token is cut short"
      case .malformed(let field): "the token's \(field) makes no sense"
      case .badSignature: "the signature is wrong"
      case .otherAPIKey(let key): "the token is for API key \(key)"
      case .otherSession: "the token is for another session"
      case .expired(let seconds): "the token expired \(seconds) s ago"
      case .notYetValid(let seconds): "the token was made \(seconds) s in the future"
      case .unsupportedAlgorithm(let name): "the token is signed with \(name); otchat knows HS256"
      }
    self.init(
      .badInput, message, hint: error == .cutShort ? "copy all of it: a line may have been broken" : nil)
  }

  func report() {
    Output.note("error: \(message)")
    if let hint { Output.note("hint: \(hint)") }
  }
}
