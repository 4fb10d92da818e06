import OTKit
import TestSupport
import Testing

extension CallTests {
  @Suite struct RepublishingTests {
    @Test(.timeLimit(.minutes(10))) func aPublisherBeginsAnewWithItsFirstSource() async throws {
      let server = try await Server.start()
      let one = try await Participant.join(server)
      let sources = ["black", "noise", "test"]
      let publisher = try Publisher(.init(name: "A", videoSources: sources, audioSource: "none"))
      try await one.session.publish(publisher)
      #expect(try await publisher.cycleVideo() == "noise")
      #expect(try await publisher.cycleVideo() == "test")
      try await one.session.unpublish(publisher)
      try await one.session.publish(publisher)
      #expect(try await publisher.cycleVideo() == "noise")
      await one.session.disconnect()
      await server.stop()
    }

    @Test(.timeLimit(.minutes(10))) func whatIsChosenBeforeIsWhatIsPublished() async throws {
      let server = try await Server.start()
      let one = try await Participant.join(server)
      let missing = "file:/nonexistent/film.webm"
      let publisher = try Publisher(
        .init(name: "A", videoSources: ["black", missing], audioSource: "none"))
      #expect(try await publisher.cycleVideo() == missing)
      let error = await #expect(throws: OpenTokError.self) { try await one.session.publish(publisher) }
      guard case .mediaUnavailable = error else {
        Issue.record("\(String(describing: error))")
        return
      }
      #expect(try await publisher.cycleVideo() == "black")
      try await one.session.publish(publisher)
      #expect(publisher.streamID != nil)
      await one.session.disconnect()
      await server.stop()
    }
  }
}
