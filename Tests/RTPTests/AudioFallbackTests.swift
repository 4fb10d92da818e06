import Base
import TestSupport
import Testing

@testable import RTP

/// The decision alone: what is available, second by second, and what comes of it.
@Suite struct AudioFallbackTests {
  private struct Run {
    var fallback = AudioFallback()
    var now = Instant(nanoseconds: 1_000_000_000)
    private var videoBytes = 0
    private(set) var changes: [String] = []

    /// - Parameter use: share of what is left for the picture that it takes.
    mutating func run(
      _ seconds: Double, available: Int, loss: Double = 0, use: Double = 1, answered: Bool = true,
      canProbe: Bool = true, held: Bool = false
    ) {
      let videoTarget = max(30_000, available - 70_000)
      for _ in 0..<Int(seconds * 2) {
        now += .milliseconds(500)
        if !fallback.isDisabled { videoBytes += Int(Double(videoTarget) * use / 16) }
        let change = fallback.update(
          SendingConditions(
            availableBitrate: available, loss: loss, isAnswered: answered, canProbe: canProbe,
            isHeld: held, videoTarget: videoTarget, videoBytesSent: videoBytes), at: now)
        if let change {
          changes.append("\(change.rawValue) \((now - Instant(nanoseconds: 1_000_000_000)).seconds)")
        }
      }
    }
  }

  @Test func thePictureGoesAndComesBack() {
    var run = Run()
    run.run(10, available: 800_000)
    run.run(10, available: 100_000)
    run.run(10, available: 112_000)
    run.run(10, available: 400_000)
    #expect(
      run.changes == ["videoDisableWarning 12.0", "videoDisabled 13.5", "videoEnabled 32.5"])
  }

  @Test func aWarningAloneIsLifted() {
    var run = Run()
    run.run(10, available: 180_000)
    run.run(10, available: 300_000)
    #expect(run.changes == ["videoDisableWarning 2.5", "videoDisableWarningLifted 13.5"])
  }

  /// A warning below 200 kb/s, no picture below 150.
  @Test func whereThePictureGoes() {
    for (available, expected) in [(205_000, 0), (155_000, 1), (145_000, 2)] {
      var run = Run()
      run.run(30, available: available)
      #expect(run.changes.count == expected, "\(available): \(run.changes)")
    }
  }

  @Test func aShortLackIsNothing() {
    var run = Run()
    for _ in 0..<20 {
      run.run(1.5, available: 120_000)
      run.run(1, available: 400_000)
    }
    #expect(run.changes == [])
  }

  /// Between the thresholds nothing changes, whichever side it came from.
  @Test func whatIsBetweenTheThresholdsChangesNothing() {
    var run = Run()
    run.run(60, available: 210_000)
    #expect(run.changes == [])
    run.run(10, available: 100_000)
    run.run(60, available: 210_000)
    #expect(run.changes.map { $0.prefix(while: { $0 != " " }) } == ["videoDisableWarning", "videoDisabled"])
  }

  @Test func anEstimateThatIsLowBecauseLittleIsSentSaysNothing() {
    var run = Run()
    run.run(60, available: 100_000, use: 0.1)
    #expect(run.changes == [])
  }

  @Test func picturesThatMustWaitAreLimitedThoughFewAreSent() {
    var run = Run()
    run.run(10, available: 100_000, use: 0.1, held: true)
    #expect(run.changes == ["videoDisableWarning 2.0", "videoDisabled 3.5"])
  }

  @Test func whileNothingIsKnownNothingChanges() {
    var run = Run()
    run.run(30, available: 60_000, answered: false)
    run.run(3.5, available: 100_000)
    run.run(30, available: 60_000, answered: false)
    #expect(run.changes == ["videoDisableWarning 32.5"])
  }

  @Test func heavyLossLeavesNoRoomForAPicture() {
    var run = Run()
    run.run(10, available: 500_000, loss: 0.5)
    run.run(10, available: 500_000, loss: 0.3)
    run.run(10, available: 500_000, loss: 0.05)
    #expect(run.changes == ["videoDisableWarning 2.5", "videoDisabled 4.0", "videoEnabled 22.5"])
  }

  /// On a link that is good only while nothing is sent the picture is tried more and more seldom.
  @Test func returnsInVainBecomeRarer() {
    var run = Run()
    for _ in 0..<1200 {
      run.run(0.5, available: run.fallback.isDisabled ? 300_000 : 100_000)
    }
    let returns = run.changes.filter { $0.hasPrefix("videoEnabled") }.compactMap {
      Double($0.split(separator: " ")[1])
    }
    let pauses = zip(returns, returns.dropFirst()).map { $1 - $0 }
    #expect(pauses.prefix(4).elementsEqual(pauses.prefix(4).sorted()), "\(pauses)")
    #expect(pauses.last == 36.5, "\(pauses)")
  }

  @Test func whereNothingCanBeFoundOutThePictureIsTried() {
    var run = Run()
    run.run(10, available: 100_000, canProbe: false)
    run.run(30, available: 112_000, canProbe: false)
    #expect(
      run.changes == [
        "videoDisableWarning 2.5", "videoDisabled 4.0", "videoEnabled 24.0",
        "videoDisableWarning 26.5", "videoDisabled 28.0",
      ])
  }
}

/// The whole sender with it on a link that is too slow for a picture.
@Suite struct AudioFallbackCallTests {
  private struct Result {
    var changes: [(change: AudioFallback.Change, at: Duration)] = []

    func time(of change: AudioFallback.Change) -> Duration? { changes.first { $0.change == change }?.at }
  }

  /// 2.5 Mb/s for 5 s, `slow` for 30 s, and 2.5 Mb/s again.
  private func run(slow: Int, seed: UInt64, after: Duration, watch: (SimulatedCall) -> Void = { _ in })
    -> Result
  {
    var conditions = SimulatedLink.Conditions()
    conditions.delay = .milliseconds(30)
    conditions.rate = 2_500_000
    conditions.queue = .milliseconds(1_000)
    let call = SimulatedCall(conditions, seed: seed)
    call.listener = SimulatedListener()
    var fallback = AudioFallback()
    var result = Result()
    var next = call.now
    call.onStep = { call in
      guard call.now >= next else { return }
      next = call.now + .milliseconds(500)
      guard let change = fallback.update(call.a.sendingConditions(at: call.now), at: call.now) else { return }
      result.changes.append((change, call.elapsed))
      if change == .videoDisabled {
        call.a.setWithholdingVideo(true, at: call.now)
        call.sendsVideo = false
      } else if change == .videoEnabled {
        call.a.setWithholdingVideo(false, at: call.now)
        call.sendsVideo = true
        call.resumeVideo()
        call.encoder.wantsKeyFrame = true
      }
    }
    call.run(for: .seconds(5))
    call.aToB.conditions.rate = slow
    call.run(for: .seconds(30))
    watch(call)
    call.aToB.conditions.rate = 2_500_000
    call.run(for: after)
    watch(call)
    return result
  }

  @Test(arguments: 1...3) func at100KilobitsTheSoundIsAlone(seed: UInt64) {
    var queues: [Duration] = []
    var sound: [ReceivedAudioPacket] = []
    var frames: [SimulatedCall.ReceivedFrame] = []
    var delays: [Duration] = []
    var lags: [Double] = []
    var isEnd = false
    let result = run(slow: 100_000, seed: seed, after: .seconds(20)) { call in
      if !isEnd {
        queues = call.queueing.filter { $0.at - call.start >= .seconds(15) }.map(\.delay)
        delays = call.heard.filter { $0.at - call.start >= .seconds(25) }.map { $0.at - $0.captured }
        sound = call.audioPackets.filter { $0.arrival - call.start >= .seconds(15) && !$0.isCopy }
      }
      isEnd = true
      lags = call.soundLags(after: .seconds(50))
      frames = call.frames
    }
    #expect(
      result.changes.map(\.change) == [.videoDisableWarning, .videoDisabled, .videoEnabled], "\(result)")
    #expect(result.time(of: .videoDisabled).map { $0 <= .seconds(11) } == true, "\(result)")
    // All the sound of the last 20 slow seconds, 50 packets a second, and no queue before it.
    #expect((990...1_010).contains(sound.count), "\(sound.count)")
    let sorted = queues.sorted()
    #expect(sorted[sorted.count / 2] <= .milliseconds(20), "\(sorted[sorted.count / 2])")
    #expect((sorted.last ?? .zero) <= .milliseconds(200), "\(sorted.last ?? .zero)")
    // Nor does the sound wait for pictures that do not come.
    let median = delays.isEmpty ? .seconds(1000) : delays.sorted()[delays.count / 2]
    #expect(delays.count > 800 && median <= .milliseconds(300), "\(delays.count) \(median)")
    // The picture is back within 15 s, and moves.
    let back = result.time(of: .videoEnabled) ?? .seconds(1000)
    #expect((Duration.seconds(35)...Duration.seconds(48)).contains(back), "\(result)")
    #expect(frames.last.map { $0.captured.nanoseconds > 0 } == true)
    #expect(frames.count { $0.captured - Instant(nanoseconds: 1_000_000_000_000) >= back } > 100)
    #expect(lags.count > 100 && lags.count { abs($0) > 0.04 } <= lags.count / 20)
  }

  @Test(arguments: 1...2) func at300KilobitsThePictureStays(seed: UInt64) {
    let result = run(slow: 300_000, seed: seed, after: .seconds(10))
    #expect(!result.changes.contains { $0.change == .videoDisabled }, "\(result)")
  }
}
