import Base
import Codecs
import RTP

/// Records one received stream into a WebM file, on a thread of its own. The file is made when the first
/// media has come, and a crash costs its last 2 seconds at most.
package final class StreamRecorder: EncodedMediaSink {
  package struct Configuration: Sendable {
    package var path: String
    /// Whether the stream has sound and picture, be they muted now.
    package var hasAudio: Bool
    package var hasVideo: Bool
    /// As announced; the first key frame knows better.
    package var videoSize: VideoSize?

    package init(path: String, hasAudio: Bool, hasVideo: Bool, videoSize: VideoSize? = nil) {
      self.path = path
      self.hasAudio = hasAudio
      self.hasVideo = hasVideo
      self.videoSize = videoSize
    }
  }

  package enum Event: Sendable {
    /// The file is there; when its time begins.
    case started(path: String, at: Instant)
    /// What comes from now on is not recorded.
    case failed(SourceError)
    /// The last event.
    case finished(Summary)
  }

  package struct Summary: Sendable, Equatable {
    package var path: String
    /// When the file's time began; nil if nothing came, and there is no file.
    package var start: Instant?
    package var duration: Duration
    package var bytes: Int64
    package var audioPackets: Int
    package var videoFrames: Int
  }

  enum Item: Sendable {
    case began
    case audio(ReceivedAudioPacket)
    case video(ReceivedVideoFrame)
  }

  private struct State {
    var requestKeyFrame: (@Sendable () -> Void)?
    /// A picture was given up: what follows refers to it.
    var needsKeyFrame = false
  }

  /// More than ten seconds of sound and picture.
  private static let capacity = 1024

  let configuration: Configuration
  let mailbox = Mailbox<Item>(capacity: StreamRecorder.capacity, overflow: .dropNewest)
  private let state = Lock(State())

  /// Starts at once.
  ///
  /// - Parameter observer: called on the recorder's thread.
  package init(_ configuration: Configuration, observer: @escaping @Sendable (Event) -> Void)
    throws(ThreadError)
  {
    self.configuration = configuration
    _ = try MediaThread.start(name: "recorder") { [self] in
      var loop = RecordingLoop(self, observer)
      loop.run()
    }
  }

  package func mediaBegan(requestKeyFrame: @escaping @Sendable () -> Void) {
    state.withLock { $0.requestKeyFrame = requestKeyFrame }
    mailbox.put(.began)
  }

  package func receive(_ packet: ReceivedAudioPacket) { mailbox.put(.audio(packet)) }

  package func receive(_ frame: ReceivedVideoFrame) {
    let isUseful = state.withLock { !$0.needsKeyFrame || frame.isKeyFrame }
    guard isUseful else { return }
    let isTaken = mailbox.put(.video(frame))
    state.withLock { $0.needsKeyFrame = !isTaken }
    if !isTaken { requestKeyFrame() }
  }

  /// What has come so far is written and the file completed; `finished` tells when that is done.
  package func mediaEnded() { mailbox.close() }

  func requestKeyFrame() { state.withLock { $0.requestKeyFrame }?() }
}
