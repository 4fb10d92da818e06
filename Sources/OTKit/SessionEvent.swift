import RTP

/// What happens in a session, in the order in which it happens. Names are OpenTok's.
public enum SessionEvent: Sendable {
  case sessionConnected(sessionID: String, Connection)
  /// Signalling is lost and being found again; sound and picture go on meanwhile.
  case sessionReconnecting(ReconnectionReason)
  case sessionReconnected
  /// The last event. The error says why, unless we left.
  case sessionDisconnected(Reason, OpenTokError?)

  /// Our own connection too.
  case connectionCreated(Connection)
  case connectionDestroyed(Connection, Reason)

  /// Of others only.
  case streamCreated(Stream)
  case streamDestroyed(Stream, Reason)
  /// Of ours too.
  case streamPropertyChanged(Stream, StreamPropertyChange)

  /// A stream of ours is there for others.
  case publisherStreamCreated(Stream)
  case publisherStreamDestroyed(Stream, Reason)
  /// Another source took the place of one that failed, or that one is back.
  case publisherVideoSourceChanged(streamID: String, source: String)
  /// A moderator muted our stream.
  case publisherMuted(streamID: String)

  /// Media arrives.
  case subscriberConnected(streamID: String)
  /// Media no longer arrives; it is being tried again.
  case subscriberDisconnected(streamID: String)
  case subscriberDestroyed(streamID: String, Reason)
  /// Seconds since the session object was made, or since `Configuration.start`.
  case firstVideoFrame(streamID: String, sinceStart: Double)
  case firstAudioFrame(streamID: String, sinceStart: Double)
  case videoDisabled(streamID: String, VideoReason)
  case videoEnabled(streamID: String, VideoReason)
  /// A received picture may soon be switched off for lack of bandwidth; no longer.
  case videoDisableWarning(streamID: String)
  case videoDisableWarningLifted(streamID: String)
  /// The same of a stream of ours, for one subscriber.
  case publisherVideo(streamID: String, subscriberID: String?, name: String?, PublisherVideoChange)
  /// Of a received stream, or of ours as the worst of its subscribers gets it.
  case qualityScoreChanged(streamID: String, old: QualityScore, new: QualityScore)
  /// The path of a stream to or from one peer. Each end is `type address:port`, once known. The reason says
  /// why a path was lost (`silence`, `checksFailed`) or a new one is looked for (`addressChanged`, `requested`,
  /// `restartFailed`).
  case iceStateChanged(
    streamID: String, state: String, localCandidate: String?, remoteCandidate: String?, reason: String?)

  case signal(Signal)
  case archiveStarted(id: String, name: String)
  case archiveStopped(id: String, name: String)
  /// A moderator muted everybody, now and on entry, or lifted that.
  case muteForced(active: Bool)

  case warning(String)
  /// Something failed that no caller waits for.
  case error(OpenTokError)

  /// Why a session was left or a connection or stream ended; OpenTok's texts.
  public struct Reason: RawRepresentable, Sendable, Hashable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let clientDisconnected = Reason(rawValue: "clientDisconnected")
    public static let forceDisconnected = Reason(rawValue: "forceDisconnected")
    public static let networkDisconnected = Reason(rawValue: "networkDisconnected")
    public static let forceUnpublished = Reason(rawValue: "forceUnpublished")
    public static let mediaStopped = Reason(rawValue: "mediaStopped")
  }

  /// Why signalling is lost.
  public enum ReconnectionReason: String, Sendable {
    /// The server, or somebody on the way to it, closed the connection.
    case connectionClosed
    /// Nothing has come from the server for some seconds.
    case silence
    /// This machine has lost the address from which the connection went out.
    case addressChanged
    /// The server no longer knows the connection. A `Session` ends then; who enters it anew by another tells this.
    case connectionForgotten
  }

  /// Why a subscriber's picture goes or comes back.
  public enum VideoReason: String, Sendable {
    /// The publisher switched its camera.
    case publishVideo
    /// There was too little bandwidth.
    case quality
    /// We did.
    case subscribeToVideo
  }
}

/// What becomes of our picture for a subscriber whose network carries too little (OpenTok's audio fallback).
public enum PublisherVideoChange: String, Sendable {
  case videoDisableWarning, videoDisableWarningLifted, videoDisabled, videoEnabled

  init(_ change: AudioFallback.Change) {
    self =
      switch change {
      case .videoDisableWarning: .videoDisableWarning
      case .videoDisableWarningLifted: .videoDisableWarningLifted
      case .videoDisabled: .videoDisabled
      case .videoEnabled: .videoEnabled
      }
  }
}

/// A property of a stream that changed, with its values before and after.
public enum StreamPropertyChange: Sendable, Hashable {
  case hasAudio(Bool, Bool)
  case hasVideo(Bool, Bool)
  case videoDimensions(Stream.Dimensions?, Stream.Dimensions?)
  case videoType(Stream.VideoType?, Stream.VideoType?)
  case name(String, String)
}
