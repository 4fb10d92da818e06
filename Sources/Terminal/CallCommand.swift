/// What the user wants of the call, by key or by a line on standard input.
package enum CallCommand: Equatable, Sendable {
  package enum Switch: Equatable, Sendable {
    case on, off, toggle

    /// The new value.
    package func applied(to value: Bool) -> Bool {
      switch self {
      case .on: true
      case .off: false
      case .toggle: !value
      }
    }
  }

  case microphone(Switch)
  /// Whether what others say is heard.
  case subscriberAudio(Switch)
  case camera(Switch)
  case swapCamera
  /// Show the next stream there is.
  case nextSubscriber
  case say(String)
  case signal(type: String, data: String)
  case archive(Switch)
  case viewArchive
  /// Tell who is in the session.
  case participants
  /// What a moderator does; `who` is a connection's id, a stream's id, or the name of either.
  case disconnect(who: String)
  case unpublish(who: String)
  case mute(who: String)
  /// All streams, and those that are published from now on.
  case muteAll(except: String?)
  /// Those that are published from now on start with sound again.
  case liftMute
  /// Tell which lines there are.
  case help
  case quit
  /// Ctrl-C: in raw mode the terminal sends no signal for it.
  case interrupt
}

/// Why a line on standard input is no command.
package enum CommandLineError: Error, Equatable, Sendable {
  case unknown(String)
  /// The command and what has to follow it.
  case missing(command: String, what: String)
  case unexpected(command: String)

  package var message: String {
    switch self {
    case .unknown(let word): "unknown command '\(PrintableText.truncated(word, to: 40))'; help lists them"
    case .missing(let command, let what): "\(command) needs \(what)"
    case .unexpected(let command): "nothing may follow \(command)"
    }
  }
}

extension CallCommand {
  private static let words: [String: CallCommand] = [
    "mute-mic": .microphone(.off), "unmute-mic": .microphone(.on), "toggle-mic": .microphone(.toggle),
    "mute-subscriber": .subscriberAudio(.off), "unmute-subscriber": .subscriberAudio(.on),
    "toggle-subscriber": .subscriberAudio(.toggle),
    "mute-camera": .camera(.off), "unmute-camera": .camera(.on), "toggle-camera": .camera(.toggle),
    "swap-camera": .swapCamera, "participants": .participants, "lift-mute": .liftMute, "quit": .quit,
    "q": .quit, "help": .help, "?": .help,
  ]

  /// The lines there are, in one.
  package static let linesHelp =
    "mute-mic, unmute-mic, toggle-mic (the same with subscriber and camera), swap-camera, say TEXT, "
    + "signal TYPE DATA, archive start, archive stop, participants, help, quit; of a moderator: disconnect WHO, "
    + "unpublish WHO, mute WHO, mute-all, mute-all except WHO, lift-mute"

  /// A line of standard input, without its newline; nil if it is blank.
  package static func parse(line: String) throws(CommandLineError) -> CallCommand? {
    let isSpace = { (character: Character) in character == " " || character == "\t" || character == "\r" }
    var line = Substring(line).drop(while: isSpace)
    while let last = line.last, isSpace(last) { line.removeLast() }
    if line.isEmpty { return nil }
    let word = String(line.prefix { !isSpace($0) })
    let rest = line.dropFirst(word.count).drop(while: isSpace)
    if let command = words[word] {
      guard rest.isEmpty else { throw .unexpected(command: word) }
      return command
    }
    switch word {
    case "say":
      guard !rest.isEmpty else { throw .missing(command: word, what: "a text") }
      return .say(String(rest))
    case "signal":
      let type = rest.prefix { !isSpace($0) }
      guard !type.isEmpty else { throw .missing(command: word, what: "a type") }
      return .signal(type: String(type), data: String(rest.dropFirst(type.count).drop(while: isSpace)))
    case "archive":
      switch rest {
      case "start": return .archive(.on)
      case "stop": return .archive(.off)
      default: throw .missing(command: word, what: "start or stop")
      }
    case "disconnect", "unpublish", "mute":
      guard !rest.isEmpty else { throw .missing(command: word, what: "a participant's name") }
      let who = String(rest)
      return word == "disconnect"
        ? .disconnect(who: who) : word == "unpublish" ? .unpublish(who: who) : .mute(who: who)
    case "mute-all":
      if rest.isEmpty { return .muteAll(except: nil) }
      guard rest.prefix(while: { !isSpace($0) }) == "except" else { throw .unexpected(command: word) }
      let who = rest.dropFirst("except".count).drop(while: isSpace)
      guard !who.isEmpty else { throw .missing(command: "mute-all except", what: "a participant's name") }
      return .muteAll(except: String(who))
    default: throw .unknown(word)
    }
  }
}
