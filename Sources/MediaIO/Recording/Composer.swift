import Base
import Codecs

/// Makes one picture and one sound of many streams, and writes them into a fragmented MP4 file, on a thread
/// and a clock of its own: 30 pictures a second, from the beginning to the end, whoever is there.
package final class Composer: Sendable {
  package struct Configuration: Sendable {
    package var path: String
    /// Even.
    package var size: VideoSize
    package var hasAudio: Bool
    package var hasVideo: Bool
    /// Of the picture, in bits per second; nil: as its quality wants.
    package var maximumBitrate: Int?

    package init(
      path: String, size: VideoSize, hasAudio: Bool = true, hasVideo: Bool = true, maximumBitrate: Int? = nil
    ) {
      self.path = path
      self.size = size
      self.hasAudio = hasAudio
      self.hasVideo = hasVideo
      self.maximumBitrate = maximumBitrate
    }
  }

  /// What became of it; the file can be played up to there even with a failure.
  package struct Result: Sendable, Equatable {
    package var duration: Duration
    package var failure: SourceError?
  }

  struct Scene {
    var sources: [CompositionSource] = []
    var layout = CompositionLayout()
    /// Nothing that comes later is recorded.
    var end: Instant?
  }

  package static let frameRate = 30

  let configuration: Configuration
  let start: Instant
  let scene = Lock(Scene())
  let stopping = Semaphore()

  /// Starts at once.
  ///
  /// - Parameters:
  ///   - failed: on the composer's thread, before `ended`.
  ///   - ended: the file is complete; on the composer's thread.
  package init(
    _ configuration: Configuration, failed: @escaping @Sendable (SourceError) -> Void,
    ended: @escaping @Sendable (Result) -> Void
  ) throws(ThreadError) {
    self.configuration = configuration
    start = MonotonicClock.now()
    _ = try MediaThread.start(name: "composer") { [self] in
      var loop = CompositionLoop(self)
      ended(loop.run(failed))
    }
  }

  /// It appears with its first media, and is there until what it sent has been shown.
  package func add(_ source: CompositionSource) { scene.withLock { $0.sources.append(source) } }

  package func setLayout(_ layout: CompositionLayout) { scene.withLock { $0.layout = layout } }

  /// Completes the file with what has arrived so far.
  package func stop() { stop(at: MonotonicClock.now()) }

  /// - Parameter end: where the file ends, as counted by the arrival of what is in it.
  func stop(at end: Instant) {
    scene.withLock { $0.end = $0.end ?? end }
    stopping.post()
  }
}
