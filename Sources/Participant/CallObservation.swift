import Base
import OTKit
import OpenTokProtocol

/// What is known of a call that explains why a figure is not what it should be.
struct CallObservation: Sendable {
  private struct Other: Sendable {
    var name: String
    var hasAudio: Bool
    var hasVideo: Bool
  }

  /// Streams of others, by id.
  private var streams: [String: Other] = [:]
  /// Connections of others.
  private var others: Set<String> = []
  private var ownConnection: String?
  private var isReconnecting = false
  /// The stream whose figures are looked at, its packets, and since when there have been so many.
  private var flow: (stream: String, packets: Double, since: Instant)?
  private var last: JSON?

  mutating func received(_ event: ParticipantEvent) {
    guard case .session(let event) = event else { return }
    switch event {
    case .sessionConnected(_, let connection):
      (ownConnection, isReconnecting) = (connection.id, false)
    case .sessionReconnecting: isReconnecting = true
    case .sessionReconnected: isReconnecting = false
    case .connectionCreated(let connection) where connection.id != ownConnection:
      others.insert(connection.id)
    case .connectionDestroyed(let connection, _): others.remove(connection.id)
    case .streamCreated(let stream), .streamPropertyChanged(let stream, _):
      guard stream.connection.id != ownConnection else { break }
      streams[stream.id] = Other(name: stream.name, hasAudio: stream.hasAudio, hasVideo: stream.hasVideo)
    case .streamDestroyed(let stream, _): streams[stream.id] = nil
    default: break
    }
  }

  mutating func sampled(_ statistics: JSON, at now: Instant) {
    last = statistics["subscribers"]?.arrayValue?.first
    guard let last, let stream = last["streamId"]?.stringValue else {
      flow = nil
      return
    }
    let packets = ["audio", "video"].compactMap { last[$0]?["packetsReceived"]?.doubleValue }.reduce(0, +)
    if flow?.stream != stream || flow?.packets != packets { flow = (stream, packets, now) }
  }

  /// Why a figure of what is received may be bad; nil: nothing is known.
  func cause(of path: [String], at now: Instant) -> String? {
    let isLost = isReconnecting ? "the connection to the server is lost" : nil
    guard path.first == "subscriber" || path.first == "subscribers" else {
      return path.first == "events" || path.first == "streams" ? isLost : nil
    }
    var causes = [isLost, cause(path, now)]
    if causes[1] == nil, last == nil { causes[1] = absence }
    let known = causes.compactMap { $0 }
    return known.isEmpty ? nil : known.joined(separator: "; ")
  }

  /// Events that take somebody else.
  private static let ofOthers: Set = [
    "streamCreated", "streamDestroyed", "streamPropertyChanged", "subscriberConnected", "firstVideoFrame",
    "firstAudioFrame", "videoDisabled", "videoEnabled", "signal",
  ]

  /// Why an event may not have come; nil: nothing is known.
  func cause(ofMissing event: String) -> String? {
    guard Self.ofOthers.contains(event) else { return nil }
    if isReconnecting { return "the connection to the server is lost" }
    return last == nil && streams.isEmpty ? absence : nil
  }

  /// Why nothing is received at all.
  private var absence: String? {
    guard ownConnection != nil else { return nil }
    if !streams.isEmpty { return "a stream is there and not received" }
    switch others.count {
    case 0: return "nobody else is in the session"
    case 1: return "the other one in the session publishes nothing"
    default: return "none of the \(others.count) others in the session publishes"
    }
  }

  /// Figures that only a test pattern has.
  private static let ofPatterns: Set = [
    "avOffset", "endToEndLatency", "framesMissing", "framesRepeated", "framesUnreadable", "psnr", "ssim",
  ]

  private func cause(_ path: [String], _ now: Instant) -> String? {
    guard let last, let stream = last["streamId"]?.stringValue.flatMap({ streams[$0] }) else { return nil }
    let name = stream.name.isEmpty ? "the publisher" : "'\(stream.name)'"
    if let flow, (now - flow.since).seconds >= 2, stream.hasAudio || stream.hasVideo {
      return "no packet has come from \(name) for \(Int((now - flow.since).seconds)) s"
    }
    func figure(_ medium: String, _ metric: String) -> Double? { last[medium]?[metric]?.doubleValue }
    if path.contains("audio") {
      if !stream.hasAudio { return "\(name) has muted the microphone" }
      if let level = figure("audio", "audioLevel"), level < -70 { return "the sound of \(name) is silent" }
    }
    if path.contains("video") {
      if !stream.hasVideo { return "\(name) has switched the camera off" }
      if figure("video", "framesPerSecond") == 0 { return "no new picture comes from \(name)" }
      if let brightness = figure("video", "brightness"), brightness < 0.02 {
        return "the picture of \(name) is black"
      }
      if let still = figure("video", "stillDuration"), still >= 2 {
        return "the picture of \(name) has not changed for \(Int(still)) s"
      }
      if let metric = path.last, Self.ofPatterns.contains(metric), figure("video", metric) == nil,
        figure("video", "framesPerSecond") != nil
      {
        return "the picture of \(name) is no test pattern, or too damaged to be read"
      }
    }
    return nil
  }
}
