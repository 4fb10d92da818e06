import OTKit

/// What a participant can be told to do at any time.
extension Participant {
  package static let chatType = "chat"

  package var isMicrophoneOn: Bool { publisher?.isPublishingAudio ?? false }
  package var isCameraOn: Bool { publisher?.isPublishingVideo ?? false }
  package var isSubscriberAudioOn: Bool { subscriberAudio }

  package func setMicrophone(_ on: Bool) async {
    guard let publisher, publisher.hasAudio else { return emit(.refused("there is no microphone to mute")) }
    await publisher.publishAudio(on)
    emit(.micChanged(on))
  }

  package func setCamera(_ on: Bool) async {
    guard let publisher, publisher.hasVideo else { return emit(.refused("there is no camera to switch")) }
    await publisher.publishVideo(on)
    emit(.cameraChanged(on, source: nil))
  }

  package func setSubscriberAudio(_ on: Bool) async {
    subscriberAudio = on
    for subscriber in subscribers.values { await subscriber.subscribeToAudio(on) }
    emit(.subscriberAudioChanged(on))
  }

  /// Goes on to the next video source.
  package func swapCamera() async {
    guard let publisher, publisher.hasVideo else { return emit(.refused("there is no camera to swap")) }
    do throws(OpenTokError) {
      let source = try await publisher.cycleVideo()
      emit(.cameraChanged(publisher.isPublishingVideo, source: source))
    } catch {
      emit(.error(error))
    }
  }

  package func nextSubscriber() { carryOut(plan.next()) }

  /// Tells that something asked for cannot be done.
  package func refuse(_ message: String) { emit(.refused(message)) }

  /// A line of chat for everybody.
  package func say(_ text: String) async { await send(type: Self.chatType, data: text, to: nil) }

  package func send(type: String, data: String, to connection: String?) async {
    do throws(OpenTokError) {
      try await session.signal(type: type, data: data, toConnection: connection)
    } catch {
      emit(.error(error))
    }
  }
}
