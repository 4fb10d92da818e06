import Base
import Testing

@testable import OTKit
@testable import otchat

struct SilenceWatchTests {
  private func statistics(audio: Double, video: Double) -> Statistics {
    Statistics(subscribers: [
      .init(streamID: "s", audio: ["packetsReceived": audio], video: ["packetsReceived": video])
    ])
  }

  @Test func threeSecondsWithoutAPacketAreSilence() {
    var watch = SilenceWatch()
    func changes(_ audio: Double, _ video: Double, at seconds: Int) -> [String] {
      watch.update(statistics(audio: audio, video: video), at: .zero + .seconds(seconds))
        .map { "\($0.streamID) \($0.isSilent)" }
    }
    #expect(changes(0, 0, at: 0) == [])
    #expect(changes(0, 0, at: 9) == [], "nothing has come yet")
    #expect(changes(5, 5, at: 10) == [])
    #expect(changes(6, 5, at: 12) == [])
    #expect(changes(6, 5, at: 14) == [])
    #expect(changes(6, 5, at: 15) == ["s true"])
    #expect(changes(6, 5, at: 20) == [], "told once")
    #expect(changes(6, 6, at: 21) == ["s false"])
    watch.forget("s")
    #expect(changes(6, 6, at: 60) == [])
  }
}
