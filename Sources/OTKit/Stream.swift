import OpenTokProtocol

/// Published sound and picture of a participant, as it was when this value was made.
public struct Stream: Sendable, Hashable, Identifiable {
  public enum VideoType: String, Sendable {
    case camera, screen, custom
  }

  public struct Dimensions: Sendable, Hashable {
    public let width: Int
    public let height: Int
  }

  public let id: String
  public let name: String
  /// Who publishes it.
  public let connection: Connection
  /// Milliseconds since 1970, by the server's clock.
  public let creationTime: Int64
  /// Whether sound is being sent: false while muted.
  public let hasAudio: Bool
  /// Whether a picture is being sent: false while the camera is off.
  public let hasVideo: Bool
  /// Whether it may have sound, muted or not.
  package let carriesAudio: Bool
  /// Nil if the stream never has a picture.
  public let videoType: VideoType?
  /// Nil until the publisher has told.
  public let videoDimensions: Dimensions?

  init(_ info: StreamInfo) {
    id = info.id
    name = info.name
    connection = Connection(info.connection)
    creationTime = info.creationTime
    hasAudio = info.hasAudio
    hasVideo = info.hasVideo
    carriesAudio = info.channel(.audio) != nil
    videoType = info.videoType.map { VideoType(rawValue: $0) ?? .custom }
    if let video = info.channel(.video), let width = video.width, let height = video.height {
      videoDimensions = Dimensions(width: width, height: height)
    } else {
      videoDimensions = nil
    }
  }
}
