import Base
import MediaIO

/// Cameras that are unplugged in a call, and plugged in again.
extension Session {
  /// Between attempts to open a camera that has gone.
  static let cameraInterval: Duration = .seconds(2)

  /// A source has failed, and black is sent. The next of the publisher's sources that can be opened takes its
  /// place, until it comes back.
  func videoSourceFailed(_ streamID: String) {
    // What takes a capturer's place is its owner's to say.
    guard let publisher = publications[streamID]?.publisher, publisher.capture == nil else { return }
    let failed = publisher.state.withLock { $0.videoIndex }
    let count = publisher.videoSources.count
    for offset in 1..<max(1, count) {
      let index = (failed + offset) % count
      if (try? setVideoSource(publisher.videoSources[index], of: publisher)) != nil {
        publisher.state.withLock { $0.videoIndex = index }
        emit(.publisherVideoSourceChanged(streamID: streamID, source: publisher.videoSourceTexts[index]))
        break
      }
    }
    let standIn = publisher.state.withLock { $0.videoIndex }
    publications[streamID]?.waitingForCamera?.cancel()
    publications[streamID]?.waitingForCamera = Task { [weak self] in
      while (try? await Task.sleep(for: Self.cameraInterval)) != nil {
        guard let self, await !self.tryCamera(failed, inPlaceOf: standIn, streamID) else { return }
      }
    }
  }

  /// Whether there is no more to be done.
  private func tryCamera(_ index: Int, inPlaceOf standIn: Int, _ streamID: String) -> Bool {
    guard let publication = publications[streamID] else { return true }
    let publisher = publication.publisher
    // The user has chosen another one meanwhile.
    guard publisher.state.withLock({ $0.videoIndex }) == standIn else { return true }
    let camera = publisher.videoSources[index].makeCamera(
      size: publisher.size, frameRate: publisher.configuration.frameRate)
    guard let camera else { return !publisher.videoSources[index].isCamera }
    publication.pipeline?.setSource(camera)
    publisher.state.withLock { $0.videoIndex = index }
    emit(.publisherVideoSourceChanged(streamID: streamID, source: publisher.videoSourceTexts[index]))
    return true
  }
}
