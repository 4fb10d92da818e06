import CommandLineKit

extension Commands {
  static let archives: [Command] = [
    Command(
      "archive", "start", summary: "Start an archive of a session and print its id",
      flags: archiveSession + [
        Flag("name", .text("TEXT"), group: Group.archive, "the archive's name"),
        Flag(
          "output-mode",
          .choice(
            "MODE",
            [
              Choice("composed", "all streams in one MP4 file"),
              Choice("individual", "one WebM file a stream, in a ZIP file"),
            ]), default: .value("composed"), group: Group.archive, "what is made"),
        Flag(
          "stream-mode",
          .choice(
            "MODE",
            [
              Choice("auto", "every stream"), Choice("manual", "those that are added by the REST API"),
            ]), default: .value("auto"), group: Group.archive, "which streams are recorded"),
        Flag(
          "resolution", .text("WxH"), default: .value("640x480"), group: Group.archive,
          "of a composed archive: 640x480, 1280x720, 1920x1080, or upright"),
        Flag(
          "layout",
          .choice(
            "TYPE",
            [
              Choice("bestFit", "all of the same size"),
              Choice("pip", "one fills the picture, one is in a corner"),
              Choice("verticalPresentation", "the focus on the left, the others in a column"),
              Choice("horizontalPresentation", "the focus above, the others in a row"),
            ]), default: .value("bestFit"), group: Group.archive, "how a composed archive is arranged"),
      ] + archiveOutput,
      examples: [
        Example("otchat archive start", "record the call on the otchat server of this machine"),
        Example(
          "otchat archive start --room kitchen --output-mode individual", "each stream in a file of its own"),
      ]),
    Command(
      "archive", "stop", summary: "Stop an archive",
      operands: [
        Operand("ARCHIVE", "its id; without it the one that the session is recorded in", required: false)
      ],
      flags: archiveSession + archiveOutput),
    Command(
      "archive", "list", summary: "List a session's archives, the newest first",
      flags: archiveSession + archiveOutput),
    Command(
      "archive", "view", summary: "Print the address of the page that shows an archive",
      operands: [Operand("ARCHIVE", "its id; without it the session's latest", required: false)],
      flags: archiveSession + archiveOutput),
    Command(
      "archive", "delete", summary: "Delete an archive and its file",
      operands: [Operand("ARCHIVE", "its id")], flags: archiveSession),
  ]

  private static let archiveSession: [Flag] = [
    Flag(
      "server", .text("URL"), default: .value(ArchiveCommand.standardServer), environment: "OTCHAT_SERVER",
      configurable: false, group: Group.credentials, "the server; ?accessKey=KEY in it, if it asks for a key"),
    Flag(
      "room", .text("NAME"), configurable: false, group: Group.credentials, "the room whose session is meant"),
    Flag(
      "session-id", .text("ID"), environment: "OTCHAT_SESSION_ID", configurable: false,
      group: Group.credentials, "the session that is meant"),
    Flag(
      "timeout", .number("SECONDS", 0.1...600), default: .value("10"), configurable: false,
      group: Group.network, "for each request"),
    Flag(
      "ca", .file("FILE"), configurable: false, group: Group.network,
      "certificates (PEM) to trust besides the system's"),
    Flag("insecure", configurable: false, group: Group.network, "accept any TLS certificate"),
  ]

  private static let archiveOutput: [Flag] = [
    Flag("json", configurable: false, group: Group.script, "what the server says, as JSON")
  ]
}
