import Base
import OpenTokProtocol
import SessionServer
import TestSupport
import Testing

@testable import OTKit
// One whole call at a time: several at once are too much for a sanitizer on two cores.
extension CallTests {
  /// What is known of published and received streams, and what becomes of one that the server forgets.
  @Suite struct PublishedStreamTests {
    /// Every figure that is promised, on the side that has it, and each subscriber's own.
    @Test(.timeLimit(.minutes(10))) func theStatisticsAreCompleteAndEachStreamsOwn() async throws {
      let server = try await Server.start()
      let (a, b) = (try await Participant.join(server), try await Participant.join(server))
      let c = try await Participant.join(server)
      try await a.session.publish(try Participant.publisher(tone: 440, name: "A"))
      try await b.session.publish(
        try Publisher(
          .init(name: "B", videoSources: ["test"], audioSource: "tone:880", width: 176, height: 144)))
      let streams = [try await c.stream(named: "A"), try await c.stream(named: "B")]
      for stream in streams { try await c.session.subscribe(to: stream) }
      for (stream, tone) in zip(streams, [440.0, 880.0]) { try await c.seesAndHears(stream.id, tone: tone) }
      var missing: [String] = []
      try await eventually("every figure", state: { "\(missing)" }) {
        missing = try await Self.missing(in: [a.session.statistics().json, c.session.statistics().json])
        return missing.isEmpty
      }
      let received = await c.session.statistics().subscribers
      #expect(received.count == 2)
      for (stream, size) in zip(streams, [(320, 240), (176, 144)]) {
        let own = try #require(received.first { $0.streamID == stream.id })
        #expect(own.video["frameWidth"] == Double(size.0) && own.video["frameHeight"] == Double(size.1))
      }
      let sent = try #require(await a.session.statistics().publishers.first)
      #expect(sent.streamID == streams[0].id && sent.subscribers.count == 1)
      #expect(sent.subscribers.first?.isVideoDisabled == false)
      for one in [a, b, c] { await one.session.disconnect() }
      await server.stop()
    }

    /// - Parameter statistics: of one who publishes only, and of one who subscribes only.
    private static func missing(in statistics: [JSON]) throws -> [String] {
      let table = [
        (
          0, "publisher.audio",
          "bytesSent packetsSent packetsLost jitter roundTripTime nackCount targetBitrate "
            + "totalAudioEnergy totalSamplesDuration audioLevel mos"
        ),
        (
          0, "publisher.video",
          "bytesSent packetsSent packetsLost jitter roundTripTime nackCount pliCount firCount "
            + "targetBitrate availableOutgoingBitrate framesCaptured framesEncoded keyFramesEncoded framesSent framesPerSecond "
            + "frameWidth frameHeight totalEncodeTime mos"
        ),
        (
          0, "publisher.subscribers.0.transport",
          "roundTripTime availableOutgoingBitrate bytesSent bytesReceived"
        ),
        (0, "publisher.subscribers.0.audio", "packetsSent packetsLost roundTripTime mos"),
        (0, "publisher.subscribers.0.video", "packetsSent packetsLost roundTripTime mos"),
        (
          1, "subscribers.0.audio",
          "bytesReceived packetsReceived packetsLost jitter roundTripTime jitterBufferDelay "
            + "jitterBufferEmittedCount totalSamplesReceived concealedSamples totalAudioEnergy audioLevel mos"
        ),
        (
          1, "subscribers.0.video",
          "bytesReceived packetsReceived packetsLost jitter roundTripTime jitterBufferDelay "
            + "framesReceived framesDecoded keyFramesDecoded framesDropped framesPerSecond frameWidth frameHeight "
            + "nackCount pliCount freezeCount totalFreezesDuration mos endToEndLatency framesMissing"
        ),
        (1, "subscribers.1.video", "framesPerSecond roundTripTime mos endToEndLatency"),
        (1, "subscribers.0.transport", "roundTripTime bytesReceived bytesSent"),
      ]
      return table.flatMap { index, path, names in
        var place: JSON? = statistics[index]
        for name in path.split(separator: ".") {
          place = Int(name).map { place?[$0] } ?? place?[String(name)]
        }
        return names.split(separator: " ").filter { place?[String($0)]?.doubleValue == nil }.map {
          "\(path).\($0)"
        }
      }
    }

    @Test(.timeLimit(.minutes(10))) func aStreamThatTheServerTellsNobodyOfIsGivenUp() async throws {
      let server = try await Server.start()
      let (a, b) = (try await Participant.join(server), try await Participant.join(server))
      try await a.session.publish(try Participant.publisher(name: "A"))
      let stream = try await b.stream(named: "A")
      try await a.waitFor("its stream") { $0.name == "publisherStreamCreated" ? true : nil }
      await a.session.forgetCreation(of: stream.id)
      let error = try await a.waitFor("the error") { if case .error(let error) = $0 { error } else { nil } }
      #expect(error == .timedOut(.publishing, seconds: 0.05))
      try await b.waitFor("its end") {
        if case .streamDestroyed(let gone, _) = $0, gone.id == stream.id { true } else { nil }
      }
      #expect(await a.session.publications.isEmpty)
      for one in [a, b] { await one.session.disconnect() }
      await server.stop()
    }
  }
}

extension Session {
  /// As if the server had not told of the stream.
  fileprivate func forgetCreation(of streamID: String) {
    publications[streamID]?.isCreated = false
    watchCreation(of: streamID, within: .milliseconds(50))
  }
}
