import Base
import CommandLineKit
import FoundationEssentials
import Glibc
import MediaIO
import OTKit
import Participant
import Terminal

/// The flags of `connect` as the modules below want them.
struct ConnectOptions {
  enum Rendering {
    case none
    /// Nil: as the terminal says.
    case terminal(PictureStyle?)
  }

  var session: Session.Configuration
  var publisher: Publisher?
  var participant: Participant.Options
  var rendering: Rendering
  var capabilities: TerminalCapabilities
  var state: CallState
  /// A picture to be taken; nil: none.
  var snapshot: Snapshot?
  /// Where JSON Lines go; nil: nowhere.
  var events: String?

  /// - Parameter name: instead of the flag's.
  init(_ arguments: Arguments, environment: [String: String], name: String? = nil) throws {
    session = try Self.session(arguments)
    session.logsDescriptions = arguments.boolean("dump-sdp")
    publisher = try Self.publisher(arguments, environment: environment, name: name)
    participant = try Self.participant(arguments)
    events = arguments.text("events")
    snapshot = try Self.snapshot(arguments, participant)
    capabilities = TerminalCapabilities(environment: environment)
    rendering = Self.rendering(
      arguments, capabilities, outputIsTaken: events == "-" || arguments.text("pcap") == "-")
    state = CallState(
      ownName: publisher?.configuration.name ?? Self.defaultName(environment), isPublishing: publisher != nil,
      microphoneOn: publisher?.isPublishingAudio ?? false, cameraOn: publisher?.isPublishingVideo ?? false,
      subscriberAudioOn: participant.subscriberAudio, showsSelfView: arguments.boolean("self-view"),
      filter: arguments.text("filter").flatMap(PictureFilter.init(rawValue:)) ?? .none,
      pushToTalk: arguments.boolean("push-to-talk"))
  }

  static func trust(_ arguments: Arguments) -> TLSTrust {
    TLSTrust(certificateFile: arguments.text("ca"), insecure: arguments.boolean("insecure"))
  }

  static func timeout(_ arguments: Arguments) -> Duration { .seconds(arguments.number("timeout") ?? 10) }

  private static func session(_ arguments: Arguments) throws -> Session.Configuration {
    var sinkPath: String?
    do throws(SourceError) {
      if case .wav(let path) = try AudioSinkSpecification(parsing: arguments.text("audio-sink") ?? "auto") {
        sinkPath = path
      }
    } catch {
      throw Failure(.usage, "--audio-sink: \(error.message)", hint: error.hint)
    }
    // Told now, and not when the first sound comes.
    if let sinkPath { close(try EventOutput.open(sinkPath)) }
    return Session.Configuration(
      apiURL: arguments.text("api-url"), trust: trust(arguments), timeout: timeout(arguments),
      iceServers: try arguments.texts("ice-server").map(ICEServer.init(parsing:)),
      relayOnly: arguments.boolean("relay-only"), audioSink: arguments.text("audio-sink") ?? "auto",
      audio: .init(
        bitrate: (arguments.integer("audio-bitrate") ?? 40) * 1000, dtx: arguments.boolean("dtx"),
        processesMicrophone: !arguments.boolean("no-aec")))
  }

  /// Bits per second, at most, where nothing is asked for. A full page of text that has scrolled takes 2.7 bits a point
  /// until it is sharp, which is to be within a second.
  static func usualVideoBitrate(isScreen: Bool, _ size: PixelSize) -> Int {
    let usual = Publisher.Configuration().maximumVideoBitrate
    return isScreen ? min(max(usual, size.width * size.height * 27 / 10), 6_000_000) : usual
  }

  private static func publisher(
    _ arguments: Arguments, environment: [String: String], name: String?
  ) throws -> Publisher? {
    guard !arguments.boolean("no-publish") else { return nil }
    let isScreen = arguments.boolean("screen")
    // Text has to be legible.
    let usual = isScreen ? PixelSize(width: 1280, height: 720) : PixelSize(width: 640, height: 480)
    let size = arguments.size("resolution") ?? usual
    let sources = arguments.texts("video-source")
    return try Publisher(
      Publisher.Configuration(
        name: name ?? arguments.text("name") ?? defaultName(environment),
        videoSources: sources.isEmpty ? [isScreen ? "screen" : "auto"] : sources,
        audioSource: arguments.text("audio-source") ?? "auto", width: size.width, height: size.height,
        frameRate: arguments.integer("frame-rate") ?? (isScreen ? 15 : 30),
        maximumVideoBitrate: arguments.integer("video-bitrate").map { $0 * 1000 }
          ?? usualVideoBitrate(isScreen: isScreen, size),
        videoType: isScreen ? .screen : .camera,
        publishAudio: arguments.boolean("mic") && !arguments.boolean("push-to-talk"),
        publishVideo: arguments.boolean("camera")))
  }

  private static func participant(_ arguments: Arguments) throws -> Participant.Options {
    var options = Participant.Options()
    let policy = arguments.text("subscribe") ?? "first"
    guard let subscribe = SubscriptionPolicy(parsing: policy) else {
      throw Failure(.usage, "--subscribe: '\(policy)' is not first, all, self, none or name:TEXT")
    }
    options.subscribe = subscribe
    options.subscriberAudio = !arguments.boolean("mute-subscriber")
    options.signals = arguments.texts("say").map { (Participant.chatType, $0) }
    for pair in arguments.texts("signal") {
      let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      options.signals.append((String(parts[0]), parts.count > 1 ? String(parts[1]) : ""))
    }
    options.signalsTo = arguments.text("to")
    options.duration = arguments.number("duration").map { .seconds($0) }
    options.until = arguments.text("until")
    if let name = options.until, !ParticipantEvent.names.contains(name) {
      let near = Suggestion.nearest(to: name, among: ParticipantEvent.names)
      throw Failure(
        .usage, "--until: '\(name)' is no event",
        hint: near.map { "did you mean '\($0)'?" }
          ?? "one of: \(ParticipantEvent.names.joined(separator: ", "))")
    }
    options.expectations = try arguments.texts("expect").map { text in
      do throws(ExpectationError) {
        return try Expectation(parsing: text)
      } catch {
        throw Failure(
          .usage, "--expect: '\(text)': \(error.message) (character \(error.position))",
          hint: "for example 'subscriber.video.framesPerSecond >= 15' or 'event signal within 5s'")
      }
    }
    options.recordings = try recordings(arguments)
    options.statisticsInterval = arguments.number("stats").map { .seconds($0) }
    return options
  }

  /// Told now, and not when the first picture comes.
  private static func recordings(_ arguments: Arguments) throws -> RecordingDirectory? {
    guard let path = arguments.text("record") else { return nil }
    let directory = RecordingDirectory(path: path)
    do throws(SourceError) {
      try directory.prepare()
    } catch {
      throw Failure(.cannotWrite, "--record: \(error.message)", hint: error.hint)
    }
    return directory
  }

  private static func snapshot(
    _ arguments: Arguments, _ participant: Participant.Options
  ) throws -> Snapshot? {
    guard let path = arguments.text("snapshot") else {
      if arguments.isGiven("after") {
        throw Failure(.usage, "--after says when the picture of --snapshot is taken, and there is none")
      }
      return nil
    }
    guard participant.subscribe != .none else {
      throw Failure(.usage, "--snapshot takes a received picture, and --subscribe none receives none")
    }
    return try Snapshot(path: path, delay: .seconds(arguments.number("after") ?? 0))
  }

  private static func rendering(
    _ arguments: Arguments, _ capabilities: TerminalCapabilities, outputIsTaken: Bool
  ) -> Rendering {
    let terminal = isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1 && capabilities.addressable
    guard terminal, !outputIsTaken else { return .none }
    switch arguments.text("render") {
    case "none": return .none
    case "kitty": return .terminal(capabilities.isMultiplexed ? nil : .kitty)
    case "sixel": return .terminal(.sixel)
    case "iterm2": return .terminal(capabilities.isMultiplexed ? nil : .iterm2)
    case "symbols": return .terminal(.symbols)
    case "ascii": return .terminal(.ascii)
    default: return .terminal(nil)
    }
  }

  static func defaultName(_ environment: [String: String]) -> String {
    let user =
      environment["USER"] ?? environment["LOGNAME"] ?? getpwuid(getuid()).map {
        String(cString: $0.pointee.pw_name)
      } ?? "somebody"
    return "\(user)@\(ProcessInfo.processInfo.hostName.prefix { $0 != "." })"
  }
}

extension ICEServer {
  /// `stun:HOST[:PORT]`, `turn:USER:PASSWORD@HOST[:PORT]`, as on the command line.
  init(parsing text: String) throws {
    guard text.split(separator: ":").count > 1,
      ["stun", "stuns", "turn", "turns"].contains(text.prefix { $0 != ":" }.lowercased())
    else {
      throw Failure(
        .usage, "--ice-server: that names no STUN or TURN server",
        hint: "it looks like stun:HOST:PORT or turn:USER:PASSWORD@HOST:PORT")
    }
    guard let colon = text.firstIndex(of: ":"), let at = text.lastIndex(of: "@"), colon < at else {
      guard !text.lowercased().hasPrefix("turn") else {
        throw Failure(
          .usage, "--ice-server: a TURN server wants a user and a password",
          hint: "it looks like turn:USER:PASSWORD@HOST:PORT")
      }
      self.init(urls: [text])
      return
    }
    let scheme = text[...colon]
    let user = text[text.index(after: colon)..<at].split(separator: ":", maxSplits: 1).map(String.init)
    self.init(
      urls: [String(scheme + text[text.index(after: at)...])], username: user.first,
      credential: user.count > 1 ? user[1] : nil)
  }
}
