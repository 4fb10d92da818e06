import CommandLineKit
import Terminal

extension Commands {
  static let connect = Command(
    "connect", summary: "Join a session, publish, subscribe, chat",
    description: [
      """
      Credentials, the first that are given: --api-key with --session-id and --token; --server; the \
      configuration file; the environment. With none of them an otchat server on 127.0.0.1:8080 is used if \
      one answers; otherwise the embedded server is started there, and the page's URL for others is printed.
      """,
      """
      Keys: m mute microphone, s mute what is heard, c next camera, v camera off, Tab next stream, t chat, \
      a archive, w view the last archive, i statistics, p participants, f filter, ? help, q leave. When standard input is no terminal it takes commands, one a \
      line: mute-mic, unmute-mic, toggle-mic (the same with subscriber and camera), swap-camera, say TEXT, \
      signal TYPE DATA, archive start, archive stop, participants, quit; of a moderator: disconnect WHO, unpublish WHO, mute WHO, \
      mute-all, mute-all except WHO, lift-mute.
      """,
    ],
    flags: sessionFlags + publishingFlags + subscribingFlags + displayFlags + scriptFlags + networkFlags
      + debugging + logging,
    examples: [
      Example("otchat connect", "a call: the printed URL is for the other one's browser"),
      Example(
        "otchat connect --server https://example.org --video-source test --audio-source tone --render none "
          + "--events - --duration 10", "a scripted participant"),
    ])

  private static let sessionFlags: [Flag] = [
    Flag(
      "api-key", .text("KEY"), environment: "OTCHAT_API_KEY", group: Group.credentials,
      "the project's API key"),
    Flag(
      "session-id", .text("ID"), environment: "OTCHAT_SESSION_ID", group: Group.credentials,
      "the session to join"),
    Flag(
      "token", .text("TOKEN"), environment: "OTCHAT_TOKEN", secret: true, group: Group.credentials,
      "the token for the session"),
    Flag(
      "server", .text("URL"), environment: "OTCHAT_SERVER", group: Group.credentials,
      "an app server: credentials come from URL/session; a URL that names an endpoint is used as it is"),
    Flag("room", .text("NAME"), group: Group.credentials, "take the credentials from URL/room/NAME"),
    Flag(
      "api-url", .text("URL"),
      default: .described("the server's answer, else the server if it is an otchat, else OpenTok's"),
      group: Group.credentials, "the OpenTok API, for session info"),
    Flag(
      "config", .file("FILE"), default: .described("./otchat.json, $XDG_CONFIG_HOME/otchat/config.json"),
      configurable: false, group: Group.credentials, "defaults for these flags, as in Config.example.json"),
  ]

  private static let publishingFlags: [Flag] = [
    Flag(
      "name", .text("TEXT"), default: .described("user@host"), group: Group.publishing,
      "the published stream's name"),
    Flag("no-publish", group: Group.publishing, "only subscribe"),
    Flag(
      "mic", negatable: true, default: .value("true"), group: Group.publishing,
      "start with the microphone on, or muted"),
    Flag(
      "camera", negatable: true, default: .value("true"), group: Group.publishing,
      "start with video on, or off"),
    Flag(
      "video-source", .choice("SPEC", videoSources), repeatable: true,
      default: .described("camera if there is one, else test"),
      group: Group.publishing, "what is sent; several are what swap-camera cycles through"),
    Flag(
      "audio-source", .choice("SPEC", audioSources),
      default: .described("mic if there is one, else silence"), group: Group.publishing, "what is said"),
    Flag(
      "resolution", .size("WxH", 16...4096), default: .described("640x480, with --screen 1280x720"),
      group: Group.publishing, "size of the sent picture"),
    Flag(
      "frame-rate", .integer("N", 1...60), default: .described("30, with --screen 15"),
      group: Group.publishing,
      "pictures a second, at most"),
    Flag(
      "video-bitrate", .integer("KBPS", 30...20_000), default: .described("adaptive"),
      group: Group.publishing,
      "kbit/s of video, at most; by itself up to 1500, with --screen 2488 at 1280x720"),
    Flag(
      "audio-bitrate", .integer("KBPS", 6...510), default: .value("40"), group: Group.publishing,
      "kbit/s of audio"),
    Flag("stereo", group: Group.publishing, availability: .notYet, "two audio channels"),
    Flag("dtx", group: Group.publishing, "send next to nothing while there is silence"),
    Flag(
      "screen", group: Group.publishing,
      "publish a screen-sharing stream: the screen if nothing else is said, at most 15 pictures a second"),
    Flag(
      "no-aec", group: Group.publishing,
      "no echo cancelling, noise suppression and gain control of the microphone"),
    Flag(
      "push-to-talk", group: Group.publishing,
      "start muted, and speak while the space bar is held; a second after it is let go it is quiet again"),
  ]

  private static let videoSources: [Choice] = [
    Choice(
      "camera", "a camera, by a part of its name, its number or path",
      parameter: .optional("NAME|N|/dev/videoN")),
    Choice(
      "screen",
      "an X11 screen, one of its monitors or windows (by id or a part of its title) with the cursor",
      parameter: .optional("DISPLAY|MONITOR|0xID|TITLE")),
    Choice("test", "a moving test pattern with the time"),
    Choice("noise", "noise"),
    Choice("black", "a black picture"),
    Choice(
      "file", "a file of any format, in a loop; once with ?once at its end", parameter: .required("PATH")),
    Choice("none", "no video"),
  ]

  private static let audioSources: [Choice] = [
    Choice("mic", "a microphone, by a part of its name or by ALSA's name", parameter: .optional("NAME")),
    Choice("test", "a blip each second, with the test pattern's flash"),
    Choice("tone", "a sine tone, 440 Hz if nothing else is said", parameter: .optional("HZ")),
    Choice("noise", "noise"),
    Choice("silence", "silence"),
    Choice(
      "file", "a file of any format, in a loop; once with ?once at its end", parameter: .required("PATH")),
    Choice("none", "no audio"),
  ]

  private static let subscribingFlags: [Flag] = [
    Flag(
      "subscribe",
      .choice(
        "WHICH",
        [
          Choice("first", "the first stream of somebody else, and when it ends the next one there is"),
          Choice("all", "every stream of others"),
          Choice("self", "the own stream, back from the network"),
          Choice("none", "nothing"),
          Choice("name", "streams of that name", parameter: .required("TEXT")),
        ]), default: .value("first"), group: Group.subscribing, "what is received"),
    Flag("mute-subscriber", group: Group.subscribing, "start with received audio muted"),
    Flag(
      "audio-sink",
      .choice(
        "SPEC",
        [
          Choice(
            "speaker", "a loudspeaker, by a part of its name or by ALSA's", parameter: .optional("NAME")),
          Choice("null", "nowhere"),
          Choice("file", "a WAV file", parameter: .required("PATH.wav")),
        ]), default: .described("speaker if there is one, else null"), group: Group.subscribing,
      "where received audio goes"),
    Flag(
      "record", .directory("DIR"), group: Group.subscribing,
      "record what is received, a WebM file a stream; the folder is made if there is none"),
    Flag(
      "snapshot", .file("FILE.png"), configurable: false, group: Group.subscribing,
      "write the first received picture to a file in its full size, then leave"),
    Flag(
      "after", .number("SECONDS", 0...86_400), configurable: false, group: Group.subscribing,
      "take the snapshot so long after the first picture"),
  ]

  private static let displayFlags: [Flag] = [
    Flag(
      "render",
      .choice(
        "HOW",
        [
          Choice("auto", "the best the terminal says it can do; none if standard output is no terminal"),
          Choice("kitty", "pixels, by the kitty graphics protocol"),
          Choice("sixel", "pixels, as sixels"),
          Choice("iterm2", "pixels, as iTerm2's inline images"),
          Choice("symbols", "Unicode block symbols in colour"),
          Choice("ascii", "ASCII characters"),
          Choice("none", "no picture and no keys: commands are typed as lines"),
        ]), default: .value("auto"), group: Group.screen, "how pictures are shown"),
    Flag(
      "filter",
      .choice("NAME", PictureFilter.allCases.map { Choice($0.rawValue, $0.summary) }),
      default: .value("none"), group: Group.screen, "what is done to shown pictures; f goes to the next"),
    Flag("self-view", group: Group.screen, "the own picture in a corner"),
  ]

  private static let scriptFlags: [Flag] = [
    Flag(
      "say", .text("TEXT"), repeatable: true, configurable: false, group: Group.script,
      "send a chat line once connected"),
    Flag(
      "signal", .pair("TYPE=DATA"), repeatable: true, configurable: false, group: Group.script,
      "send a signal once connected"),
    Flag(
      "to", .text("CONNECTION"), configurable: false, group: Group.script,
      "send what --say and --signal send to one connection only"),
    Flag(
      "duration", .number("SECONDS", 0...31_536_000), group: Group.script,
      "leave that long after being connected"),
    Flag(
      "until", .text("EVENT"), configurable: false, group: Group.script,
      "leave when the event comes, by its name in --events: signal, streamDestroyed, …"),
    Flag(
      "expect", .text("EXPR"), repeatable: true, configurable: false, group: Group.script,
      "check a figure of stats when leaving, or an event, and exit with 1 if it does not hold: "
        + "'subscriber.video.framesPerSecond >= 15', 'event signal within 5s', "
        + "'subscriber.audio.audioLevel > -40 for 3s', 'p95(subscriber.video.endToEndLatency) <= 200'; "
        + "leaves early when all is decided"),
    Flag(
      "events", .file("FILE"), group: Group.script,
      "write events as JSON Lines; - is standard output, without a picture there"),
    Flag(
      "stats", .number("SECONDS", 0.1...3600), group: Group.script,
      "a stats event each so often, and a last one on leaving"),
    Flag(
      "junit", .file("FILE"), configurable: false, group: Group.script,
      "write the results of --expect as a JUnit report"),
    Flag(
      "count", .integer("N", 1...100), configurable: false, group: Group.script,
      "that many participants in one process, called NAME 1, NAME 2, …; without pictures and keys"),
  ]

  static let pcap = Flag(
    "pcap", .file("FILE"), configurable: false, group: Group.logging,
    "write RTP and RTCP without encryption, as pcapng for Wireshark; - is standard output")

  private static let debugging: [Flag] = [
    pcap,
    Flag(
      "dump-sdp", configurable: false, group: Group.logging,
      "write offers and answers to where diagnostics go, without their passwords"),
  ]

  private static let networkFlags: [Flag] = [
    Flag(
      "timeout", .number("SECONDS", 0.1...600), default: .value("10"), group: Group.network,
      "for each step of connecting"),
    Flag(
      "ice-server", .text("URL"), repeatable: true, group: Group.network,
      "a STUN or TURN server besides the session's: stun:HOST:PORT, turn:USER:PASSWORD@HOST:PORT"),
    Flag("relay-only", group: Group.network, "media goes through TURN only"),
    Flag("ca", .file("FILE"), group: Group.network, "certificates (PEM) to trust besides the system's"),
    Flag("insecure", group: Group.network, "accept any TLS certificate"),
  ]
}
