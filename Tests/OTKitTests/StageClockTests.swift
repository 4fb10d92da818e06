import Base
import Testing

@testable import OTKit

@Suite struct StageClockTests {
  private func time(_ milliseconds: Int64) -> Instant { Instant(nanoseconds: milliseconds * 1_000_000) }

  private func texts(_ times: [OpenTokError.StageTime]) -> [String] { times.map(\.text) }

  @Test func eachStageHasItsTimeAndTheFailedOneComesLast() {
    var clock = StageClock(at: time(1000))
    #expect(texts(clock.failed(in: .signalling, at: time(1250))) == ["signalling 250 ms"])
    clock.ended(.credentials, at: time(1012))
    clock.ended(.signalling, at: time(1100))
    #expect(
      texts(clock.failed(in: .ice, at: time(11_140)))
        == ["credentials 12 ms", "signalling 88 ms", "ICE 10.0 s"])
    // An offer that cannot be used: signalling has come to an end, but to no good one.
    #expect(
      texts(clock.failed(in: .signalling, at: time(1103))) == ["credentials 12 ms", "signalling 91 ms"])
  }

  @Test func whatFailsLaterFailsInMedia() {
    var clock = StageClock(at: .zero)
    for (stage, end) in [(OpenTokError.Stage.signalling, 50), (.ice, 70), (.ice, 5000), (.dtls, 5100)] {
      clock.ended(stage, at: time(Int64(end)))
    }
    #expect(
      texts(clock.failed(in: .ice, at: time(65_100)))
        == ["signalling 50 ms", "ICE 20 ms", "DTLS 5.0 s", "media 60.0 s"])
  }

  @Test func errorsOfStreamsTellThem() {
    let stages = [OpenTokError.StageTime(.signalling, .milliseconds(103)), .init(.ice, .seconds(10))]
    let error = OpenTokError.subscriberFailed(.ice, from: "bob", detail: "no path works", stages: stages)
    #expect(error.message == "receiving 'bob' failed (ICE): no path works [signalling 103 ms, ICE 10.0 s]")
    #expect(error.stages == stages)
    #expect(OpenTokError.streamNotFound.stages.isEmpty)
  }
}
