import Base
import OTKit
import Participant
import Terminal

/// What happens in a call, in words for people. Any thread.
final class EventText: Sendable {
  /// Streams of others, by id.
  private let streams = Lock<[String: OTKit.Stream]>([:])
  /// Of them those whose media does not come.
  private let silent = Lock<Set<String>>([])
  private let watch = Lock(SilenceWatch())
  /// Streams of others without their picture, for lack of bandwidth.
  private let paused = Lock<Set<String>>([])
  /// Subscribers of ours that get no picture, for lack of bandwidth.
  private let unseeing = Lock<Set<String>>([])

  /// A line about an event; nil if there is nothing to say. To be asked about every event, in order.
  func line(_ event: ParticipantEvent) -> String? {
    switch event {
    case .session(let event): line(event)
    case .micChanged(let on): on ? "the microphone is on" : "the microphone is muted"
    case .subscriberAudioChanged(let on): on ? "the others are heard" : "the others are muted"
    case .cameraChanged(let on, let source):
      source.map(Self.sending) ?? (on ? "video is on" : "video is off")
    case .participants(let entries): "here: " + entries.map(Self.described).joined(separator: ", ")
    case .warning(let text): "warning: \(text)"
    case .refused(let text): "warning: \(text)"
    case .error(let error): Self.warning(error)
    case .stats(let statistics): line(statistics.session)
    case .recordingStarted(let id, let file): "recording \(name(ofStream: id)) to \(file)"
    case .recordingStopped(_, let file, let duration, let size): Self.recorded(file, duration, size)
    // What ends a command is told at its end.
    case .connecting, .connectFailed, .expectation: nil
    }
  }

  private func line(_ statistics: Statistics) -> String? {
    // Those who have left are not waited for.
    let subscribers = Set(statistics.publishers.flatMap(\.subscribers).compactMap(\.subscriberID))
    unseeing.withLock { $0 = $0.intersection(subscribers) }
    let lines = watch.withLock { $0.update(statistics, at: MonotonicClock.now()) }.compactMap {
      id, isSilent in
      silent.withLock { $0 = isSilent ? $0.union([id]) : $0.subtracting([id]) }
      // Nothing is what comes of a stream without sound and picture.
      guard let stream = stream(id), stream.hasAudio || stream.hasVideo else { return String?.none }
      return "\(Self.name(stream)) is \(isSilent ? "not answering" : "answering again")"
    }
    return lines.isEmpty ? nil : lines.joined(separator: "; ")
  }

  static func words(_ reason: SessionEvent.ReconnectionReason) -> String {
    switch reason {
    case .connectionClosed: "the connection to the server was closed"
    case .silence: "the server does not answer"
    case .addressChanged: "this machine's address has changed"
    case .connectionForgotten: "the server has given the connection up"
    }
  }

  private func line(_ event: SessionEvent) -> String? {
    switch event {
    case .sessionConnected: return "in the session"
    case .sessionReconnecting(let reason): return "\(Self.words(reason)), reconnecting…"
    case .sessionReconnected: return "connected again"
    case .sessionDisconnected:
      streams.withLock { $0 = [:] }
      silent.withLock { $0 = [] }
      watch.withLock { $0 = SilenceWatch() }
      paused.withLock { $0 = [] }
      unseeing.withLock { $0 = [] }
      return nil
    case .subscriberDisconnected(let id), .subscriberDestroyed(let id, _):
      paused.withLock { $0 = $0.subtracting([id]) }
      return nil
    case .publisherStreamDestroyed:
      unseeing.withLock { $0 = [] }
      return nil
    case .publisherVideo(_, let subscriber, let name, let change): return line(change, subscriber, name)
    case .streamCreated(let stream):
      streams.withLock { $0[stream.id] = stream }
      return "\(Self.name(stream)) is here"
    case .streamDestroyed(let stream, _):
      streams.withLock { $0[stream.id] = nil }
      silent.withLock { $0 = $0.subtracting([stream.id]) }
      watch.withLock { $0.forget(stream.id) }
      return "\(Self.name(stream)) has left"
    case .streamPropertyChanged(let stream, let change):
      let isOther = streams.withLock { streams in
        guard streams[stream.id] != nil else { return false }
        streams[stream.id] = stream
        return true
      }
      return isOther ? Self.line(stream, change) : nil
    case .publisherVideoSourceChanged(_, let source): return "now sending \(source)"
    case .publisherMuted: return "a moderator muted your microphone"
    case .muteForced(let active):
      return active ? "a moderator muted everybody" : "microphones may be on again"
    case .videoDisabled(let id, .quality):
      paused.withLock { $0 = $0.union([id]) }
      return "\(name(ofStream: id))'s picture is paused: too slow a network"
    case .videoEnabled(let id, .quality):
      paused.withLock { $0 = $0.subtracting([id]) }
      return "\(name(ofStream: id))'s picture is back"
    case .videoDisableWarning(let id):
      return "the network is slow: \(name(ofStream: id))'s picture may be paused"
    case .archiveStarted: return "the session is being recorded"
    case .archiveStopped: return "the recording has ended"
    case .signal(let signal) where signal.type == Participant.chatType:
      return "\(author(signal)): \(signal.data ?? "")"
    case .warning(let text): return "warning: \(text)"
    case .error(let error): return Self.warning(error)
    default: return nil
    }
  }

  private static func described(_ entry: ParticipantRoll.Entry) -> String {
    let name = entry.name.isEmpty ? "somebody" : entry.name
    var marks = entry.isOwn ? ["you"] : []
    if entry.streams.isEmpty {
      marks.append("watching")
    } else {
      if !entry.streams.contains(where: \.hasAudio) { marks.append("muted") }
      if !entry.streams.contains(where: \.hasVideo) { marks.append("camera off") }
    }
    return marks.isEmpty ? name : "\(name) (\(marks.joined(separator: ", ")))"
  }

  /// About our own picture.
  private func line(_ change: PublisherVideoChange, _ subscriber: String?, _ name: String?) -> String? {
    let name = name ?? "somebody"
    switch change {
    case .videoDisabled:
      if let subscriber { unseeing.withLock { $0 = $0.union([subscriber]) } }
      return "your picture for \(name) is paused: too slow a network"
    case .videoEnabled:
      if let subscriber { unseeing.withLock { $0 = $0.subtracting([subscriber]) } }
      return "\(name) gets your picture again"
    case .videoDisableWarning: return "the network is slow: your picture for \(name) may be paused"
    case .videoDisableWarningLifted: return nil
    }
  }

  /// With one source there is nothing to change to.
  private static func sending(_ source: String) -> String {
    source == "auto"
      ? "there is one picture to send; --video-source, given several times, adds more"
      : "now sending \(source)"
  }

  private static func recorded(_ file: String, _ seconds: Double, _ bytes: Int64) -> String {
    "recorded \(Int(seconds.rounded())) s, \((bytes + 999) / 1000) kB: \(file)"
  }

  private static func line(_ stream: OTKit.Stream, _ change: StreamPropertyChange) -> String? {
    switch change {
    case .hasAudio(_, let on):
      "\(name(stream)) has \(on ? "switched the microphone on" : "muted the microphone")"
    case .hasVideo(_, let on): "\(name(stream)) has switched video \(on ? "on" : "off")"
    case .name(let old, _): "\(old.isEmpty ? "somebody" : old) is called \(name(stream)) now"
    case .videoDimensions, .videoType: nil
    }
  }

  /// Nil for our own streams.
  func stream(_ id: String) -> OTKit.Stream? { streams.withLock { $0[id] } }

  /// Streams of others without their picture, for lack of bandwidth.
  var pausedStreams: Set<String> { paused.withLock { $0 } }

  /// How many get no picture of us, for lack of bandwidth.
  var unseeingSubscribers: Int { unseeing.withLock { $0.count } }

  /// How many others publish.
  var others: Int { streams.withLock { $0.count } }

  /// Streams of others of which nothing comes any more.
  var silentStreams: Set<String> {
    silent.withLock { $0 }.filter { id in stream(id).map { $0.hasAudio || $0.hasVideo } ?? false }
  }

  func author(_ signal: Signal) -> String {
    if signal.isFromSelf { return "me" }
    guard let connection = signal.from else { return "server" }
    let stream = streams.withLock { $0.values.first { $0.connection.id == connection.id } }
    return stream.map { Self.name($0) } ?? (connection.data.isEmpty ? "somebody" : connection.data)
  }

  private func name(ofStream id: String) -> String { stream(id).map(Self.name) ?? "somebody" }

  static func name(_ stream: OTKit.Stream) -> String { stream.name.isEmpty ? "somebody" : stream.name }

  static func warning(_ error: OpenTokError) -> String {
    "warning: \(error.message)\(error.code == 0 ? "" : " (\(error.code) \(error.name))")"
  }
}
