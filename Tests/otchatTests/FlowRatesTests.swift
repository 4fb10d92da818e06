import Base
@testable import OTKit
@testable import Participant
import Terminal
import Testing

@testable import otchat

@Suite struct FlowRatesTests {
  private func statistics(_ bytes: [Double]) -> ParticipantStatistics {
    var session = Statistics()
    for (number, bytes) in bytes.enumerated() {
      var publisher = Statistics.Publisher(streamID: "\(number)")
      publisher.video = [
        "bytesSent": bytes, "frameWidth": 640, "frameHeight": 480, "fractionLost": Double(number) / 10,
        "roundTripTime": 0.1 + Double(number) / 10,
      ]
      publisher.audio = ["bytesSent": 1000]
      session.publishers.append(publisher)
    }
    return ParticipantStatistics(session: session, cpuSeconds: 0, rssBytes: 0)
  }

  @Test func whatIsSentIsThatOfAllStreams() {
    var rates = FlowRates()
    let start = Instant(nanoseconds: 0)
    _ = rates.update(statistics([0, 0]), at: start)
    let sent = rates.update(statistics([10_000, 30_000]), at: start + .seconds(2)).sent
    #expect(sent.bitsPerSecond == 160_000)
    #expect(sent.width == 640 && sent.height == 480)
    #expect(sent.packetLoss == 0.1)
    #expect(sent.roundTripTime == .milliseconds(200))
  }
}
