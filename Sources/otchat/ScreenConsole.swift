import Base
import Codecs
import MediaIO
import OTKit
import OpenTokProtocol
import Participant
import Terminal

/// A call on the whole terminal: events become what `CallDisplay` shows.
final class ScreenConsole: CallConsole {
  let display: CallDisplay
  let showsStatistics = true
  private let log: LogOutput
  private let rates = Lock(FlowRates())
  /// Streams of others, by id.
  private let streams = Lock<[String: OTKit.Stream]>([:])

  init(
    _ options: ConnectOptions, style: PictureStyle, log: LogOutput,
    commands: @escaping @Sendable (CallCommand) -> Void
  ) throws {
    self.log = log
    let device: TerminalDevice
    do {
      device = try TerminalDevice()
    } catch {
      throw Failure(.internalError, "the terminal cannot be taken over: \(error)", hint: "--render none")
    }
    log.giveWay()
    display = CallDisplay(
      device: device, capabilities: options.capabilities, style: style, state: options.state,
      commands: commands)
  }

  func stop() {
    display.stop()
    log.comeBack()
  }

  func renderer(for streamID: String?) -> (any VideoRenderer)? {
    DisplayRenderer(display: display, source: streamID.map { .stream($0) } ?? .own)
  }

  func show(_ event: ParticipantEvent) {
    switch event {
    case .session(let event): show(event)
    case .micChanged(let on): display.send(.microphone(on))
    case .subscriberAudioChanged(let on): display.send(.subscriberAudio(on))
    case .cameraChanged(let on, let source):
      display.send(.camera(on))
      if let source { display.send(.notice("now sending \(source)")) }
    case .connecting: display.send(.connection(.connecting("joining the session")))
    case .stats(let statistics):
      display.send(.statistics(rates.withLock { $0.update(statistics, at: MonotonicClock.now()) }))
    case .warning(let text), .refused(let text): display.send(.notice(text))
    case .error(let error): display.send(.notice(error.message))
    case .expectation: break  // told when the terminal is given back
    }
  }

  private func show(_ event: SessionEvent) {
    switch event {
    case .sessionConnected, .sessionReconnected: display.send(.connection(.connected))
    case .sessionReconnecting: display.send(.connection(.reconnecting))
    case .sessionDisconnected(let reason, _): display.send(.connection(.disconnected(reason.rawValue)))
    case .streamCreated(let stream):
      streams.withLock { $0[stream.id] = stream }
      display.send(.notice("\(Self.name(stream)) is here"))
    case .streamDestroyed(let stream, _):
      streams.withLock { $0[stream.id] = nil }
      display.send(.notice("\(Self.name(stream)) has left"))
      display.send(.subscriberRemoved(streamID: stream.id))
    case .streamPropertyChanged(let stream, _):
      let isOther = streams.withLock { streams in
        guard streams[stream.id] != nil else { return false }
        streams[stream.id] = stream
        return true
      }
      if isOther { display.send(.subscriberChanged(CallSubscriber(stream))) }
    case .subscriberConnected(let id):
      if let stream = streams.withLock({ $0[id] }) { display.send(.subscriberAdded(CallSubscriber(stream))) }
    case .subscriberDestroyed(let id, _): display.send(.subscriberRemoved(streamID: id))
    case .publisherStreamCreated: display.send(.publishing(true))
    case .publisherMuted: display.send(.notice("a moderator muted your microphone"))
    case .muteForced(let active):
      display.send(.notice(active ? "a moderator muted everybody" : "microphones may be on again"))
    case .videoDisabled(_, .quality):
      display.send(.notice("the other's picture is paused: too slow a network"))
    case .archiveStarted: display.send(.archiving(true))
    case .archiveStopped: display.send(.archiving(false))
    case .signal(let signal) where signal.type == Participant.chatType:
      display.send(.chat(from: author(signal), text: signal.data ?? "", isOwn: signal.isFromSelf))
    case .warning(let text): display.send(.notice(text))
    case .error(let error): display.send(.notice(error.message))
    default: break
    }
  }

  private func author(_ signal: Signal) -> String {
    if signal.isFromSelf { return "me" }
    guard let connection = signal.from else { return "server" }
    let stream = streams.withLock { $0.values.first { $0.connection.id == connection.id } }
    return stream.map { Self.name($0) } ?? (connection.data.isEmpty ? "somebody" : connection.data)
  }

  private static func name(_ stream: OTKit.Stream) -> String {
    stream.name.isEmpty ? "somebody" : stream.name
  }
}

/// Hands pictures to the display; the thread that has one does not wait.
private struct DisplayRenderer: VideoRenderer {
  let display: CallDisplay
  let showsStatistics = true
  let source: PictureSource

  func render(_ frame: VideoFrame) { display.show(frame, from: source) }
}

extension CallSubscriber {
  init(_ stream: OTKit.Stream) {
    self.init(streamID: stream.id, name: stream.name, hasAudio: stream.hasAudio, hasVideo: stream.hasVideo)
  }
}
