import CommandLineKit

extension Commands {
  static let load = Command(
    "load", summary: "Load a session with many participants, and print what they got",
    description: [
      """
      Publishers and subscribers in this process, which join over a time, stay for another, and are looked at: join \
      times, losses, pictures a second, latency, CPU and memory. Without --server a session server is started for it. \
      CPU and memory are those of this process, with everything that runs in it.
      """
    ],
    flags: loadFlags + [pcap] + logging,
    examples: [
      Example("otchat load --subscribers 40 --decode none", "forty who count packets of one stream"),
      Example(
        "otchat load --server http://127.0.0.1:8080 --room big --publishers 0 --subscribers 10 --json load.json",
        "ten who decode what others publish there"),
    ])

  private static let loadFlags: [Flag] = [
    Flag(
      "server", .text("URL"), default: .described("one that is started for it"), configurable: false,
      group: Group.credentials, "the app server that gives the credentials"),
    Flag(
      "room", .text("NAME"), configurable: false, group: Group.credentials,
      "take the credentials from URL/room/NAME"),
    Flag(
      "publishers", .integer("N", 0...100), default: .value("1"), configurable: false, group: Group.script,
      "how many publish the test pattern"),
    Flag(
      "subscribers", .integer("N", 0...100), default: .value("10"), configurable: false, group: Group.script,
      "how many receive every stream"),
    Flag(
      "decode",
      .choice(
        "WHICH",
        [
          Choice("all", "every subscriber decodes"), Choice("none", "packets are counted"),
          Choice("one-in", "one in K decodes", parameter: .required("K")),
        ]),
      default: .value("all"), configurable: false, group: Group.script,
      "which subscribers decode what they receive"),
    Flag(
      "ramp-up", .number("SECONDS", 0...3600), default: .value("2"), configurable: false, group: Group.script,
      "over which the subscribers join"),
    Flag(
      "hold", .number("SECONDS", 1...86_400), default: .value("10"), configurable: false, group: Group.script,
      "how long they stay when all have joined; what is measured is measured then"),
    Flag(
      "resolution", .size("WxH", 16...4096), default: .value("640x480"), configurable: false,
      group: Group.publishing, "size of the sent pictures"),
    Flag(
      "frame-rate", .integer("N", 1...60), default: .value("30"), configurable: false,
      group: Group.publishing,
      "pictures a second, at most"),
    Flag(
      "json", .file("FILE"), configurable: false, group: Group.script,
      "write the report as JSON; - is standard output"),
    Flag(
      "events", .file("FILE"), configurable: false, group: Group.script,
      "write all participants' events as JSON Lines"),
    Flag(
      "ca", .file("FILE"), configurable: false, group: Group.network,
      "certificates (PEM) to trust besides the system's"),
    Flag("insecure", configurable: false, group: Group.network, "accept any TLS certificate"),
  ]
}
