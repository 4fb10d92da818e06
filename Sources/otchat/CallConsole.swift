import Base
import Glibc
import MediaIO
import OTKit
import Participant
import Terminal

/// What a person sees of a call.
protocol CallConsole: Sendable {
  /// Any thread; never blocks.
  func show(_ event: ParticipantEvent)
  /// Whether it shows figures, which cost something to collect.
  var showsStatistics: Bool { get }
  /// The place for our own picture (nil) or a stream's; nil if pictures are not shown.
  func renderer(for streamID: String?) -> (any VideoSink)?
  /// What the token lets us do to others.
  func offer(_ capabilities: Capabilities)
  /// A line that is no event's.
  func tell(_ line: String)
  func stop()
}

/// Without pictures: what happens, as lines on standard error.
struct PlainConsole: CallConsole {
  private static let longestLine = 1000
  let quiet: Bool
  /// A person reads this, or has it read out: no line begins with the program's name.
  private let isTalkedTo: Bool
  /// For a person: who does not answer is found by them. A script asks for its own.
  let showsStatistics: Bool
  private let text = EventText()

  init(quiet: Bool, isTalkedTo: Bool) {
    self.quiet = quiet
    self.isTalkedTo = isTalkedTo
    showsStatistics = isTalkedTo && !quiet
  }

  func show(_ event: ParticipantEvent) {
    let line = text.line(event)
    switch event {
    case .error, .session(.error): break
    default: if quiet { return }
    }
    guard let line = line.map({ PrintableText.truncated($0, to: Self.longestLine) }) else { return }
    if isTalkedTo {
      Output.line(line)
    } else {
      Output.note(line)
    }
  }

  func renderer(for streamID: String?) -> (any VideoSink)? { nil }
  func offer(_ capabilities: Capabilities) {}
  func tell(_ line: String) { Output.note(line) }
  func stop() {}
}

extension Participant {
  /// Does what a key or a line asks for.
  func obey(_ command: CallCommand, _ archives: ArchiveControl, tell: @Sendable (String) -> Void) async {
    switch command {
    case .microphone(let change): await setMicrophone(change.applied(to: isMicrophoneOn))
    case .camera(let change): await setCamera(change.applied(to: isCameraOn))
    case .subscriberAudio(let change): await setSubscriberAudio(change.applied(to: isSubscriberAudioOn))
    case .swapCamera: await swapCamera()
    case .nextSubscriber: nextSubscriber()
    case .say(let text): await say(text)
    case .signal(let type, let data): await send(type: type, data: data, to: nil)
    case .archive(let change): await archives.change(change, self)
    case .viewArchive: if let page = await archives.page(self) { tell("archive: \(page)") }
    case .participants: tellParticipants()
    case .disconnect(let who): await disconnect(who)
    case .unpublish(let who): await unpublish(who)
    case .mute(let who): await mute(who)
    case .muteAll(let who): await muteAll(except: who)
    case .liftMute: await liftMute()
    case .help: Output.note(CallCommand.linesHelp)
    case .quit: leave()
    case .interrupt: kill(getpid(), SIGINT)
    }
  }
}
