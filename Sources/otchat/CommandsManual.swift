import CommandLineKit
import Participant

/// Sections of the manual page that no command's declaration holds.
extension Commands {
  static let keys = Program.Section(
    "Keys",
    [
      ("m", "mute or unmute the microphone"), ("s", "mute or unmute what is heard"),
      ("c", "next camera"), ("v", "camera off or on"),
      ("space", "with --push-to-talk: speak while it is held"), ("Tab", "next subscribed stream"),
      ("Enter", "that one alone, or all beside each other"),
      ("t", "type a chat line; Enter sends it, Esc gives it up"),
      ("PgUp, PgDn", "read the chat back"),
      ("a", "start or stop an archive"), ("w", "the address of the last archive's page"),
      ("f", "next filter"),
      ("i", "statistics"),
      (
        "p",
        "who is here; arrows pick one, and where the token allows it d d disconnects, u ends the stream, k mutes, K "
          + "mutes all others and whoever publishes later, l ends that"
      ), ("?", "help"),
      ("Ctrl-Z", "to the shell; fg comes back, and the call stands still meanwhile"), ("q, Ctrl-C", "leave"),
    ])

  static let lines = Program.Section(
    "Standard input",
    [
      ("mute-mic, unmute-mic, toggle-mic", "the microphone"),
      ("mute-subscriber, unmute-subscriber, toggle-subscriber", "what is heard"),
      ("mute-camera, unmute-camera, toggle-camera", "the camera"),
      ("swap-camera", "the next of the --video-source flags"),
      ("say TEXT", "a chat line"), ("signal TYPE DATA", "a signal"),
      ("archive start, archive stop", "an archive of the session"),
      ("participants", "an event with everybody who is here"),
      (
        "disconnect WHO, unpublish WHO, mute WHO",
        "of a moderator; WHO is a name, a connection's or a stream's id"
      ),
      (
        "mute-all, mute-all except WHO, lift-mute",
        "of a moderator: mutes everybody and whoever publishes later, and ends that"
      ),
      ("help", "which lines there are"), ("quit, q", "leave"),
    ])

  static let exitStatus = Program.Section(
    "Exit status",
    [
      ("0", "left as asked"), ("1", "an --expect failed (not in this version yet)"), ("64", "wrong usage"),
      ("65", "bad input file"),
      ("66", "input file missing"), ("69", "server or peer unreachable"), ("70", "internal error"),
      ("73", "cannot write output"), ("75", "timed out, trying again may help"),
      ("76", "the server's answer makes no sense"),
      ("77", "refused: token invalid or expired, forbidden, device permission, forced to disconnect"),
      ("78", "bad configuration"),
      ("129, 130, 131, 143", "SIGHUP, SIGINT, SIGQUIT, SIGTERM after a clean leave"),
    ])

  static let events = Program.Section(
    "Events", [("--events, --until", ParticipantEvent.names.joined(separator: ", "))])

  static let environment = Program.Section(
    "Environment",
    [
      ("OTCHAT_SERVER, OTCHAT_API_KEY, OTCHAT_SESSION_ID, OTCHAT_TOKEN", "credentials for connect"),
      ("OTCHAT_API_SECRET", "the secret for serve and token, which no process list shows"),
      ("NO_COLOR", "if it is set and not empty, pictures have no colour"),
      ("XDG_CONFIG_HOME, XDG_STATE_HOME", "where the configuration and the server's key are kept"),
    ])

  static let files = Program.Section(
    "Files",
    [
      (
        "./otchat.json, $XDG_CONFIG_HOME/otchat/config.json",
        "defaults for the flags of connect (of serve only a file that --config names)"
      ),
      ("$XDG_STATE_HOME/otchat", "API key and secret of serve, mode 0600"),
    ])
}
