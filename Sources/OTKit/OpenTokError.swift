/// Everything that can go wrong in this library, one case a cause.
///
/// `code` and `name` are OpenTok's; `message`, `hint` and `exitCode` come from one switch
/// (`OpenTokErrorText.swift`). No case holds a token or a secret.
public enum OpenTokError: Error, Sendable, Hashable {
  /// What was being done when time ran out.
  public enum Step: String, Sendable, Hashable {
    case credentials = "asking for credentials"
    case sessionInfo = "asking for session information"
    case socket = "opening the signalling connection"
    case joining = "joining the session"
    case publishing = "publishing"
    case subscribing = "subscribing"
    case request = "waiting for the server's answer"
  }

  /// What has to be done, one after the other, before a stream is received.
  public enum Stage: String, Sendable, Hashable {
    case credentials, signalling, ice = "ICE", dtls = "DTLS", media
  }

  // MARK: Reaching a server
  case invalidURL(String)
  case hostNotFound(host: String)
  case connectionRefused(host: String, port: Int)
  case unreachable(host: String, detail: String)
  case tlsFailed(host: String, detail: String)
  /// What answers there speaks something else than TLS, plain HTTP mostly.
  case notTLS(host: String, port: Int)
  case certificateFileUnreadable(path: String)
  case timedOut(Step, seconds: Double)
  case notHTTP(url: String)
  case notWebSocket(url: String)
  case tooManyRedirects(url: String)
  case answerTooLarge(url: String, limit: Int)
  case cancelled

  // MARK: What a server answered
  case httpStatus(url: String, status: Int)
  case htmlAnswer(url: String)
  case notJSON(url: String)
  case missingKeys(url: String, keys: [String])
  case unexpectedAnswer(step: Step, detail: String)

  // MARK: Credentials
  case invalidAPIKey
  case invalidSessionID
  case sessionOfOtherKey
  case tokenMalformed(detail: String)
  case tokenCutShort
  case tokenExpired(secondsAgo: Int)
  case tokenOfOtherSession
  case tokenOfOtherKey

  // MARK: Joining a session
  case authenticationFailed(reason: String)
  case sessionNotFound
  case termsOfService(reason: String)
  case connectRefused(status: Int, reason: String)
  case connectionLimitExceeded
  case notConnected
  case alreadyConnected
  case connectionLost(detail: String)
  /// The server is there, but has given this connection up: it may be made anew.
  case connectionForgotten
  /// The server said goodbye to everybody.
  case sessionEnded
  case forceDisconnected

  // MARK: Streams
  case invalidParameter(String)
  /// Media may go through TURN servers only, and nobody named one.
  case noRelay
  case publishRefused(status: Int, reason: String)
  case streamLimitExceeded
  /// The name of who subscribes, if it is known.
  case publisherFailed(Stage, to: String?, detail: String, stages: [StageTime] = [])
  case streamNotFound
  case subscribeRefused(status: Int, reason: String)
  /// The name of the stream; empty if it has none.
  case subscriberFailed(Stage, from: String, detail: String, stages: [StageTime] = [])
  case unsupportedCodec(detail: String)
  case mediaUnavailable(detail: String, hint: String?, exitCode: ExitCode)

  // MARK: Signals and moderation
  case signalRefused(status: Int, reason: String)
  case signalTypeInvalid
  case signalTooLarge
  case forceDisconnectRefused(status: Int, reason: String)
  case forceUnpublishRefused(status: Int, reason: String)
  case forceMuteRefused(status: Int, reason: String)
  case requestRefused(status: Int, reason: String)

  // MARK: This machine
  case systemFailure(String)
}

/// What a process that ends because of an error tells its parent (sysexits.h).
public enum ExitCode: Int32, Sendable {
  case usage = 64
  case badInput = 65
  case inputMissing = 66
  case unreachable = 69
  case internalError = 70
  case cannotWrite = 73
  case temporaryFailure = 75
  case senselessAnswer = 76
  case refused = 77
  case badConfiguration = 78
}
