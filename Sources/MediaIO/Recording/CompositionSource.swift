import Base
import Codecs
import RTP

/// One stream on its way into a composition.
package final class CompositionSource: EncodedMediaSink {
  enum Item: Sendable {
    case began
    case audio(ReceivedAudioPacket)
    case video(ReceivedVideoFrame)
    /// Whether a picture is to be seen, from then on.
    case hasVideo(Bool, at: Instant)
  }

  struct Settings {
    var name: String
    var layout: CompositionLayout.Stream
    /// Whether its sound is wanted.
    var hasAudio = true
    /// Whether there is a picture at the composition's present, which is a little behind.
    var hasVideo: Bool
    var requestKeyFrame: (@Sendable () -> Void)?
    var needsKeyFrame = false
  }

  /// More than ten seconds of sound and picture.
  private static let capacity = 1024

  package let streamID: String
  let mailbox = Mailbox<Item>(capacity: CompositionSource.capacity, overflow: .dropNewest)
  let settings: Lock<Settings>

  /// - Parameter name: what stands there while there is no picture.
  package init(streamID: String, name: String, isScreen: Bool, hasVideo: Bool) {
    self.streamID = streamID
    settings = Lock(
      Settings(name: name, layout: CompositionLayout.Stream(isScreen: isScreen), hasVideo: hasVideo))
  }

  /// Without: its name is shown, from the moment on that is now arriving.
  package func setHasVideo(_ on: Bool) { mailbox.put(.hasVideo(on, at: MonotonicClock.now())) }

  package func setHasAudio(_ on: Bool) { settings.withLock { $0.hasAudio = on } }

  package func setClasses(_ classes: [String]) { settings.withLock { $0.layout.classes = classes } }

  package func mediaBegan(requestKeyFrame: @escaping @Sendable () -> Void) {
    settings.withLock { $0.requestKeyFrame = requestKeyFrame }
    mailbox.put(.began)
  }

  package func receive(_ packet: ReceivedAudioPacket) { mailbox.put(.audio(packet)) }

  package func receive(_ frame: ReceivedVideoFrame) {
    guard settings.withLock({ !$0.needsKeyFrame || frame.isKeyFrame }) else { return }
    let isTaken = mailbox.put(.video(frame))
    settings.withLock { $0.needsKeyFrame = !isTaken }
    if !isTaken { requestKeyFrame() }
  }

  package func mediaEnded() { mailbox.close() }

  func requestKeyFrame() { settings.withLock { $0.requestKeyFrame }?() }
}
