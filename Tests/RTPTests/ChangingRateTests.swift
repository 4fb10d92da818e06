import Base
import TestSupport
import Testing

@testable import RTP

/// A link whose rate falls from 2,500 to 500 kb/s for ten seconds: how fast, how well used, how soon back.
@Suite struct ChangingRateTests {
  private static let (fast, slow) = (2_500_000, 500_000)

  private struct Report: CustomStringConvertible {
    /// From the fall until packets are sent below the slow rate.
    var below = Duration.zero
    var worstQueue = Duration.zero
    /// Mean over the last five slow seconds.
    var settledQueue = Duration.zero
    /// Share of the slow rate that got through, over the last eight slow seconds.
    var use = 0.0
    /// From the rise until 90 % of the fast rate gets through.
    var back: Duration?

    var description: String {
      "below \(below.milliseconds) worst \(worstQueue.milliseconds) settled \(settledQueue.milliseconds) "
        + "use \(use) back \(back?.milliseconds ?? -1)"
    }
  }

  private func run(seed: UInt64) -> Report {
    var conditions = SimulatedLink.Conditions()
    conditions.delay = .milliseconds(30)
    conditions.rate = Self.fast
    conditions.queue = .milliseconds(1_000)
    let call = SimulatedCall(conditions, seed: seed)
    call.encoder.maximumBitrate = 3_000_000
    // Bits that went into the link, in windows of 100 ms.
    var sent: [Double] = []
    call.onPacket = { call, size in
      let window = Int((call.now - call.start).milliseconds / 100)
      while sent.count <= window { sent.append(0) }
      sent[window] += Double((size + 28) * 8)
    }
    call.run(for: .seconds(10))
    call.aToB.conditions.rate = Self.slow
    call.run(for: .seconds(10))
    call.aToB.conditions.rate = Self.fast
    call.run(for: .seconds(20))
    let rates = sent.map { $0 * 10 }
    var report = Report()
    let below = rates[100...].indices.first { index in
      index + 3 <= rates.count && rates[index..<index + 3].reduce(0, +) / 3 < Double(Self.slow)
    }
    report.below = .milliseconds(((below ?? 400) - 100) * 100)
    func queues(_ range: Range<Int>) -> [Duration] {
      call.queueing.filter { range.contains(Int(($0.at - call.start).milliseconds)) }.map(\.delay)
    }
    report.worstQueue = queues(10_000..<20_000).max() ?? .zero
    let settled = queues(15_000..<20_000)
    report.settledQueue = .seconds(settled.map(\.seconds).reduce(0, +) / Double(max(1, settled.count)))
    report.use = rates[120..<200].reduce(0, +) / 80 / Double(Self.slow)
    report.back = rates[200..<390].indices.first { index in
      rates[index..<index + 10].reduce(0, +) / 10 >= 0.9 * Double(Self.fast)
    }.map { .milliseconds(($0 - 200) * 100) }
    return report
  }

  @Test(arguments: 1...8) func theFallIsFollowedAndTheRiseIsFound(seed: UInt64) {
    let report = run(seed: seed)
    #expect(report.below <= .milliseconds(500), "\(report)")
    #expect(report.worstQueue <= .milliseconds(600), "\(report)")
    #expect(report.settledQueue <= .milliseconds(60), "\(report)")
    #expect(report.use >= 0.9, "\(report)")
    #expect((report.back ?? .seconds(99)) <= .seconds(8), "\(report)")
  }
}
