import Base
import MediaIO

/// Cameras that are unplugged in a call, and plugged in again, or for the first time.
extension Session {
  /// Between attempts to open cameras that have gone.
  static let cameraInterval: Duration = .seconds(2)

  /// A source has failed, and black is sent. The next of the publisher's sources that can be opened takes its
  /// place, until it comes back. A stand-in may fail as well: what it stands for is waited for all the same.
  func videoSourceFailed(_ streamID: String) {
    // What takes a capturer's place is its owner's to say.
    guard let publication = publications[streamID], publication.publisher.capture == nil else { return }
    let (publisher, sources) = (publication.publisher, publication.publisher.videoSources)
    var lost = publication.lostCameras
    let failed = publisher.state.withLock { $0.videoIndex }
    lost.failed(failed, isCamera: sources.indices.contains(failed) && sources[failed].isCamera)
    for offset in 1..<max(1, sources.count) {
      let index = (failed + offset) % sources.count
      if (try? setVideoSource(index, of: publisher)) != nil {
        uses(index, streamID, &lost)
        break
      }
    }
    wait(for: lost, streamID)
  }

  /// Tells of another source, which is there already.
  private func uses(_ index: Int, _ streamID: String, _ lost: inout LostCameras) {
    guard let publisher = publications[streamID]?.publisher else { return }
    lost.used(index)
    publisher.state.withLock { $0.videoIndex = index }
    // What could have been something else is a camera.
    let text = publisher.videoSources[index] == .automatic ? "camera" : publisher.videoSourceTexts[index]
    emit(.publisherVideoSourceChanged(streamID: streamID, source: text))
  }

  /// Looks for them as long as nothing else is chosen.
  func wait(for lost: LostCameras, _ streamID: String) {
    publications[streamID]?.waitingForCamera?.cancel()
    publications[streamID]?.lostCameras = lost
    guard !lost.indices.isEmpty, let publisher = publications[streamID]?.publisher else { return }
    let standIn = publisher.state.withLock { $0.videoIndex }
    publications[streamID]?.waitingForCamera = Task { [weak self] in
      while (try? await Task.sleep(for: Self.cameraInterval)) != nil {
        guard let self, await !self.tryCameras(inPlaceOf: standIn, streamID) else { return }
      }
    }
  }

  /// Whether there is no more to be done.
  private func tryCameras(inPlaceOf standIn: Int, _ streamID: String) -> Bool {
    guard let publication = publications[streamID] else { return true }
    let publisher = publication.publisher
    // The user has chosen another one meanwhile.
    guard publisher.state.withLock({ $0.videoIndex }) == standIn else { return true }
    var lost = publication.lostCameras
    for index in lost.indices {
      let camera = publisher.videoSources[index].makeCamera(
        size: publisher.size, frameRate: publisher.configuration.frameRate)
      guard let camera else { continue }
      publication.pipeline?.setSource(camera)
      uses(index, streamID, &lost)
      wait(for: lost, streamID)
      return true
    }
    return false
  }
}
