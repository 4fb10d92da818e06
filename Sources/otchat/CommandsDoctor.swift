import CommandLineKit

extension Commands {
  static let doctor = Command(
    "doctor", summary: "Tell what this machine and network can do, with a verdict for each",
    description: [
      """
      Devices and terminal; with --server its name, its credentials, the token, the clock, the session's information, \
      and whether its STUN and TURN servers answer. Exit status 69 if something that a call needs fails.
      """
    ],
    flags: [
      Flag(
        "server", .text("URL"), environment: "OTCHAT_SERVER", configurable: false, group: Group.credentials,
        "the app server whose way is looked at"),
      Flag(
        "room", .text("NAME"), configurable: false, group: Group.credentials,
        "take the credentials from URL/room/NAME"),
      Flag(
        "ice-server", .text("URL"), repeatable: true, configurable: false, group: Group.network,
        "a STUN or TURN server to try besides the session's: stun:HOST:PORT, turn:USER:PASSWORD@HOST:PORT"),
      Flag(
        "timeout", .number("SECONDS", 0.1...600), default: .value("5"), configurable: false,
        group: Group.network, "for each answer"),
      Flag(
        "ca", .file("FILE"), configurable: false, group: Group.network,
        "certificates (PEM) to trust besides the system's"),
      Flag("insecure", configurable: false, group: Group.network, "accept any TLS certificate"),
      Flag("json", configurable: false, group: Group.script, "as JSON"),
    ] + logging,
    examples: [
      Example("otchat doctor", "devices and terminal"),
      Example("otchat doctor --server https://example.org", "and the way to a session"),
    ])
}
