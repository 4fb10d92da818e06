import Base
import OpenTokProtocol
import Testing

@testable import OTKit

@Suite struct StatisticsTests {
  @Test func keyFrameRequestsAreMerged() {
    var gate = KeyFrameGate()
    let start = Instant(nanoseconds: 5_000_000_000)
    #expect(gate.deadline == nil)
    #expect(gate.request(at: start) == true)
    // A second one within the second waits, however many ask.
    #expect(gate.request(at: start + .milliseconds(100)) == false)
    #expect(gate.request(at: start + .milliseconds(900)) == false)
    #expect(gate.deadline == start + .seconds(1))
    #expect(gate.advance(to: start + .milliseconds(999)) == false)
    #expect(gate.advance(to: start + .seconds(1)) == true)
    #expect(gate.deadline == nil)
    #expect(gate.advance(to: start + .seconds(5)) == false)
    #expect(gate.request(at: start + .seconds(5)) == true)
  }

  @Test(arguments: [
    (0.0, 0.0, 4.40), (0.15, 0.0, 4.36), (0.05, 0.05, 3.87), (0.4, 0.0, 3.1), (0.1, 0.5, 1.5),
  ])
  func opinionScores(_ delay: Double, _ loss: Double, _ score: Double) {
    #expect(abs(VoiceQuality.score(delay: delay, loss: loss) - score) < 0.1)
  }

  @Test func noScoreWithoutSound() {
    #expect(VoiceQuality.meanOpinionScore([:], roundTripTime: 0.1) == nil)
    let clean: Metrics = [
      "totalSamplesReceived": 48000, "concealedSamples": 480, "silentConcealedSamples": 480,
    ]
    #expect((VoiceQuality.meanOpinionScore(clean, roundTripTime: nil) ?? 0) > 4.3)
  }

  @Test func theJSONHasW3CNamesInTheContractsPlaces() throws {
    var statistics = Statistics()
    statistics.publishers = [
      .init(
        streamID: "p", audio: ["packetsSent": 50], video: ["framesPerSecond": 29.5],
        subscribers: [.init(subscriberID: "s1", transport: ["roundTripTime": 0.01])])
    ]
    statistics.subscribers = [
      .init(
        streamID: "s", audio: [:], video: ["jitter": 0.002, "bad": .nan], transport: [:],
        localCandidate: "host 127.0.0.1:1")
    ]
    let json = try JSON(parsing: statistics.jsonText)
    #expect(json["publisher"]?["audio"]?["packetsSent"] == 50)
    #expect(json["publisher"]?["video"]?["framesPerSecond"] == 29.5)
    #expect(json["publisher"]?["subscribers"]?[0]?["subscriberId"] == "s1")
    #expect(json["publisher"]?["subscribers"]?[0]?["transport"]?["roundTripTime"] == 0.01)
    #expect(json["subscribers"]?[0]?["streamId"] == "s")
    #expect(json["subscribers"]?[0]?["video"] == ["jitter": 0.002])
    #expect(json["subscribers"]?[0]?["transport"]?["localCandidate"] == "host 127.0.0.1:1")
    #expect(try JSON(parsing: Statistics().jsonText) == ["publisher": .null, "subscribers": []])
  }

  @Test func sumsOverSubscribersLeaveRatesAlone() {
    var publisher = Statistics.Publisher(streamID: "p")
    let peers = [0.01, 0.05].map {
      Statistics.Peer(
        subscriberID: nil, audio: ["packetsSent": 10, "roundTripTime": $0],
        video: ["framesSent": 30, "jitter": $0], transport: ["availableOutgoingBitrate": 1e6 * $0])
    }
    for peer in peers { publisher.add(peer) }
    publisher.adopt(peers)
    #expect(publisher.audio == ["packetsSent": 20, "roundTripTime": 0.05])
    #expect(publisher.video == ["framesSent": 60, "jitter": 0.05, "availableOutgoingBitrate": 10_000])
  }
}
