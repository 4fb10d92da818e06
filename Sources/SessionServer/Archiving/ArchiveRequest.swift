import OpenTokProtocol

/// What an archive is to hold, as its recorder is told.
package struct ArchiveRequest: Equatable, Sendable {
  package enum OutputMode: String, Sendable {
    /// All streams in one MP4 file.
    case composed
    /// One file a stream, in a ZIP file.
    case individual
  }

  package enum StreamMode: String, Sendable {
    /// Streams are recorded as they come, up to what the recorder bears.
    case auto
    /// Those are recorded that are named by `ArchiveRecorder.addStream`.
    case manual
  }

  /// A UUID.
  package var archiveID: String
  package var sessionID: String
  /// Chosen by who started it; may be empty.
  package var name: String
  package var outputMode: OutputMode
  /// Of a composed archive's picture, in pixels.
  package var width: Int
  package var height: Int
  package var layout: ArchiveLayout
  package var hasAudio: Bool
  package var hasVideo: Bool
  package var streamMode: StreamMode
  /// Bits per second; nil leaves it to the recorder.
  package var maximumBitrate: Int?
  /// Where the files go: of this archive alone, and there already. The server keeps `archive.json` in it.
  package var directory: String

  package init(
    archiveID: String, sessionID: String, name: String = "", outputMode: OutputMode = .composed,
    width: Int = 640, height: Int = 480, layout: ArchiveLayout = ArchiveLayout(), hasAudio: Bool = true,
    hasVideo: Bool = true, streamMode: StreamMode = .auto, maximumBitrate: Int? = nil, directory: String
  ) {
    self.archiveID = archiveID
    self.sessionID = sessionID
    self.name = name
    self.outputMode = outputMode
    self.width = width
    self.height = height
    self.layout = layout
    self.hasAudio = hasAudio
    self.hasVideo = hasVideo
    self.streamMode = streamMode
    self.maximumBitrate = maximumBitrate
    self.directory = directory
  }
}

/// How a composed archive arranges its streams.
package struct ArchiveLayout: Equatable, Sendable {
  package enum Kind: String, Sendable {
    case bestFit, pip, verticalPresentation, horizontalPresentation, custom
  }

  package var kind: Kind
  /// CSS, with `custom` only.
  package var stylesheet: String?
  /// The layout while somebody shares a screen; only with `bestFit`, and not `custom`.
  package var screenshareKind: Kind?

  package init(_ kind: Kind = .bestFit, stylesheet: String? = nil, screenshareKind: Kind? = nil) {
    self.kind = kind
    self.stylesheet = stylesheet
    self.screenshareKind = screenshareKind
  }
}
