import Base
import Codecs
import Glibc
import MediaIO
import OTKit
import OpenTokProtocol
import Participant
import Terminal

/// What a person sees of a call.
protocol CallConsole: Sendable {
  /// Any thread; never blocks.
  func show(_ event: ParticipantEvent)
  /// Whether it shows figures, which cost something to collect.
  var showsStatistics: Bool { get }
  /// The place for our own picture (nil) or a stream's; nil if pictures are not shown.
  func renderer(for streamID: String?) -> (any VideoRenderer)?
  func stop()
}

/// Without pictures: warnings and errors as lines on standard error.
struct PlainConsole: CallConsole {
  let quiet: Bool
  let showsStatistics = false

  func show(_ event: ParticipantEvent) {
    switch event {
    case .warning(let text), .session(.warning(let text)): if !quiet { Output.note("warning: \(text)") }
    case .error(let error), .session(.error(let error)):
      Output.note("warning: \(error.message)\(error.code == 0 ? "" : " (\(error.code) \(error.name))")")
    case .refused(let text): if !quiet { Output.note("warning: \(text)") }
    default: break
    }
  }

  func renderer(for streamID: String?) -> (any VideoRenderer)? { nil }
  func stop() {}
}

extension Participant {
  /// Does what a key or a line asks for.
  func obey(_ command: CallCommand) async {
    switch command {
    case .microphone(let change): await setMicrophone(change.applied(to: isMicrophoneOn))
    case .camera(let change): await setCamera(change.applied(to: isCameraOn))
    case .subscriberAudio(let change): await setSubscriberAudio(change.applied(to: isSubscriberAudioOn))
    case .swapCamera: await swapCamera()
    case .nextSubscriber: nextSubscriber()
    case .say(let text): await say(text)
    case .signal(let type, let data): await send(type: type, data: data, to: nil)
    case .archive, .viewArchive: refuse("this version records no archives")
    case .quit: leave()
    case .interrupt: kill(getpid(), SIGINT)
    }
  }
}
