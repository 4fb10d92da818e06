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
  private let isHosting: Bool
  private let rates = Lock(FlowRates())
  private let text = EventText()
  private let roll = Lock(ParticipantRoll())
  /// Lines about files and addresses, told once more when the screen is gone.
  private let recorded = Lock<[String]>([])

  init(
    _ options: ConnectOptions, style: PictureStyle?, isHosting: Bool, log: LogOutput,
    commands: @escaping @Sendable (CallCommand) -> Void
  ) throws {
    self.log = log
    self.isHosting = isHosting
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
    display.send(.hosting(isHosting))
  }

  func stop() {
    display.stop()
    log.comeBack()
    for line in recorded.withLock({ $0 }) { Output.note(line) }
  }

  func offer(_ capabilities: Capabilities) {
    var moderation: CallModeration = []
    if capabilities.forceDisconnect { moderation.insert(.disconnect) }
    if capabilities.forceUnpublish { moderation.insert(.unpublish) }
    if capabilities.forceMute { moderation.insert(.mute) }
    display.send(.moderation(moderation))
  }

  func tell(_ line: String) {
    display.send(.notice(line))
    // With the server in this process its pages are gone, too.
    guard !isHosting else { return }
    // It is gone from the screen before it can be copied. The same page again has another signature.
    recorded.withLock { lines in
      lines.removeAll { Self.page($0) == Self.page(line) }
      lines.append(line)
    }
  }

  private static func page(_ line: String) -> Substring { line.prefix { $0 != "?" } }

  func renderer(for streamID: String?) -> (any VideoSink)? {
    DisplayRenderer(display: display, source: streamID.map { .stream($0) } ?? .own)
  }

  func show(_ event: ParticipantEvent) {
    let line = text.line(event)
    if let line, Self.isNotice(event) { display.send(.notice(line)) }
    switch event {
    case .session(let event): show(event)
    case .micChanged(let on): display.send(.microphone(on))
    case .subscriberAudioChanged(let on): display.send(.subscriberAudio(on))
    case .cameraChanged(let on, _): display.send(.camera(on))
    case .connecting: display.send(.connection(.connecting("joining the session")))
    case .stats(let statistics):
      display.send(.statistics(rates.withLock { $0.update(statistics, at: MonotonicClock.now()) }))
      display.send(.silent(text.silentStreams))
      display.send(.picturesPaused(text.pausedStreams, ofOwn: text.unseeingSubscribers))
    case .recordingStopped: recorded.withLock { $0.append(line ?? "") }
    case .participants, .recordingStarted, .warning, .refused, .error: break
    case .expectation, .connectFailed: break  // told when the terminal is given back
    }
  }

  /// Whether its line is shown, and not the screen's own sign for it.
  private static func isNotice(_ event: ParticipantEvent) -> Bool {
    switch event {
    case .micChanged, .subscriberAudioChanged, .cameraChanged(_, nil): false
    case .stats, .session(.sessionConnected), .session(.sessionReconnecting),
      .session(.streamPropertyChanged), .session(.signal):
      false
    default: true
    }
  }

  private func show(_ event: SessionEvent) {
    let participants = roll.withLock { roll in
      roll.update(event) ? roll.entries.map { CallParticipant($0) } : nil
    }
    if let participants { display.send(.participants(participants)) }
    switch event {
    case .sessionConnected, .sessionReconnected: display.send(.connection(.connected))
    case .sessionReconnecting(let reason): display.send(.connection(.reconnecting(EventText.words(reason))))
    case .sessionDisconnected(let reason, _): display.send(.connection(.disconnected(reason.rawValue)))
    case .streamCreated: display.send(.others(text.others))
    case .streamDestroyed(let stream, _):
      display.send(.others(text.others))
      display.send(.subscriberRemoved(streamID: stream.id))
    case .streamPropertyChanged(let stream, _):
      if text.stream(stream.id) != nil { display.send(.subscriberChanged(CallSubscriber(stream))) }
    case .subscriberConnected(let id):
      if let stream = text.stream(id) { display.send(.subscriberAdded(CallSubscriber(stream))) }
    case .subscriberDestroyed(let id, _): display.send(.subscriberRemoved(streamID: id))
    case .publisherStreamCreated: display.send(.publishing(true))
    case .videoDisabled(_, .quality), .videoEnabled(_, .quality), .publisherVideo:
      display.send(.picturesPaused(text.pausedStreams, ofOwn: text.unseeingSubscribers))
    case .archiveStarted: display.send(.archiving(true))
    case .archiveStopped: display.send(.archiving(false))
    case .signal(let signal) where signal.type == Participant.chatType:
      display.send(
        .chat(
          from: text.author(signal), text: signal.data ?? "", isOwn: signal.isFromSelf,
          clock: WallClock.timeOfDay()))
    default: break
    }
  }
}

/// Hands pictures to the display; the thread that has one does not wait.
private struct DisplayRenderer: VideoSink {
  let display: CallDisplay
  let source: PictureSource

  func render(_ frame: VideoFrame) { display.show(frame, from: source) }
}

extension CallParticipant {
  init(_ entry: ParticipantRoll.Entry) {
    self.init(
      connectionID: entry.connection.id, name: entry.name, isOwn: entry.isOwn,
      publishes: !entry.streams.isEmpty, hasAudio: entry.streams.contains(where: \.hasAudio),
      hasVideo: entry.streams.contains(where: \.hasVideo))
  }
}

extension CallSubscriber {
  init(_ stream: OTKit.Stream) {
    self.init(streamID: stream.id, name: stream.name, hasAudio: stream.hasAudio, hasVideo: stream.hasVideo)
  }
}
