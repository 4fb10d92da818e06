import Base
import RTP
import TestSupport
import Testing

@testable import MediaIO

/// A voice through everything there is, Opus included, over bad networks in virtual time.
@Suite struct AudioNetworkTests {
  private func call(
    seconds: Int, drift: Double = 0, _ change: (inout SimulatedLink.Conditions) -> Void
  ) throws -> SimulatedAudioCall {
    var conditions = SimulatedLink.Conditions()
    conditions.delay = .milliseconds(50)
    change(&conditions)
    var options = SimulatedAudioCall.Options()
    options.encoder.complexity = 3
    options.clockDrift = drift
    let call = try SimulatedAudioCall(VoiceSource(), conditions, options)
    call.run(for: .seconds(seconds))
    return call
  }

  @Test func lossIsHardlyHeard() throws {
    let call = try call(seconds: 10) { $0.loss = 0.1 }
    #expect(call.concealedShare <= 0.01)
    #expect(call.statistics.framesRecovered > 30)
    #expect(call.playout.receiver.statistics.packetsCorrupted == 0)
    // Each of the voice's seconds is there, pauses too.
    for second in 1..<9 {
      let loudest = call.heard[second * 48_000..<(second + 1) * 48_000].map { abs(Int($0)) }.max() ?? 0
      #expect(loudest > 2_000, "\(second)")
    }
  }

  /// Ten times what sound cards do.
  @Test(arguments: [2_000.0, -2_000]) func aDriftingSenderIsFollowed(partsPerMillion: Double) throws {
    let call = try call(seconds: 12, drift: partsPerMillion) { _ in }
    let statistics = call.statistics
    #expect(statistics.concealedSamples <= 960)
    let stretched = statistics.removedSamplesForAcceleration - statistics.insertedSamplesForDeceleration
    // 24 ms, and what the start was too careful.
    #expect(abs(Double(stretched) / 48 - partsPerMillion * 0.012 - 20) < 25)
  }
}
