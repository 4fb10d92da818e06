import Base
import Codecs
import MediaIO

/// What a participant publishes: sound and picture from sources named by texts.
///
/// Video sources: `test` (a moving test pattern), `noise`, `black`, `file:PATH` (any format, looped;
/// `file:PATH?once`), `camera[:NAME]`, `screen[:DISPLAY|MONITOR|WINDOW]`, `none`, `auto` (a camera, else `test`). Audio sources:
/// `test` (blips in time with the test pattern), `tone[:HZ]`, `noise`, `silence`, `file:PATH`, `mic[:NAME]`,
/// `none`, `auto` (a microphone, else `silence`).
///
/// Pictures of your own come from a `VideoCapturer`, sound of your own from an `AudioDevice`.
public final class Publisher: Sendable {
  public struct Configuration: Sendable, Equatable {
    /// The stream's name, for people.
    public var name: String
    /// The first is published; `cycleVideo` goes round. None, or `none`: no picture.
    public var videoSources: [String]
    public var audioSource: String
    public var width: Int
    public var height: Int
    /// Pictures a second, at most.
    public var frameRate: Int
    /// Bits a second; the network decides how much of it is used.
    public var maximumVideoBitrate: Int
    public var videoType: Stream.VideoType
    /// Whether to begin with sound, and with picture.
    public var publishAudio: Bool
    public var publishVideo: Bool

    public init(
      name: String = "", videoSources: [String] = ["test"], audioSource: String = "tone", width: Int = 640,
      height: Int = 480, frameRate: Int = 30, maximumVideoBitrate: Int = 1_500_000,
      videoType: Stream.VideoType = .camera, publishAudio: Bool = true, publishVideo: Bool = true
    ) {
      self.name = name
      self.videoSources = videoSources
      self.audioSource = audioSource
      self.width = width
      self.height = height
      self.frameRate = frameRate
      self.maximumVideoBitrate = maximumVideoBitrate
      self.videoType = videoType
      self.publishAudio = publishAudio
      self.publishVideo = publishVideo
    }
  }

  struct State {
    var audioOn: Bool
    var videoOn: Bool
    var videoIndex = 0
    var streamID: String?
    /// In place of the video sources.
    var capture: CaptureControl?
    var renderer: (any VideoSink)?
    weak var session: Session?
  }

  public let configuration: Configuration
  let videoSources: [VideoSourceSpecification]
  let audioSource: AudioSourceSpecification
  let state: Lock<State>

  /// - Parameter videoCapturer: whose pictures are published, in place of `videoSources`. They are sent in the
  ///   size in which they come, whatever `width` and `height` say.
  /// - Throws: `mediaUnavailable` for a source that is none, `invalidParameter` for a size or rate that no
  ///   encoder takes. Sources are opened when publishing begins.
  public init(
    _ configuration: Configuration = Configuration(), videoCapturer: (any VideoCapturer)? = nil
  ) throws(OpenTokError) {
    guard (16...4096).contains(configuration.width), (16...4096).contains(configuration.height) else {
      throw .invalidParameter("a resolution has 16 to 4096 points each way")
    }
    guard (1...120).contains(configuration.frameRate) else {
      throw .invalidParameter("a frame rate is 1 to 120 pictures a second")
    }
    guard configuration.maximumVideoBitrate >= 30_000 else {
      throw .invalidParameter("video needs at least 30 kb/s")
    }
    do throws(SourceError) {
      var sources: [VideoSourceSpecification] = []
      for text in configuration.videoSources { sources.append(try VideoSourceSpecification(parsing: text)) }
      videoSources = sources.filter { $0 != .absent }
      audioSource = try AudioSourceSpecification(parsing: configuration.audioSource)
    } catch {
      throw OpenTokError(error)
    }
    self.configuration = configuration
    let capture = videoCapturer.map { CaptureControl($0, frameRate: configuration.frameRate) }
    state = Lock(
      State(audioOn: configuration.publishAudio, videoOn: configuration.publishVideo, capture: capture))
  }

  public var hasAudio: Bool { audioSource != .absent }
  public var hasVideo: Bool { capture != nil || !videoSources.isEmpty }

  /// Whether sound is being sent; false while muted.
  public var isPublishingAudio: Bool { hasAudio && state.withLock { $0.audioOn } }
  public var isPublishingVideo: Bool { hasVideo && state.withLock { $0.videoOn } }

  /// Nil while it is not published.
  public var streamID: String? { state.withLock { $0.streamID } }

  /// Microphone on or off. Off, silence is sent, and the others are told.
  public func publishAudio(_ on: Bool) async {
    state.withLock { $0.audioOn = on }
    await session?.applySwitches(of: self)
  }

  /// Camera on or off. Off, a black picture stands still, and the others are told.
  public func publishVideo(_ on: Bool) async {
    state.withLock { $0.videoOn = on }
    await session?.applySwitches(of: self)
  }

  /// Goes on to the next of the video sources; costs one key frame.
  ///
  /// - Returns: the source that is published now.
  /// - Throws: `mediaUnavailable` if it cannot be opened; the one before stays. `invalidParameter` while a
  ///   capturer is published.
  @discardableResult
  public func cycleVideo() async throws(OpenTokError) -> String {
    guard !videoSources.isEmpty else { throw .invalidParameter("there is no video source") }
    guard capture == nil else { throw .invalidParameter("a capturer is published, and no video source") }
    let index = state.withLock { ($0.videoIndex + 1) % videoSources.count }
    try await session?.setVideoSource(index, of: self)
    state.withLock { $0.videoIndex = index }
    return videoSourceTexts[index]
  }

  /// Whose pictures are published; nil: those of `Configuration.videoSources`.
  public var videoCapturer: (any VideoCapturer)? { capture?.capturer }

  /// How its pictures have been taken; nil without a capturer.
  public var captureStatistics: VideoCaptureConsumer.Statistics? { capture?.consumer.statistics }

  /// Publishes another one's pictures from now on, at the cost of a key frame; nil: those of the video source.
  ///
  /// - Throws: `mediaUnavailable` if it cannot be initialised, `invalidParameter` if what is published has no
  ///   video; the one before stays.
  public func setVideoCapturer(_ capturer: (any VideoCapturer)?) async throws(OpenTokError) {
    let old = capture
    let new = capturer.map { capturer in
      // Begun again after it has failed, it is the same one.
      old.flatMap { $0.capturer === capturer ? $0 : nil }
        ?? CaptureControl(capturer, frameRate: configuration.frameRate)
    }
    if streamID != nil {
      guard hasVideo, new != nil || !videoSources.isEmpty else {
        throw .invalidParameter("what is published without video stays so, and with video, too")
      }
      if let new {
        try await session?.setCapturer(new, of: self)
      } else {
        let index = state.withLock { $0.videoIndex }
        try await session?.setVideoSource(index, of: self)
      }
    }
    state.withLock { $0.capture = new }
    if old !== new { old?.release() }
  }

  var capture: CaptureControl? { state.withLock { $0.capture } }

  /// What is announced, and the encoder is made ready for.
  func videoFormat() throws(OpenTokError) -> (size: VideoSize, frameRate: Int) {
    guard let settings = capture?.capturer.captureSettings else { return (size, configuration.frameRate) }
    if let fault = settings.fault { throw .invalidParameter("\(videoCapturer?.name ?? ""): \(fault)") }
    return (settings.size, min(max(settings.framesPerSecond, 1), configuration.frameRate))
  }

  /// As they were given, for `videoSources`.
  var videoSourceTexts: [String] { configuration.videoSources.filter { $0 != "none" } }

  /// The self-view: called with every picture that is taken, on the encoder's thread. Nil: none.
  package func setRenderer(_ renderer: (any VideoSink)?) async {
    state.withLock { $0.renderer = renderer }
    await session?.applySwitches(of: self)
  }

  private var session: Session? { state.withLock { $0.session } }

  var size: VideoSize { VideoSize(width: configuration.width, height: configuration.height) }
}
