import Base
import TestSupport
import Testing

@testable import RTP

@Suite struct RTPSessionTests {
  @Test func soundAndPicturesOnACleanLink() {
    let call = SimulatedCall()
    call.run(for: .seconds(5))
    #expect(call.frames.count >= 149)
    #expect(call.frames.map(\.number) == (0..<UInt32(call.frames.count)).map { $0 })
    #expect(call.audioPackets.count == 250)
    #expect(call.frames.filter(\.isKeyFrame).count == 1)
    #expect(call.medianLatency() < .milliseconds(40))
    let statistics = call.b.statistics(at: call.now)
    #expect(statistics.packetsMalformed == 0 && statistics.packetsUnknown == 0)
    #expect(statistics.inbound.map(\.packetsLost) == [0, 0])
    let sent = call.a.statistics(at: call.now)
    #expect(sent.remoteInbound.count == 2)
    #expect((sent.currentRoundTripTime ?? 1) < 0.01)
  }

  @Test func closingTellsThePeer() {
    let call = SimulatedCall()
    call.run(for: .seconds(2))
    call.a.close()
    call.run(for: .milliseconds(100))
    #expect(Set(call.goodbyes) == [call.audioIn, call.videoIn])
  }
}
