import Base
import TestSupport
import Testing

@testable import RTP

@Suite struct LipSyncTests {
  /// Plays the sound so long after its arrival, or longer if asked to, and looks at what is heard and
  /// seen at the same time.
  ///
  /// - Returns: how much later sound is heard than the picture of the same moment is seen, in seconds.
  private func offset(soundDelay: Duration, _ change: (inout SimulatedLink.Conditions) -> Void) -> Double {
    var conditions = SimulatedLink.Conditions()
    conditions.delay = .milliseconds(30)
    change(&conditions)
    let call = SimulatedCall(conditions, seed: 9)
    var minimumDelay = Duration.zero
    var heard: (timestamp: Int64, at: Instant)?
    call.onAudio = { packet in
      // The earliest way takes 30 ms; a jitter buffer adds the rest.
      let captured =
        call.start + .milliseconds(20) * Int(packet.sequenceNumber - call.audioPackets[0].sequenceNumber)
      let played = captured + .milliseconds(30) + max(soundDelay, minimumDelay)
      heard = (packet.timestamp, played)
      call.b.updateAudioPlayout(call.audioIn, timestamp: packet.timestamp, playedAt: played)
      minimumDelay = call.minimumAudioDelays.last ?? .zero
    }
    call.run(for: .seconds(15))
    let audioLag = 0.03 + max(soundDelay, minimumDelay).seconds
    #expect(heard != nil)
    return audioLag - call.medianLatency(after: .seconds(10)).seconds
  }

  @Test func picturesWaitForLateSound() {
    let difference = offset(soundDelay: .milliseconds(250)) { _ in }
    #expect(abs(difference) <= 0.04, "\(difference)")
  }

  @Test func soundWaitsForLatePictures() {
    // Repaired frames come a round trip later.
    let difference = offset(soundDelay: .milliseconds(20)) {
      $0.loss = 0.08
      $0.delay = .milliseconds(60)
    }
    #expect(abs(difference + 0.03) <= 0.045, "\(difference)")
  }

  @Test func whatIsInTimeIsLeftAlone() {
    let difference = offset(soundDelay: .milliseconds(25)) { _ in }
    #expect(abs(difference) <= 0.04, "\(difference)")
  }
}
