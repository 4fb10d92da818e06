import CommandLineKit

extension Commands {
  static let serve = Command(
    "serve", summary: "Run the session server: credentials, signalling and the browser page",
    description: [
      """
      It is ready when it prints 'listening on URL'; that URL in a browser is a peer. SIGTERM ends it, and the calls \
      on it. SIGUSR1 ends it for a restart: clients wait for the next server of the same state directory, and their \
      calls go on. So they do after a crash.
      """,
      """
      Tokens of /session and /room/NAME are good for a day, and 30 s more for clocks that differ. /healthz tells that it \
      lives, /metrics what it does (Prometheus).
      """,
    ],
    flags: serverFlags + accessFlags + logging,
    examples: [
      Example("otchat serve", "on this machine only"),
      Example("otchat serve --config /etc/otchat/serve.json", "with flags and secrets from a file"),
      Example("otchat serve --host 0.0.0.0 --tls --open", "for everybody in the local network"),
    ])

  private static let serverFlags: [Flag] = [
    Flag(
      "config", .file("FILE"), configurable: false, group: Group.server,
      "defaults for these flags: JSON with their names as keys"),
    Flag(
      "host", .text("ADDRESS"), default: .value("127.0.0.1"), group: Group.server,
      "the address to listen on"),
    Flag(
      "port", .integer("N", 0...65_535), default: .value("8080"), group: Group.server,
      "the port to listen on; 0 takes a free one"),
    Flag(
      "public-url", .text("URL"), default: .described("the address it listens on"), group: Group.server,
      "the server's URL as clients reach it, behind a proxy"),
    Flag(
      "tls", group: Group.server, "TLS with a self-signed certificate, made on first use"
    ),
    Flag(
      "tls-cert", .file("FILE"), group: Group.server, "TLS with this certificate (PEM)"),
    Flag("tls-key", .file("FILE"), group: Group.server, "the certificate's key (PEM)"),
    Flag(
      "turn-url", .text("URL"), group: Group.server,
      "the TURN server that clients are told"),
    Flag(
      "turn-secret", .text("SECRET"), secret: true, group: Group.server,
      "the secret shared with the TURN server"),
    Flag(
      "archive-dir", .directory("DIR"), group: Group.server,
      "where archives are kept"),
    Flag(
      "archive-max-duration", .integer("SECONDS", 60...86_400), default: .value("14400"),
      group: Group.server, "end an archive after so long"),
    Flag(
      "connections-per-address", .integer("N", 1...10_000), default: .value("400"), group: Group.server,
      "take so many connections of one remote address; loopback has no such limit"),
    Flag(
      "session-callback", .text("URL"), environment: "OTCHAT_SESSION_CALLBACK", secret: true,
      group: Group.server, "POST there which connections and streams come and go"),
    Flag(
      "archive-callback", .text("URL"), environment: "OTCHAT_ARCHIVE_CALLBACK", secret: true,
      group: Group.server, "POST there what becomes of archives"),
    Flag(
      "events", .file("FILE"), group: Group.server,
      "write events as JSON Lines; - is standard output"),
    Flag(
      "log-format",
      .choice("FORMAT", [Choice("text", "a line each"), Choice("json", "a JSON object a line")]),
      default: .value("text"), group: Group.server, "how diagnostics are written"),
    Flag("daemon", configurable: false, group: Group.server, "go on in the background once it listens"),
    Flag("pid-file", .file("FILE"), group: Group.server, "write the process id there"),
  ]

  private static let accessFlags: [Flag] = [
    Flag(
      "api-key", .text("KEY"), default: .described("made once and kept"), environment: "OTCHAT_API_KEY",
      group: Group.access, "the project's API key"),
    Flag(
      "api-secret", .text("SECRET"), default: .described("made once and kept"),
      environment: "OTCHAT_API_SECRET", secret: true, group: Group.access,
      "the secret that signs tokens; a process list shows flags, not the environment"),
    Flag(
      "access-key", .text("KEY"), secret: true, group: Group.access,
      "asked of /session and the archive routes when the host is not loopback"),
    Flag("open", group: Group.access, "ask for no access key"),
  ]

  static let tokenCreate = Command(
    "token", "create", summary: "Make a token for a session, offline",
    flags: [
      Flag(
        "api-key", .text("KEY"), environment: "OTCHAT_API_KEY", configurable: false, group: Group.token,
        "the project's API key"),
      Flag(
        "api-secret", .text("SECRET"), environment: "OTCHAT_API_SECRET", configurable: false, secret: true,
        group: Group.token, "the project's secret; a process list shows flags, not the environment"),
      Flag(
        "session-id", .text("ID"), environment: "OTCHAT_SESSION_ID", configurable: false, group: Group.token,
        "the session"),
      Flag(
        "role",
        .choice(
          "ROLE",
          [
            Choice("subscriber", "may subscribe and signal"),
            Choice("publisher", "may publish too"),
            Choice("publisheronly", "may publish, and nothing else"),
            Choice("moderator", "may also mute and disconnect others"),
          ]), default: .value("publisher"), configurable: false, group: Group.token, "what the holder may do"),
      Flag(
        "expires-in", .integer("SECONDS", 1...2_592_000), default: .value("86400"), configurable: false,
        group: Group.token, "how long it is valid; clocks may differ by 30 s, so it is taken so much longer"),
      Flag(
        "data", .text("TEXT"), configurable: false, group: Group.token,
        "connection data that others in the session see"),
      Flag(
        "format", .choice("FORMAT", [Choice("t1", "OpenTok's own"), Choice("jwt", "a JSON Web Token")]),
        default: .value("t1"), configurable: false, group: Group.token, "how it is written"),
    ])

  static let tokenInspect = Command(
    "token", "inspect", summary: "Tell what a token or a session id says, offline",
    operands: [Operand("TOKEN", "a token or a session id; - reads it from standard input")],
    flags: [
      Flag(
        "api-secret", .text("SECRET"), environment: "OTCHAT_API_SECRET", configurable: false, secret: true,
        group: Group.token, "check the signature, too")
    ])
}
