import OTKit
import OpenTokProtocol

/// What happens to a participant: the session's events, and what it did itself.
package enum ParticipantEvent: Sendable {
  case session(SessionEvent)
  case micChanged(Bool)
  case subscriberAudioChanged(Bool)
  /// - Parameter source: what is published now, after a swap.
  case cameraChanged(Bool, source: String?)
  /// Credentials are there and the server is known.
  case connecting(apiURL: String?)
  case stats(ParticipantStatistics)
  case expectation(ExpectationMonitor.Result)
  /// - Parameter file: that holds the stream from now on.
  case recordingStarted(streamID: String, file: String)
  /// - Parameters:
  ///   - duration: seconds.
  ///   - size: bytes.
  case recordingStopped(streamID: String, file: String, duration: Double, size: Int64)
  case participants([ParticipantRoll.Entry])
  case warning(String)
  case error(OpenTokError)
  /// An error that ends the stay before it has begun.
  case connectFailed(ConnectFailure)
  /// Something the user asked for that cannot be done.
  case refused(String)
}

extension ParticipantEvent {
  /// The event's name in JSON Lines and for `--until`.
  package var name: String { record.name }

  /// Every name there is.
  package static let names = [
    "archiveStarted", "archiveStopped", "cameraChanged", "connecting", "connectionCreated",
    "connectionDestroyed", "error", "expectation", "firstAudioFrame", "firstVideoFrame", "iceStateChanged",
    "micChanged",
    "muteForced", "participants", "publisherMuted", "publisherStreamCreated", "publisherStreamDestroyed",
    "qualityScoreChanged", "recordingStarted", "recordingStopped", "sessionConnected",
    "sessionDisconnected", "sessionReconnected", "sessionReconnecting", "signal", "stats", "streamCreated",
    "streamDestroyed", "streamPropertyChanged", "subscriberAudioChanged", "subscriberConnected",
    "subscriberDestroyed", "subscriberDisconnected", "videoDisableWarning", "videoDisableWarningLifted",
    "videoDisabled", "videoEnabled", "warning",
  ]

  /// `{"event": NAME, "time": seconds since the Unix epoch, …}`.
  ///
  /// - Parameter microseconds: since the Unix epoch.
  package func json(at microseconds: Int64) -> JSON {
    let (name, fields) = record
    var object: JSON.Object = ["event": .string(name), "time": .number(Double(microseconds) / 1e6)]
    for (key, value) in fields { object[key] = value }
    return .object(object)
  }

  private var record: (name: String, fields: JSON.Object) {
    switch self {
    case .session(let event): event.record
    case .micChanged(let on): ("micChanged", ["value": .bool(on)])
    case .subscriberAudioChanged(let on): ("subscriberAudioChanged", ["value": .bool(on)])
    case .cameraChanged(let on, let source):
      ("cameraChanged", source.map { ["value": .bool(on), "source": .string($0)] } ?? ["value": .bool(on)])
    case .connecting(let url): ("connecting", ["apiUrl": url.map(JSON.string) ?? .null])
    case .stats(let statistics): ("stats", statistics.json)
    case .expectation(let result):
      (
        "expectation",
        [
          "expr": .string(result.text), "passed": .bool(result.passed),
          "actual": result.actual.map { .number($0) } ?? .null,
          "reason": result.reason.map { .string($0) } ?? .null,
        ]
      )
    case .recordingStarted(let id, let file):
      ("recordingStarted", ["streamId": .string(id), "file": .string(file)])
    case .recordingStopped(let id, let file, let duration, let size):
      (
        "recordingStopped",
        [
          "streamId": .string(id), "file": .string(file), "duration": .number(duration),
          "size": .integer(size),
        ]
      )
    case .participants(let entries): ("participants", ["participants": .array(entries.map(\.json))])
    case .warning(let message): ("warning", ["message": .string(message)])
    case .error(let error): error.record(error.stages)
    case .connectFailed(let failure): failure.error.record(failure.stages)
    case .refused(let message):
      ("error", ["code": 0, "name": "COMMAND_REFUSED", "message": .string(message)])
    }
  }
}

extension ParticipantRoll.Entry {
  fileprivate var json: JSON {
    [
      "connectionId": .string(connection.id), "data": .string(connection.data), "own": .bool(isOwn),
      "streams": .array(
        streams.map {
          [
            "streamId": .string($0.id), "name": .string($0.name), "hasAudio": .bool($0.hasAudio),
            "hasVideo": .bool($0.hasVideo),
          ]
        }),
    ]
  }
}

extension OpenTokError {
  fileprivate func record(_ stages: [StageTime]) -> (String, JSON.Object) {
    var fields: JSON.Object = [
      "code": .integer(Int64(code)), "name": .string(name), "message": .string(message),
    ]
    if let failed = stages.last {
      var times: JSON.Object = [:]
      for time in stages { times[time.stage.rawValue] = .number(time.seconds) }
      fields["stage"] = .string((stage ?? failed.stage).rawValue)
      fields["stages"] = .object(times)
    }
    return ("error", fields)
  }
}

extension SessionEvent {
  fileprivate var record: (name: String, fields: JSON.Object) {
    switch self {
    case .sessionConnected(let sessionID, let connection):
      ("sessionConnected", ["sessionId": .string(sessionID), "connectionId": .string(connection.id)])
    case .sessionReconnecting(let reason): ("sessionReconnecting", ["reason": .string(reason.rawValue)])
    case .sessionReconnected: ("sessionReconnected", [:])
    case .sessionDisconnected(let reason, _): ("sessionDisconnected", ["reason": .string(reason.rawValue)])
    case .connectionCreated(let connection):
      ("connectionCreated", ["connectionId": .string(connection.id), "data": .string(connection.data)])
    case .connectionDestroyed(let connection, let reason):
      (
        "connectionDestroyed",
        [
          "connectionId": .string(connection.id), "data": .string(connection.data),
          "reason": .string(reason.rawValue),
        ]
      )
    case .streamCreated(let stream): ("streamCreated", stream.record)
    case .streamDestroyed(let stream, let reason):
      ("streamDestroyed", stream.record(adding: ["reason": .string(reason.rawValue)]))
    case .streamPropertyChanged(let stream, let change):
      ("streamPropertyChanged", change.record(streamID: stream.id))
    case .publisherStreamCreated(let stream): ("publisherStreamCreated", ["streamId": .string(stream.id)])
    case .publisherStreamDestroyed(let stream, let reason):
      (
        "publisherStreamDestroyed",
        ["streamId": .string(stream.id), "reason": .string(reason.rawValue)]
      )
    case .publisherVideoSourceChanged(_, let source):
      ("cameraChanged", ["value": .bool(true), "source": .string(source)])
    case .publisherMuted(let streamID): ("publisherMuted", ["streamId": .string(streamID)])
    case .subscriberConnected(let id): ("subscriberConnected", ["streamId": .string(id)])
    case .subscriberDisconnected(let id): ("subscriberDisconnected", ["streamId": .string(id)])
    case .subscriberDestroyed(let id, let reason):
      ("subscriberDestroyed", ["streamId": .string(id), "reason": .string(reason.rawValue)])
    case .firstVideoFrame(let id, let seconds):
      ("firstVideoFrame", ["streamId": .string(id), "sinceStart": .number(seconds)])
    case .firstAudioFrame(let id, let seconds):
      ("firstAudioFrame", ["streamId": .string(id), "sinceStart": .number(seconds)])
    case .videoDisabled(let id, let reason):
      ("videoDisabled", ["streamId": .string(id), "reason": .string(reason.rawValue)])
    case .videoEnabled(let id, let reason):
      ("videoEnabled", ["streamId": .string(id), "reason": .string(reason.rawValue)])
    case .videoDisableWarning(let id): ("videoDisableWarning", ["streamId": .string(id)])
    case .videoDisableWarningLifted(let id): ("videoDisableWarningLifted", ["streamId": .string(id)])
    case .publisherVideo(let id, let subscriber, _, let change):
      (change.rawValue, change.record(streamID: id, subscriberID: subscriber))
    case .qualityScoreChanged(let id, let old, let new):
      (
        "qualityScoreChanged",
        ["streamId": .string(id), "oldQualityScore": old.json, "newQualityScore": new.json]
      )
    case .iceStateChanged(let id, let state, let local, let remote, let reason):
      (
        "iceStateChanged",
        [
          "streamId": .string(id), "state": .string(state), "localCandidate": local.map(JSON.string) ?? .null,
          "remoteCandidate": remote.map(JSON.string) ?? .null, "reason": reason.map(JSON.string) ?? .null,
        ]
      )
    case .signal(let signal):
      (
        "signal",
        [
          "type": signal.type.map(JSON.string) ?? .null, "data": signal.data.map(JSON.string) ?? .null,
          "from": signal.from.map { .string($0.id) } ?? .null, "fromSelf": .bool(signal.isFromSelf),
        ]
      )
    case .archiveStarted(let id, let name):
      ("archiveStarted", ["archiveId": .string(id), "name": .string(name)])
    case .archiveStopped(let id, let name):
      ("archiveStopped", ["archiveId": .string(id), "name": .string(name)])
    case .muteForced(let active): ("muteForced", ["active": .bool(active)])
    case .warning(let message): ("warning", ["message": .string(message)])
    case .error(let error): error.record(error.stages)
    }
  }
}

extension QualityScore {
  fileprivate var json: JSON {
    [
      "audioQualityScore": audio.map { .integer(Int64($0)) } ?? .null,
      "videoQualityScore": video.map { .integer(Int64($0)) } ?? .null,
    ]
  }
}

extension PublisherVideoChange {
  fileprivate func record(streamID: String, subscriberID: String?) -> JSON.Object {
    var object: JSON.Object = ["streamId": .string(streamID)]
    if self == .videoDisabled || self == .videoEnabled {
      object["reason"] = .string(SessionEvent.VideoReason.quality.rawValue)
    }
    object["subscriberId"] = subscriberID.map { .string($0) } ?? .null
    return object
  }
}

extension OTKit.Stream {
  fileprivate var record: JSON.Object {
    [
      "streamId": .string(id), "name": .string(name), "connectionId": .string(connection.id),
      "hasAudio": .bool(hasAudio), "hasVideo": .bool(hasVideo),
      "videoType": videoType.map { .string($0.rawValue) } ?? .null,
    ]
  }

  fileprivate func record(adding more: JSON.Object) -> JSON.Object {
    var object = record
    for (key, value) in more { object[key] = value }
    return object
  }
}

extension StreamPropertyChange {
  fileprivate func record(streamID: String) -> JSON.Object {
    let (property, old, new): (String, JSON, JSON) =
      switch self {
      case .hasAudio(let old, let new): ("hasAudio", .bool(old), .bool(new))
      case .hasVideo(let old, let new): ("hasVideo", .bool(old), .bool(new))
      case .videoDimensions(let old, let new): ("videoDimensions", Self.json(old), Self.json(new))
      case .videoType(let old, let new):
        ("videoType", old.map { .string($0.rawValue) } ?? .null, new.map { .string($0.rawValue) } ?? .null)
      case .name(let old, let new): ("name", .string(old), .string(new))
      }
    return ["streamId": .string(streamID), "property": .string(property), "oldValue": old, "newValue": new]
  }

  private static func json(_ dimensions: OTKit.Stream.Dimensions?) -> JSON {
    guard let dimensions else { return .null }
    return ["width": .integer(Int64(dimensions.width)), "height": .integer(Int64(dimensions.height))]
  }
}
