import Base
import Testing

@testable import OTKit

@Suite struct QualityTests {
  private static let start = Instant(nanoseconds: 1_000_000_000)

  /// Points computed by hand from the published formula.
  @Test(
    arguments: [
      (30_000, 307_200, 1), (10_000, 307_200, 1), (150_000, 307_200, 2.84), (500_000, 307_200, 4.21),
      (1_000_000, 307_200, 5), (9_000_000, 307_200, 5), (1_000_000, 921_600, 4.31), (379_025, 76_800, 5),
    ] as [(Double, Double, Double)])
  func picturesAreJudgedByBitrateAndPoints(bitrate: Double, pixels: Double, score: Double) throws {
    let judged = try #require(VideoQuality.score(bitrate: bitrate, pixels: pixels))
    #expect(abs(judged - score) < 0.01, "\(judged)")
  }

  @Test func noPictureHasNoScore() {
    #expect(VideoQuality.score(bitrate: 100_000, pixels: 0) == nil)
    #expect(VideoQuality.score(bitrate: .nan, pixels: 76_800) == nil)
    #expect(VideoQuality.score(bitrate: 10_000, pixels: 256) == 5)
  }

  /// A call whose figures are set second by second.
  private struct Call {
    var quality = StreamQuality()
    var now = QualityTests.start
    private var sample = QualityMonitor.Sample()
    private(set) var changes: [String] = []

    mutating func run(
      _ seconds: Int, loss: Double = 0, delay: Double = 0.05, bitrate: Double = 1_000_000,
      picture: QualityMonitor.Picture = .on
    ) {
      for _ in 0..<seconds {
        now += .seconds(1)
        sample.due += 48_000
        sample.missing += 48_000 * loss
        sample.bufferDelay += 48_000 * 0.06
        sample.buffered += 48_000
        sample.roundTripTime = 2 * delay
        sample.pixels = 640 * 480
        sample.picture = picture
        if picture == .on { sample.videoBytes += bitrate / 8 }
        let old = quality.add(["": sample], at: now)
        if let old {
          let (seconds, new) = (Int((now - QualityTests.start).seconds), quality.score)
          changes.append(
            "\(seconds): \(old.audio ?? 0)/\(old.video ?? 0) to \(new.audio ?? 0)/\(new.video ?? 0)")
        }
      }
    }
  }

  @Test func aWorseNetworkIsTold() {
    var call = Call()
    call.run(20)
    #expect(call.quality.score == QualityScore(audio: 4, video: 5))
    #expect(abs((call.quality.audioOpinion ?? 0) - 4.35) < 0.05)
    call.run(20, loss: 0.1)
    call.run(20, loss: 0.1, bitrate: 150_000)
    #expect(call.quality.score == QualityScore(audio: 3, video: 3))
    call.run(20)
    #expect(call.quality.score == QualityScore(audio: 4, video: 5))
    // Never within five seconds of each other for one medium, and each medium settles.
    #expect(call.changes.count <= 6, "\(call.changes)")
    #expect(call.changes.first?.hasSuffix("4/5 to 3/5") == true, "\(call.changes)")
  }

  @Test func whatIsNearTheMiddleDoesNotGoToAndFro() {
    var call = Call()
    call.run(10, bitrate: 500_000)
    #expect(call.quality.score.video == 4)
    for _ in 0..<30 {
      // 3.4 and 3.6.
      call.run(2, bitrate: 246_000)
      call.run(2, bitrate: 293_000)
    }
    #expect(call.quality.score.video == 4)
    #expect(call.changes == [])
  }

  @Test func aShortDropIsNotTold() {
    var call = Call()
    call.run(20)
    call.run(1, loss: 0.3)
    call.run(20)
    #expect(call.changes.count <= 2, "\(call.changes)")
    var brief = Call()
    brief.run(20)
    brief.run(1, bitrate: 400_000)
    brief.run(20)
    #expect(brief.changes == [])
  }

  @Test func aPictureThatIsOffIsNotJudgedAndOneThatIsPausedIsBad() {
    var call = Call()
    call.run(20)
    call.run(20, picture: .off)
    #expect(call.quality.score == QualityScore(audio: 4, video: nil))
    #expect(call.changes == [])
    call.run(20)
    #expect(call.quality.score.video == 5)
    call.run(10, picture: .paused)
    #expect(call.quality.score.video == 1)
    #expect(call.changes == ["64: 4/5 to 4/1"])
    call.run(10)
    #expect(call.changes.last == "75: 4/1 to 4/5")
  }

  @Test func theWorstSubscriberCountsAndLeavesWithItsJudgement() {
    var quality = StreamQuality()
    var now = Self.start
    func run(_ losses: [String: Double], seconds: Int, _ counts: inout [String: Double]) {
      for _ in 0..<seconds {
        now += .seconds(1)
        var samples: [String: QualityMonitor.Sample] = [:]
        for (name, loss) in losses {
          counts[name, default: 0] += 50
          samples[name] = QualityMonitor.Sample(
            due: counts[name] ?? 0, missing: (counts[name] ?? 0) * loss, roundTripTime: 0.1)
        }
        _ = quality.add(samples, at: now)
      }
    }
    var counts: [String: Double] = [:]
    run(["a": 0, "b": 0.3], seconds: 15, &counts)
    #expect(quality.score == QualityScore(audio: 2, video: nil))
    #expect(quality.monitors.keys.sorted() == ["a", "b"])
    run(["a": 0], seconds: 15, &counts)
    #expect(quality.score.audio == 4)
    #expect(quality.monitors.keys.sorted() == ["a"])
  }

  @Test func aStreamThatIsMadeAnewIsJudgedAnew() {
    var monitor = QualityMonitor()
    monitor.add(.init(due: 100_000, missing: 0), at: Self.start)
    monitor.add(.init(due: 148_000, missing: 0), at: Self.start + .seconds(1))
    let before = monitor.audio
    monitor.add(.init(due: 1_000, missing: 0), at: Self.start + .seconds(2))
    #expect(monitor.audio == before)
    monitor.add(.init(due: 49_000, missing: 24_000), at: Self.start + .seconds(3))
    #expect((monitor.audio ?? 5) < 2)
  }
}

@Suite struct StableScoreTests {
  /// However fast the opinion changes, the score does so every five seconds at most.
  @Test func changesHaveAPauseBetweenThem() {
    var score = StableScore()
    var changes: [Int] = []
    for second in 0..<40 {
      let opinion = second < 10 || second / 4 % 2 == 0 ? 4.0 : 1.0
      if score.update(opinion, at: Instant(nanoseconds: Int64(1 + second) * 1_000_000_000)) {
        changes.append(second)
      }
    }
    #expect(changes.count >= 3, "\(changes)")
    #expect(zip(changes, changes.dropFirst()).allSatisfy { $1 - $0 >= 5 }, "\(changes)")
  }
}
