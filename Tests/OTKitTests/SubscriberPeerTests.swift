import Base
import Peer
import TestSupport
import Testing

@testable import MediaIO
@testable import OTKit

@Suite @NetworkActor struct SubscriberPeerTests {
  @Test func anOfferAfterAFailureIsAnswered() async throws {
    var configuration = PeerConnection.Configuration(certificate: try LocalCertificate.get(), cname: "test")
    configuration.limit = .milliseconds(100)
    let publisher = PeerConnection(configuration: configuration) { _ in }
    let offer = try publisher.offer(audio: true, video: false, streamID: "s")
    let answers = Lock(0)
    let errors = Lock<[PeerError]>([])
    let video = try VideoSubscribePipeline(renderer: nil) {}
    let peer = SubscriberPeer(
      streamID: "s", configuration: configuration, video: video, audio: AudioReceiver(offset: nil),
      wantsVideo: false
    ) { output in
      if case .answer = output { answers.withLock { $0 += 1 } }
      if case .failed(_, let error) = output { errors.withLock { $0.append(error) } }
    }
    let address = PeerAddress(streamID: "s", subscriberID: "u", peerID: "p", sourceStreamID: nil)
    peer.offer(offer, from: address)
    #expect(answers.withLock { $0 } == 1)
    // No candidate reaches it, so it finds no path.
    try await eventually("given up") { errors.withLock { $0 } == [.iceTimedOut(after: .milliseconds(100))] }
    peer.offer(offer, from: address)
    #expect(answers.withLock { $0 } == 2)
    #expect(errors.withLock { $0.count } == 1)
    peer.close()
    publisher.close()
    video.stop()
  }
}
