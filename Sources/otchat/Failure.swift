import CommandLineKit
import Glibc
import MediaIO
import OTKit
import OpenTokProtocol
import Participant
import SessionServer

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

  /// - Parameters:
  ///   - number: an errno.
  ///   - output: what could not be written.
  init(lost number: Int32, of output: String) {
    self.init(.cannotWrite, "cannot write \(output): \(String(cString: strerror(number)))")
  }

  init(_ error: any Error) {
    switch error {
    case let failure as Failure: self = failure
    case let failure as ConnectFailure:
      let inner = Failure(failure.error)
      self.init(inner.code, "\(inner.message), \(failure.place)", hint: inner.hint)
    case let usage as UsageError:
      self.init(usage.isConfiguration ? .badConfiguration : .usage, usage.message, hint: usage.hint)
    case let error as OpenTokError:
      let number = error.code == 0 ? "" : " (\(error.code) \(error.name))"
      self.init(
        ExitCode(rawValue: error.exitCode.rawValue) ?? .internalError, error.message + number,
        hint: error.hint)
    case let error as TokenError: self.init(error)
    case let error as SourceError: self.init(OpenTokError(error))
    case let error as SessionServerError: self.init(error)
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
    let code: ExitCode =
      switch error {
      case .badSignature, .expired, .notYetValid, .otherAPIKey, .otherSession: .refused
      case .notAToken, .cutShort, .malformed, .unsupportedAlgorithm: .badInput
      }
    self.init(
      code, message, hint: error == .cutShort ? "copy all of it: a line may have been broken" : nil)
  }

  /// - Parameter error: why the session server does not start.
  init(_ error: SessionServerError) {
    switch error {
    case .web(let error): self.init(error)
    case .state(let path, let reason):
      self.init(
        .cannotWrite, "the state directory\(path.isEmpty ? "" : " \(path)"): \(reason)",
        hint: "XDG_STATE_HOME names another place")
    case .archives(let path, let reason):
      self.init(
        .cannotWrite, "archives cannot be kept in \(path): \(reason)",
        hint: "--archive-dir names another place")
    case .badStateFile(let path):
      self.init(
        .badConfiguration, "\(path) does not hold what was written there",
        hint: "move it away, and new credentials are made; or XDG_STATE_HOME names another place")
    case .newerState(let path):
      self.init(
        .badConfiguration, "\(path) was written by a newer version of otchat",
        hint: "install that version again, or XDG_STATE_HOME names another place")
    case .accessKeyNeeded(let host):
      self.init(
        .usage, "others can reach \(host), and everybody could take part",
        hint: "--access-key KEY asks for a key; --open lets everybody in")
    case .badPublicURL(let url):
      self.init(.usage, "--public-url: '\(url)' is no web address", hint: "it looks like https://HOST[:PORT]")
    }
  }

  private init(_ error: WebServerError) {
    switch error {
    case .unknownHost(let host, let reason):
      self.init(
        .unavailable, "cannot listen on \(host): \(reason)", hint: "--host takes an address of this machine")
    case .addressInUse(let host, let port):
      self.init(
        .unavailable, "\(host) port \(port) is in use",
        hint: "--port 0 takes a free one; 'ss -ltnp' shows who has it")
    case .permissionDenied(let host, let port):
      self.init(
        .refused, "not allowed to listen on \(host) port \(port)", hint: "ports below 1024 are for root")
    case .addressNotAvailable(let host):
      self.init(.unavailable, "\(host) is no address of this machine", hint: "'ip address' lists them")
    case .cannotListen(let host, let port, let reason):
      self.init(.unavailable, "cannot listen on \(host) port \(port): \(reason)")
    case .badCertificate(let reason):
      self.init(
        .badInput, "the TLS certificate cannot be used: \(reason)",
        hint: "--tls-cert and --tls-key take PEM files")
    case .outOfResources:
      self.init(.internalError, "out of memory or file descriptors", hint: "'ulimit -n' raises the latter")
    }
  }

  func report() {
    Output.note("error: \(message)")
    if let hint { Output.note("hint: \(hint)") }
  }
}
