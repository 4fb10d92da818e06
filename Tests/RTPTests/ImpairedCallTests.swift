import Base
import TestSupport
import Testing

@testable import RTP

/// Calls over networks of all kinds, in virtual time, for several seeds each.
@Suite struct ImpairedCallTests {
  private func call(
    _ seed: UInt64, seconds: Int, options: SimulatedCall.Options = .init(),
    _ change: (inout SimulatedLink.Conditions) -> Void
  ) -> SimulatedCall {
    var conditions = SimulatedLink.Conditions()
    conditions.delay = .milliseconds(20)
    change(&conditions)
    let call = SimulatedCall(conditions, seed: seed, options: options)
    call.run(for: .seconds(seconds))
    return call
  }

  @Test(arguments: 1...2) func onACleanLinkTheFullBitrateIsReachedFast(seed: UInt64) {
    let call = call(seed, seconds: 10) { _ in }
    #expect(call.frames.count >= 299)
    #expect(call.longestFreeze() < .milliseconds(50))
    #expect(call.medianLatency(after: .seconds(3)) < .milliseconds(40))
    #expect(call.meanTarget(after: .seconds(5)) > 2_200_000)
    #expect(call.b.statistics(at: call.now).inbound[1].nackCount == 0)
  }

  @Test(arguments: 1...4) func fivePercentLossIsRepaired(seed: UInt64) {
    let call = call(seed, seconds: 12) { $0.loss = 0.05 }
    #expect(call.frames.count >= 356)
    #expect(call.longestFreeze(after: .seconds(2)) < .milliseconds(200))
    #expect(call.medianLatency(after: .seconds(3)) < .milliseconds(150))
    #expect(call.keyFrameRequests.count <= 1)
    // Loss that is nobody's fault does not cost the picture its bitrate.
    #expect(call.meanTarget(after: .seconds(8)) > 1_000_000)
    let statistics = call.b.statistics(at: call.now).inbound[1]
    #expect(statistics.retransmittedPacketsReceived > 20)
    #expect(statistics.nackCount > 20)
  }

  @Test(arguments: 1...2) func withoutRTXPacketsAreSentAgainAsTheyWere(seed: UInt64) {
    var options = SimulatedCall.Options()
    options.rtx = false
    let call = call(seed, seconds: 8, options: options) { $0.loss = 0.05 }
    #expect(call.frames.count >= 236)
    #expect(call.longestFreeze(after: .seconds(2)) < .milliseconds(250))
    #expect(call.b.statistics(at: call.now).inbound[1].retransmittedPacketsReceived > 10)
  }

  @Test(arguments: 1...4) func twentyPercentLossIsSurvived(seed: UInt64) {
    let call = call(seed, seconds: 12) { $0.loss = 0.2 }
    #expect(call.frames.count >= 345)
    #expect(call.longestFreeze(after: .seconds(3)) < .milliseconds(700))
    #expect(call.meanTarget(after: .seconds(8)) > 150_000)
  }

  @Test(arguments: 1...2) func burstsOfLossAreRepaired(seed: UInt64) {
    let call = call(seed, seconds: 12) {
      $0.loss = 0.05
      $0.lossBurst = 5
    }
    #expect(call.frames.count >= 350)
    #expect(call.longestFreeze(after: .seconds(2)) < .milliseconds(600))
  }

  @Test(arguments: 1...2) func jitterIsSmoothed(seed: UInt64) {
    let call = call(seed, seconds: 12) { $0.jitter = .milliseconds(30) }
    #expect(call.frames.count >= 358)
    // Two pictures' time.
    #expect(call.longestFreeze(after: .seconds(2)) < .milliseconds(67))
    #expect(call.medianLatency(after: .seconds(3)) < .milliseconds(85))
    #expect(call.meanTarget(after: .seconds(8)) > 1_500_000)
  }

  @Test(arguments: 1...2) func overtakenPacketsAreNotTakenForLost(seed: UInt64) {
    let call = call(seed, seconds: 12) { $0.reorder = 0.02 }
    #expect(call.frames.count >= 358)
    #expect(call.longestFreeze(after: .seconds(2)) < .milliseconds(60))
    #expect(call.b.statistics(at: call.now).inbound[1].nackCount <= 5)
  }

  @Test func duplicatesAreCountedAndIgnored() {
    let call = call(1, seconds: 8) { $0.duplicate = 0.05 }
    #expect(call.frames.map(\.number) == (0..<UInt32(call.frames.count)).map { $0 })
    #expect(call.b.statistics(at: call.now).inbound[1].packetsDuplicated > 20)
  }

  @Test(arguments: [300_000, 500_000, 1_800_000], [1, 2])
  func theBitrateFindsTheLinksRateWithoutAStandingQueue(rate: Int, seed: UInt64) {
    let call = call(seed, seconds: 30) { $0.rate = rate }
    let mean = call.meanTarget(after: .seconds(12))
    #expect(mean > 0.6 * Double(rate) && mean < Double(rate), "\(mean)")
    #expect(call.meanQueueing(after: .seconds(12)) < .milliseconds(60))
    #expect(call.longestFreeze(after: .seconds(6)) < .milliseconds(250))
    #expect(call.frames.count > 800)
  }

  @Test(arguments: 1...2) func byREMBToo(seed: UInt64) {
    var options = SimulatedCall.Options()
    options.transportCC = false
    options.remb = true
    let call = call(seed, seconds: 30, options: options) { $0.rate = 700_000 }
    let mean = call.meanTarget(after: .seconds(12))
    #expect(mean > 350_000 && mean < 700_000, "\(mean)")
    #expect(call.meanQueueing(after: .seconds(12)) < .milliseconds(50))
    let fast = self.call(seed, seconds: 20, options: options) { $0.rate = 5_000_000 }
    #expect(fast.meanTarget(after: .seconds(15)) > 2_000_000)
  }

  @Test(arguments: 1...2) func byTimestampsWithoutSendTimes(seed: UInt64) {
    var options = SimulatedCall.Options()
    options.transportCC = false
    options.remb = true
    options.absoluteSendTime = false
    let call = call(seed, seconds: 30, options: options) { $0.rate = 700_000 }
    let mean = call.meanTarget(after: .seconds(12))
    #expect(mean > 250_000 && mean < 720_000, "\(mean)")
  }

  @Test(arguments: 1...2) func byReceiverReportsAlone(seed: UInt64) {
    var options = SimulatedCall.Options()
    options.transportCC = false
    options.reducedSize = false
    let call = call(seed, seconds: 40, options: options) { $0.rate = 700_000 }
    let mean = call.meanTarget(after: .seconds(15))
    #expect(mean > 250_000 && mean < 750_000, "\(mean)")
    #expect(call.frames.count > 1000)
  }

  @Test(arguments: 1...2) func aSlowerLinkIsFollowed(seed: UInt64) {
    var conditions = SimulatedLink.Conditions()
    conditions.delay = .milliseconds(20)
    conditions.rate = 2_500_000
    let call = SimulatedCall(conditions, seed: seed)
    call.run(for: .seconds(10))
    call.aToB.conditions.rate = 600_000
    call.run(for: .seconds(10))
    #expect(call.longestFreeze(after: .seconds(14)) < .milliseconds(200))
    #expect(call.meanTarget(after: .seconds(14)) < 600_000)
    call.aToB.conditions.rate = 2_500_000
    call.run(for: .seconds(40))
    #expect(call.targets.last?.bitsPerSecond ?? 0 > 1_000_000)
  }

  @Test(arguments: 1...3) func aLinkThatIsFastAgainIsUsedWithinSeconds(seed: UInt64) {
    var conditions = SimulatedLink.Conditions()
    conditions.delay = .milliseconds(30)
    conditions.rate = 2_500_000
    let call = SimulatedCall(conditions, seed: seed)
    call.run(for: .seconds(10))
    let before = call.meanTarget(after: .seconds(6))
    #expect(before > 1_800_000)
    call.aToB.conditions.rate = 500_000
    call.aToB.conditions.queue = .milliseconds(900)
    let slow = call.now
    call.run(for: .seconds(10))
    let obeyed = call.targets.first { $0.at > slow && $0.bitsPerSecond < 500_000 }
    #expect(obeyed.map { $0.at - slow < .milliseconds(700) } ?? false)
    #expect(call.meanQueueing(after: .seconds(16)) < .milliseconds(60))
    call.aToB.conditions.rate = 2_500_000
    let fast = call.now
    call.run(for: .seconds(10))
    let back = call.targets.first { $0.at > fast && Double($0.bitsPerSecond) > 0.9 * before }
    #expect(back.map { $0.at - fast < .seconds(8) } ?? false)
  }

  /// A freeze (W3C: 150 ms longer than usual) now and then, of some 60 calls in three, is what repair lost
  /// twice costs.
  @Test(arguments: [0.05, 0.1]) func farAwayTenPercentLossHardlyFreezesThePicture(loss: Double) {
    var conditions = SimulatedLink.Conditions()
    conditions.delay = .milliseconds(50)
    conditions.loss = loss
    var freezes: [Duration] = []
    for seed in 1...5 as ClosedRange<UInt64> {
      let call = SimulatedCall(conditions, back: conditions, seed: seed)
      call.encoder.maximumBitrate = 800_000
      call.run(for: .seconds(15))
      freezes.append(call.longestFreeze(after: .seconds(3)))
      #expect(call.medianLatency(after: .seconds(3)) < .milliseconds(300))
    }
    #expect(freezes.count { $0 >= .milliseconds(183) } <= 1, "\(freezes)")
    #expect(freezes.allSatisfy { $0 < .milliseconds(350) }, "\(freezes)")
  }

  @Test(arguments: 1...3) func afterABlackoutThePictureComesBack(seed: UInt64) {
    let call = call(seed, seconds: 6) { _ in }
    let received = call.frames.count
    call.aToB.conditions.isBlackedOut = true
    call.bToA.conditions.isBlackedOut = true
    call.run(for: .seconds(2))
    #expect(call.frames.count <= received + 2)
    call.aToB.conditions.isBlackedOut = false
    call.bToA.conditions.isBlackedOut = false
    let back = call.now
    call.run(for: .seconds(6))
    let first = call.frames.first { $0.handedOut > back }
    #expect(first.map { $0.handedOut - back < .milliseconds(700) } ?? false)
    #expect(call.longestFreeze(after: .seconds(9)) < .milliseconds(200))
    #expect(call.frames.count > received + 150)
  }

  /// The receiver says that it is there while nothing comes, so the sender need not be asked for a key frame; and
  /// neither sound that stood still meanwhile nor what is sent again holds the picture back.
  @Test(arguments: 1...8) func afterABlackoutThePictureMovesAtOnce(seed: UInt64) {
    var conditions = SimulatedLink.Conditions()
    conditions.delay = .milliseconds(50)
    let call = SimulatedCall(conditions, seed: seed)
    call.listener = SimulatedListener()
    call.encoder.maximumBitrate = 600_000
    // Where between two pictures it ends.
    call.run(for: .seconds(6) + .milliseconds(4) * Int(seed))
    call.aToB.conditions.isBlackedOut = true
    call.bToA.conditions.isBlackedOut = true
    call.run(for: .seconds(3))
    call.aToB.conditions.isBlackedOut = false
    call.bToA.conditions.isBlackedOut = false
    let back = call.now
    let requests = call.keyFrameRequests.count
    call.run(for: .seconds(3))
    let first = call.frames.first { $0.handedOut > back }.map { $0.shown - back }
    #expect(first ?? .seconds(100) < .milliseconds(200))
    #expect(call.keyFrameRequests.count == requests + 1)
    #expect(call.longestFreeze(after: call.now - call.start - .seconds(2)) < .milliseconds(100))
  }

  /// Feedback tells what is lost as well as requests do, which may be lost themselves.
  @Test(arguments: 1...3) func whatFeedbackSaysIsLostIsSentAgain(seed: UInt64) {
    var options = SimulatedCall.Options()
    options.asksForPackets = false
    let call = call(seed, seconds: 12, options: options) { $0.loss = 0.1 }
    let received = call.b.statistics(at: call.now).inbound[1]
    #expect(received.nackCount == 0)
    #expect(received.retransmittedPacketsReceived > 50)
  }

  @Test func withoutNACKKeyFramesAreAskedFor() {
    var options = SimulatedCall.Options()
    options.nack = false
    options.rtx = false
    options.initialBitrate = 200_000
    let call = call(1, seconds: 20, options: options) { $0.loss = 0.01 }
    #expect(call.keyFrameRequests.count > 2)
    #expect(call.frames.filter(\.isKeyFrame).count > 2)
    #expect(call.b.statistics(at: call.now).inbound[1].nackCount == 0)
    // At most one a second, however often they are asked for.
    let gaps = zip(call.keyFrameRequests, call.keyFrameRequests.dropFirst()).map { $1 - $0 }
    #expect(gaps.allSatisfy { $0 >= .milliseconds(999) })
  }

  @Test func everyFrameIsHandedOutInOrder() {
    for seed in 20...24 as ClosedRange<UInt64> {
      let call = call(seed, seconds: 5) {
        $0.loss = 0.08
        $0.reorder = 0.05
        $0.duplicate = 0.05
        $0.jitter = .milliseconds(20)
      }
      let numbers = call.frames.map(\.number)
      #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 })
      // What is left out is bridged by a key frame.
      for (before, frame) in zip(call.frames, call.frames.dropFirst()) where !frame.isKeyFrame {
        #expect(frame.number == before.number + 1)
      }
    }
  }
}
