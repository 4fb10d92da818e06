import Base
import Codecs

/// Where pictures come from. Used by one thread at a time: whoever made it hands it to a pipeline, which
/// calls `start`, `next` and `stop` on its own thread.
package protocol VideoSource: AnyObject {
  /// For people: `test pattern`, `clip.mp4`.
  var name: String { get }

  func start(at now: Instant) throws(SourceError)

  /// Waits for the next picture, but not past `deadline`. A source that could not keep up skips pictures
  /// rather than being late.
  func next(until deadline: Instant) -> VideoSourceOutput

  func stop()

  /// Pictures of a device that were late or could not be read; 0 for what is none.
  var framesDropped: Int { get }
}

extension VideoSource {
  package var framesDropped: Int { 0 }
}

package enum VideoSourceOutput {
  case frame(VideoFrame)
  /// The deadline came first.
  case notYet
  /// There will be no more pictures.
  case ended
  case failed(SourceError)
  /// For people: `the window is hidden`. Pictures go on, or stay as they are.
  case notice(String)
}

/// Takes pictures to show. Called on a decoder's or capture thread at the time the picture is due; it must
/// not block.
package protocol VideoSink: Sendable {
  func render(_ frame: VideoFrame)
}
