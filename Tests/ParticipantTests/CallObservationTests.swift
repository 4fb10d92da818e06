import Base
import OpenTokProtocol
import Testing

@testable import OTKit
@testable import Participant

/// What a failed expectation says about its cause.
@Suite struct CallObservationTests {
  private let start = Instant(nanoseconds: 5_000_000_000)

  private func connection(_ id: String) -> ConnectionInfo { ConnectionInfo(id: id, creationTime: 0) }

  private func stream(audio: Bool = true, video: Bool = true) -> OTKit.Stream {
    OTKit.Stream(
      StreamInfo(
        id: "s", name: "Page", creationTime: 0, connection: connection("c"),
        channels: [
          ChannelInfo(id: "a", kind: .audio, active: audio),
          ChannelInfo(id: "v", kind: .video, active: video),
        ]))
  }

  private func entered() -> CallObservation {
    var observation = CallObservation()
    observation.received(
      .session(.sessionConnected(sessionID: "1", Connection(connection("own")))))
    observation.received(.session(.connectionCreated(Connection(connection("own")))))
    return observation
  }

  private func statistics(
    packets: Double, level: Double = -20, rate: Double = 30, brightness: Double = 0.4, still: Double = 0
  ) -> JSON {
    let subscriber: JSON = [
      "streamId": "s", "audio": ["packetsReceived": .number(packets), "audioLevel": .number(level)],
      "video": [
        "packetsReceived": .number(packets), "framesPerSecond": .number(rate),
        "brightness": .number(brightness), "stillDuration": .number(still),
      ],
    ]
    return ["subscribers": .array([subscriber])]
  }

  private let audio = ["subscriber", "audio", "audioLevel"]
  private let video = ["subscriber", "video", "framesPerSecond"]

  @Test func whatOnlyATestPatternHas() {
    var observation = entered()
    observation.received(.session(.streamCreated(stream())))
    observation.sampled(statistics(packets: 1), at: start)
    for metric in ["psnr", "endToEndLatency"] {
      #expect(
        observation.cause(of: ["subscriber", "video", metric], at: start)
          == "the picture of 'Page' is no test pattern, or too damaged to be read")
    }
    #expect(observation.cause(of: video, at: start) == nil)
  }

  @Test func whyNothingIsThere() {
    var observation = CallObservation()
    #expect(observation.cause(of: video, at: start) == nil, "not even entered")
    observation = entered()
    #expect(observation.cause(of: video, at: start) == "nobody else is in the session")
    #expect(observation.cause(ofMissing: "firstVideoFrame") == "nobody else is in the session")
    #expect(observation.cause(ofMissing: "micChanged") == nil)
    #expect(observation.cause(of: ["publisher", "video", "x"], at: start) == nil)
    observation.received(.session(.connectionCreated(Connection(connection("c")))))
    #expect(observation.cause(of: video, at: start) == "the other one in the session publishes nothing")
    observation.received(.session(.streamCreated(stream())))
    #expect(observation.cause(of: video, at: start) == "a stream is there and not received")
    observation.received(.session(.sessionReconnecting(.silence)))
    #expect(
      observation.cause(of: video, at: start)
        == "the connection to the server is lost; a stream is there and not received")
  }

  @Test func whatThePublisherDid() {
    var observation = entered()
    observation.received(.session(.streamCreated(stream())))
    observation.sampled(statistics(packets: 10), at: start)
    #expect(observation.cause(of: audio, at: start) == nil && observation.cause(of: video, at: start) == nil)
    observation.received(
      .session(.streamPropertyChanged(stream(audio: false, video: false), .hasAudio(true, false))))
    #expect(observation.cause(of: audio, at: start) == "'Page' has muted the microphone")
    #expect(observation.cause(of: video, at: start) == "'Page' has switched the camera off")
  }

  @Test func whatTheMediaIsLike() {
    var observation = entered()
    observation.received(.session(.streamCreated(stream())))
    observation.sampled(statistics(packets: 10, level: -90, brightness: 0.01), at: start)
    #expect(observation.cause(of: audio, at: start) == "the sound of 'Page' is silent")
    #expect(observation.cause(of: video, at: start) == "the picture of 'Page' is black")
    observation.sampled(statistics(packets: 20, still: 7.6), at: start + .seconds(1))
    #expect(
      observation.cause(of: video, at: start + .seconds(1)) == "the picture of 'Page' has not changed for 7 s"
    )
    observation.sampled(statistics(packets: 30, rate: 0), at: start + .seconds(2))
    #expect(observation.cause(of: video, at: start + .seconds(2)) == "no new picture comes from 'Page'")
    observation.sampled(statistics(packets: 30, rate: 0), at: start + .seconds(5))
    let cause = observation.cause(of: video, at: start + .seconds(5))
    #expect(cause == "no packet has come from 'Page' for 3 s")
  }
}
