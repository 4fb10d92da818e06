extension OpenTokError {
  /// OpenTok's number; 0 where OpenTok has none.
  public var code: Int { text.code }
  /// OpenTok's name, `OT_…`.
  public var name: String { "OT_" + text.name }
  /// One line: what and where.
  public var message: String { text.message }
  /// What the user can do about it.
  public var hint: String? { text.hint }
  public var exitCode: ExitCode { text.exit }
  /// How long each stage of a stream's connection took, the one that failed last; empty for other errors.
  public var stages: [StageTime] {
    switch self {
    case .publisherFailed(_, _, _, let stages), .subscriberFailed(_, _, _, let stages): stages
    default: []
    }
  }

  /// In which stage a stream's connection failed, by ICE for instance while media flowed; nil for other errors.
  public var stage: Stage? {
    switch self {
    case .publisherFailed(let stage, _, _, _), .subscriberFailed(let stage, _, _, _): stage
    default: nil
    }
  }

  private struct Text {
    var code: Int
    var name: String
    var message: String
    var hint: String?
    var exit: ExitCode

    init(_ code: Int, _ name: String, _ message: String, _ hint: String?, _ exit: ExitCode) {
      self.code = code
      self.name = name
      self.message = message
      self.hint = hint
      self.exit = exit
    }
  }

  private var text: Text {
    switch self {
    case .invalidURL(let url):
      Text(
        1011, "INVALID_PARAMETER", "not a web address: \(OpenTokError.quoted(url))",
        "it looks like https://HOST[:PORT][/PATH]", .badConfiguration)
    case .hostNotFound(let host):
      Text(
        1006, "CONNECT_FAILED", "no host is called \(OpenTokError.quoted(host))",
        "check the spelling and that this machine has a network and a name server", .unreachable)
    case .connectionRefused(let host, let port):
      Text(
        1006, "CONNECT_FAILED", "nothing answers at \(host) port \(port): connection refused",
        "is the server running, and is the port right? 'otchat serve' starts one", .unreachable)
    case .unreachable(let host, let detail):
      Text(
        1006, "CONNECT_FAILED", "cannot reach \(host): \(OpenTokError.shown(detail))",
        "check the network between here and there", .unreachable)
    case .tlsFailed(let host, let detail):
      Text(
        1006, "CONNECT_FAILED", "no secure connection to \(host): \(OpenTokError.shown(detail))",
        "--ca FILE trusts a certificate; --insecure trusts any, which is for tests only", .unreachable)
    case .notTLS(let host, let port):
      Text(
        1006, "CONNECT_FAILED", "\(host) port \(port) does not speak TLS",
        "try http:// in place of https://; 'otchat serve --tls' serves https", .unreachable)
    case .certificateFileUnreadable(let path):
      Text(
        1011, "INVALID_PARAMETER", "no certificate can be read from \(OpenTokError.quoted(path))",
        "--ca takes a PEM file", .inputMissing)
    case .timedOut(let step, let seconds):
      Text(
        1008, "TIMEOUT", "\(step.rawValue) took longer than \(OpenTokError.seconds(seconds))",
        "trying again may help; --timeout SECONDS waits longer", .temporaryFailure)
    case .notHTTP(let url):
      Text(
        2001, "UNEXPECTED_SERVER_RESPONSE", "what answers at \(url) does not speak HTTP",
        "check the port, and whether it wants https instead of http", .senselessAnswer)
    case .notWebSocket(let url):
      Text(
        2001, "UNEXPECTED_SERVER_RESPONSE", "what answers at \(url) does not speak WebSocket",
        "a proxy on the way may not let WebSockets through", .senselessAnswer)
    case .tooManyRedirects(let url):
      Text(
        2001, "UNEXPECTED_SERVER_RESPONSE", "\(url) redirects again and again",
        "open it in a browser to see where it leads", .senselessAnswer)
    case .answerTooLarge(let url, let limit):
      Text(
        2001, "UNEXPECTED_SERVER_RESPONSE", "the answer of \(url) is larger than \(limit) bytes",
        "is this the address of an OpenTok app server?", .senselessAnswer)
    case .cancelled:
      Text(1006, "CONNECT_FAILED", "cancelled", nil, .temporaryFailure)
    case .httpStatus(let url, let status):
      OpenTokError.http(url, status)
    case .htmlAnswer(let url):
      Text(
        2001, "UNEXPECTED_SERVER_RESPONSE", "\(url) answered with a web page instead of credentials (JSON)",
        "give the address under which the app server has /session; a login page may be in the way",
        .senselessAnswer)
    case .notJSON(let url):
      Text(
        2001, "UNEXPECTED_SERVER_RESPONSE", "the answer of \(url) is not JSON",
        "give the address under which the app server has /session", .senselessAnswer)
    case .missingKeys(let url, let keys):
      Text(
        2001, "UNEXPECTED_SERVER_RESPONSE",
        "the answer of \(url) lacks \(keys.joined(separator: ", "))",
        "it has to hold apiKey (or applicationId), sessionId and token", .senselessAnswer)
    case .unexpectedAnswer(let step, let detail):
      Text(
        2001, "UNEXPECTED_SERVER_RESPONSE",
        "\(step.rawValue): the server's answer makes no sense: \(OpenTokError.shown(detail))",
        "is this the address of an OpenTok server?", .senselessAnswer)
    case .invalidAPIKey:
      Text(
        1004, "AUTHENTICATION_ERROR", "the API key is not one: it is a number, or a UUID (application id)",
        "copy it again from the account page", .badConfiguration)
    case .invalidSessionID:
      Text(
        1005, "INVALID_SESSION_ID", "the session id is not one, or it is cut short",
        "it begins with 1_ or 2_; 'otchat token inspect' shows what it holds", .badConfiguration)
    case .sessionOfOtherKey:
      Text(
        1005, "INVALID_SESSION_ID", "the session id belongs to another API key",
        "API key, session id and token must come from one project", .badConfiguration)
    case .tokenMalformed(let detail):
      Text(
        1004, "AUTHENTICATION_ERROR", "the token is not one: \(OpenTokError.shown(detail))",
        "it begins with T1== or is a JWT (three parts between dots)", .refused)
    case .tokenCutShort:
      Text(
        1004, "AUTHENTICATION_ERROR", "the token is cut short",
        "copy all of it: a terminal or a mail may have broken the line", .refused)
    case .tokenExpired(let seconds):
      Text(
        1004, "AUTHENTICATION_ERROR", "token expired \(seconds) s ago; do the clocks differ?",
        "get a new token; app servers make one for each request to /session", .refused)
    case .tokenOfOtherSession:
      Text(
        1004, "AUTHENTICATION_ERROR", "the token is for another session",
        "session id and token must come from the same answer", .refused)
    case .tokenOfOtherKey:
      Text(
        1004, "AUTHENTICATION_ERROR", "the token is for another API key",
        "API key, session id and token must come from one project", .refused)
    case .authenticationFailed(let reason):
      Text(
        1004, "AUTHENTICATION_ERROR", "the server refused the token" + OpenTokError.because(reason),
        "get a new token made for this session with the right API secret", .refused)
    case .sessionNotFound:
      Text(
        1005, "INVALID_SESSION_ID", "the server knows no such session",
        "is --api-url the server that made the session?", .refused)
    case .termsOfService(let reason):
      Text(
        1026, "TERMS_OF_SERVICE_FAILURE",
        "the server refused the project" + OpenTokError.because(reason), "look at the account page", .refused)
    case .connectRefused(let status, let reason):
      Text(
        status == 400 || status == 403 || status == 409 ? 1006 : 2001,
        status == 400 || status == 403 || status == 409 ? "CONNECT_FAILED" : "UNEXPECTED_SERVER_RESPONSE",
        "the server did not let us into the session (\(status))" + OpenTokError.because(reason),
        "get a new token for this session", status < 500 ? .refused : .temporaryFailure)
    case .connectionLimitExceeded:
      Text(
        1027, "CONNECTION_LIMIT_EXCEEDED", "the session is full", "try again when somebody has left",
        .refused)
    case .notConnected:
      Text(1010, "NOT_CONNECTED", "not connected to the session", "connect first", .internalError)
    case .alreadyConnected:
      Text(1011, "INVALID_PARAMETER", "the session is connected already", nil, .internalError)
    case .connectionLost(let detail):
      Text(
        1006, "CONNECT_FAILED", "the connection to the session was lost" + OpenTokError.because(detail),
        "check the network, then connect again", .unreachable)
    case .connectionForgotten:
      Text(
        1006, "CONNECT_FAILED",
        "the connection to the session was away for too long: the server has given it up",
        "connect again", .unreachable)
    case .sessionEnded:
      Text(
        1006, "CONNECT_FAILED", "the call is over: its server was ended",
        "a server inside somebody's 'otchat connect' ends with that one; 'otchat serve' stays", .unreachable)
    case .forceDisconnected:
      Text(1006, "CONNECT_FAILED", "a moderator or the server ended this connection", nil, .refused)
    case .invalidParameter(let detail):
      Text(1011, "INVALID_PARAMETER", OpenTokError.shown(detail), nil, .usage)
    case .noRelay:
      Text(
        1011, "INVALID_PARAMETER", "media may go through TURN only, and there is no TURN server",
        "--ice-server turn:USER:PASSWORD@HOST:PORT names one; 'otchat serve --turn-url' tells all clients",
        .badConfiguration)
    case .publishRefused(let status, let reason):
      Text(
        [403, 404, 405, 409].contains(status) ? 1500 : 2001,
        [403, 404, 405, 409].contains(status) ? "STREAM_CREATE_FAILED" : "UNEXPECTED_SERVER_RESPONSE",
        "the server did not let us publish (\(status))" + OpenTokError.because(reason),
        status == 403 ? "publishing needs a token with the role publisher or moderator" : nil, .refused)
    case .streamLimitExceeded:
      Text(
        1605, "STREAM_LIMIT_EXCEEDED", "the session has as many streams as it may have",
        "try again when somebody has stopped publishing", .refused)
    case .publisherFailed(let stage, let name, let detail, let stages):
      Text(
        1553, "ICE_WORKFLOW_FAILED",
        "sending to \(name.map(OpenTokError.quoted) ?? "a subscriber") failed (\(stage.rawValue))"
          + OpenTokError.because(detail) + OpenTokError.shown(stages),
        OpenTokError.mediaHint(stage), .unreachable)
    case .streamNotFound:
      Text(1501, "STREAM_NOT_FOUND", "the stream is gone", nil, .unreachable)
    case .subscribeRefused(let status, let reason):
      Text(
        1501, "UNABLE_TO_SUBSCRIBE",
        "the server did not let us subscribe (\(status))" + OpenTokError.because(reason), nil, .refused)
    case .subscriberFailed(let stage, let name, let detail, let stages):
      Text(
        1554, "ICE_WORKFLOW_FAILED",
        "receiving \(name.isEmpty ? "a stream" : OpenTokError.quoted(name)) failed (\(stage.rawValue))"
          + OpenTokError.because(detail) + OpenTokError.shown(stages),
        OpenTokError.mediaHint(stage), .unreachable)
    case .unsupportedCodec(let detail):
      Text(
        1502, "UNSUPPORTED_VIDEO_CODEC", "no codec in common" + OpenTokError.because(detail),
        "otchat speaks Opus and VP8", .refused)
    case .mediaUnavailable(let detail, let hint, let exitCode):
      Text(1500, "HARDWARE_UNAVAILABLE", OpenTokError.shown(detail), hint, exitCode)
    case .signalRefused(let status, let reason):
      OpenTokError.signal(status, reason)
    case .signalTypeInvalid:
      Text(
        400, "SIGNAL_TYPE_INVALID", "a signal's type has at most 128 characters of A-Z a-z 0-9 - . _ ~", nil,
        .usage)
    case .signalTooLarge:
      Text(413, "SIGNAL_TOO_LARGE", "a signal's data has at most 8192 characters of JSON", nil, .usage)
    case .forceDisconnectRefused(let status, let reason):
      OpenTokError.moderation(1520, "UNABLE_TO_FORCE_DISCONNECT", "disconnect somebody", status, reason)
    case .forceUnpublishRefused(let status, let reason):
      OpenTokError.moderation(1530, "UNABLE_TO_FORCE_UNPUBLISH", "end somebody's stream", status, reason)
    case .forceMuteRefused(let status, let reason):
      OpenTokError.moderation(1540, "UNABLE_TO_FORCE_MUTE", "mute somebody", status, reason)
    case .requestRefused(let status, let reason):
      Text(
        2001, "UNEXPECTED_SERVER_RESPONSE",
        "the server refused a request (\(status))" + OpenTokError.because(reason), nil, .refused)
    case .systemFailure(let detail):
      Text(2000, "INTERNAL_ERROR", OpenTokError.shown(detail), nil, .internalError)
    }
  }

  private static func http(_ url: String, _ status: Int) -> Text {
    switch status {
    case 401, 403:
      Text(
        1004, "AUTHENTICATION_ERROR", "\(url) answered \(status): it wants a key or does not let us in",
        "an otchat server asks for its access key in the address: …/?accessKey=KEY", .refused)
    case 404, 410:
      Text(
        2001, "UNEXPECTED_SERVER_RESPONSE", "\(url) answered \(status): there is nothing at this address",
        "give the address under which the app server has /session", .senselessAnswer)
    case 429, 502, 503, 504:
      Text(
        2001, "UNEXPECTED_SERVER_RESPONSE", "\(url) answered \(status): it is busy or down",
        "try again later", .temporaryFailure)
    default:
      Text(
        2001, "UNEXPECTED_SERVER_RESPONSE", "\(url) answered with the HTTP status \(status)",
        status >= 500 ? "the fault is the server's: look at its log" : nil, .senselessAnswer)
    }
  }

  private static func signal(_ status: Int, _ reason: String) -> Text {
    let (name, message): (String, String) =
      switch status {
      case 400: ("SIGNAL_INVALID", "the server did not understand the signal")
      case 403: ("SIGNAL_FORBIDDEN", "this token's role may not send signals")
      case 404: ("SIGNAL_NOT_FOUND", "the connection to which the signal was sent is gone")
      case 413: ("SIGNAL_TOO_LARGE", "the signal is too large")
      case 429: ("SIGNAL_RATE_LIMITED", "too many signals in too short a time")
      default: ("SIGNAL_FAILED", "the signal was not sent (\(status))")
      }
    return Text(status, name, message + because(reason), nil, .refused)
  }

  private static func moderation(
    _ code: Int, _ name: String, _ deed: String, _ status: Int, _ reason: String
  ) -> Text {
    Text(
      code, name, "the server did not let us \(deed) (\(status))" + because(reason),
      status == 403 ? "it needs a token with the role moderator" : nil, .refused)
  }

  private static func mediaHint(_ stage: Stage) -> String? {
    switch stage {
    case .signalling: "the other side may have left"
    case .ice: "a firewall or NAT may be in the way: --ice-server gives a TURN server"
    case .dtls: "a firewall may block media, or the other side changed its certificate"
    case .credentials, .media: nil
    }
  }

  private static func because(_ reason: String) -> String { reason.isEmpty ? "" : ": " + shown(reason) }

  private static func shown(_ stages: [StageTime]) -> String {
    stages.isEmpty ? "" : " [\(stages.map(\.text).joined(separator: ", "))]"
  }

  /// Text from a stranger, fit for a terminal: one line, no control characters, at most 200 of them.
  private static func shown(_ text: String) -> String {
    var scalars = String.UnicodeScalarView()
    for scalar in text.unicodeScalars.prefix(200) {
      scalars.append(scalar.properties.generalCategory == .control ? " " : scalar)
    }
    return String(scalars)
  }

  private static func quoted(_ text: String) -> String { "'\(shown(text))'" }

  private static func seconds(_ seconds: Double) -> String {
    abs(seconds) < 1e11 ? "\(seconds.rounded(to: 1)) s" : "the time allowed"
  }
}

extension OpenTokError: CustomStringConvertible {
  public var description: String { "\(message) (\(name) \(code))" }
}
