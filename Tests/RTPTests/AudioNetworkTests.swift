import Base
import TestSupport
import Testing

@testable import RTP

/// Sound over networks of all kinds, from frames to what an audio thread gets, in virtual time and for many
/// seeds. Both sides are ours and use copies (RFC 2198); without Opus' own FEC.
@Suite struct AudioNetworkTests {
  /// A kind of network, and the share of the sound that may be concealed on it.
  struct Case: Sendable, CustomTestStringConvertible {
    var name: String
    var limit: Double
    var conditions = SimulatedLink.Conditions()
    var testDescription: String { name }

    init(_ name: String, limit: Double, _ change: (inout SimulatedLink.Conditions) -> Void) {
      self.name = name
      self.limit = limit
      conditions.delay = .milliseconds(50)
      change(&conditions)
    }
  }

  static let cases = [
    Case("clean", limit: 0) { _ in },
    Case("5 % lost", limit: 0.005) { $0.loss = 0.05 },
    Case("10 % lost", limit: 0.01) { $0.loss = 0.10 },
    Case("20 % lost", limit: 0.03) { $0.loss = 0.20 },
    Case("5 % lost in bursts of 4", limit: 0.015) {
      $0.loss = 0.05
      $0.lossBurst = 4
    },
    Case("jitter, reordering, duplicates", limit: 0.003) {
      $0.jitter = .milliseconds(60)
      $0.reorder = 0.02
      $0.duplicate = 0.02
    },
  ]

  private func call(
    _ conditions: SimulatedLink.Conditions, seed: UInt64, seconds: Int, sendsVideo: Bool,
    options: SimulatedCall.Options = .init()
  ) -> SimulatedCall {
    let call = SimulatedCall(conditions, seed: seed, options: options)
    call.sendsVideo = sendsVideo
    call.listener = SimulatedListener()
    call.run(for: .seconds(seconds))
    return call
  }

  private func concealedShare(_ calls: [SimulatedCall]) -> Double {
    calls.map { $0.listener?.concealedShare ?? 1 }.reduce(0, +) / Double(calls.count)
  }

  /// With pictures on the same link, from the first packet on.
  @Test(arguments: cases) func withPictures(_ network: Case) {
    let calls = (1...3).map { call(network.conditions, seed: $0, seconds: 12, sendsVideo: true) }
    #expect(concealedShare(calls) <= network.limit)
  }

  /// Alone, where bursts take more of it in a row.
  @Test(arguments: cases[3...4]) func soundAlone(_ network: Case) {
    let calls = (1...6).map { call(network.conditions, seed: $0, seconds: 60, sendsVideo: false) }
    #expect(concealedShare(calls) <= network.limit)
    // Nobody is left without copies since others might need the bitrate.
    #expect(calls.allSatisfy { $0.listener?.concealedShare ?? 1 <= 1.5 * network.limit })
  }

  @Test func aCleanNetworkAddsLittleAndNothingIsStretched() throws {
    let call = call(Self.cases[0].conditions, seed: 1, seconds: 30, sendsVideo: true)
    let listener = try #require(call.listener)
    // From capture of a packet's first sample to the ear, less the network and the packet itself.
    let last = try #require(call.heard.last)
    #expect(last.at - last.captured - .milliseconds(50) <= .milliseconds(20))
    #expect(listener.stretches.filter { $0.at - call.start > .seconds(15) }.isEmpty)
    #expect(listener.statistics.removedSamplesForAcceleration < 48_000 / 12)
    #expect(listener.statistics.insertedSamplesForDeceleration < 48_000 / 20)
    #expect(call.a.sendStreams[0].redundancy.distances.isEmpty, "copies cost and bring nothing")
    #expect(call.b.statistics(at: call.now).inbound[0].packetsReceived > 1_490)
  }

  /// A second of sound waits in front of a link that has become slow for two seconds; then it is as fast as before.
  @Test(arguments: 1...3) func whatWaitedInAQueueIsCaughtUpWithOnceItIsGone(seed: UInt64) {
    var conditions = SimulatedLink.Conditions()
    conditions.delay = .milliseconds(30)
    conditions.rate = 2_500_000
    conditions.queue = .milliseconds(1_000)
    let call = SimulatedCall(conditions, seed: seed)
    call.listener = SimulatedListener()
    call.run(for: .seconds(10))
    call.aToB.conditions.rate = 150_000
    call.run(for: .seconds(2))
    call.aToB.conditions.rate = 2_500_000
    call.run(for: .seconds(9))
    /// Seconds from the microphone to the ear, over a second of the call.
    func lags(second: Int) -> [Double] {
      call.heard.filter { Int(($0.at - call.start).seconds) == second }.map { ($0.at - $0.captured).seconds }
    }
    #expect(lags(second: 12).max() ?? 0 > 0.9)
    #expect(lags(second: 16).max() ?? 1 < 0.8)
    #expect(lags(second: 20).max() ?? 1 < 0.35)
  }

  /// A browser without copies, with the encoder's FEC.
  @Test func inBandFECRecoversSingleLosses() {
    var options = SimulatedCall.Options()
    options.redundancy = false
    options.forwardErrorCorrection = true
    let calls = (1...3).map {
      call(Self.cases[1].conditions, seed: $0, seconds: 30, sendsVideo: true, options: options)
    }
    #expect(concealedShare(calls) <= 0.005)
    #expect(calls.allSatisfy { $0.listener?.statistics.framesRecovered ?? 0 > 40 })
  }

  @Test func copiesComeAndGoWithTheLosses() {
    let call = SimulatedCall(Self.cases[0].conditions, seed: 3)
    var distances: [Int] { call.a.sendStreams[0].redundancy.distances }
    call.run(for: .seconds(5))
    #expect(distances == [])
    call.aToB.conditions.loss = 0.1
    call.run(for: .seconds(3))
    #expect(distances == [2, 1])
    call.aToB.conditions.lossBurst = 6
    call.run(for: .seconds(15))
    #expect(distances.count == 2 && distances[0] >= 6)
    call.aToB.conditions.loss = 0
    call.run(for: .seconds(15))
    #expect(distances == [])
    let inbound = call.b.statistics(at: call.now).inbound[0]
    #expect(inbound.fecPacketsReceived > 500 && inbound.fecPacketsDiscarded > 400)
  }

  /// The sender's sound card and ours disagree by as much as cards do, for two half hours.
  @Test(arguments: [200.0, -200]) func clocksThatDriftAreFollowed(partsPerMillion: Double) {
    var listener = SimulatedListener()
    let start = Instant(nanoseconds: 5_000_000_000)
    let period = 20_000_000 / (1 + partsPerMillion / 1e6)
    var packets = 0
    var longest = Duration.zero
    for tick in 0..<180_000 {
      let now = start + .milliseconds(10 * tick)
      while Double(packets) * period <= Double(tick) * 10_000_000 {
        let arrival = start + .nanoseconds(Int64(Double(packets) * period))
        listener.buffer.insert(
          ReceivedAudioPacket(
            bytes: [0x78, 0, 0], sequenceNumber: Int64(packets), timestamp: Int64(packets) * 960,
            arrival: arrival))
        packets += 1
      }
      listener.tick(at: now)
      if tick > 1_000, tick % 100 == 0 {
        longest = max(longest, listener.buffer.currentDelay(at: now) ?? longest)
      }
    }
    // 0.36 s too much or too little, in steps that nobody hears; a packet may wait for its tick.
    let statistics = listener.statistics
    let stretched =
      statistics.removedSamplesForAcceleration - statistics.insertedSamplesForDeceleration
    #expect(abs(Double(stretched) / 48_000 - partsPerMillion * 0.0018) < 0.1)
    #expect(statistics.concealedSamples <= 960)
    #expect(longest < .milliseconds(50))
    #expect(statistics.packetsDiscarded == 0)
  }

  @Test func aTimestampJumpIsANewBeginning() {
    for jump in [1 << 31, -96_000, 20 * 48_000] as [Int64] {
      var listener = SimulatedListener()
      var now = Instant(nanoseconds: 1_000_000_000)
      for packet in 0..<400 {
        listener.buffer.insert(
          ReceivedAudioPacket(
            bytes: [0x78, 0, 0], sequenceNumber: Int64(packet),
            timestamp: Int64(packet) * 960 + (packet < 200 ? 1 << 32 : (1 << 32) + jump), arrival: now))
        listener.tick(at: now)
        listener.tick(at: now + .milliseconds(10))
        now += .milliseconds(20)
      }
      #expect(listener.statistics.concealedSamples < 48_000)
      #expect(listener.statistics.jitterBufferEmittedCount > 340 * 960, "\(jump)")
      #expect(listener.buffer.currentDelay(at: now) ?? .seconds(9) < .milliseconds(100))
    }
  }
}
