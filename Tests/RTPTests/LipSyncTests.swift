import Base
import TestSupport
import Testing

@testable import RTP

@Suite struct LipSyncTests {
  /// - Returns: how much later the sound of each moment was heard than its picture was seen, in seconds,
  ///   after the first 3 s.
  private func measure(
    seed: UInt64, pausing: Bool = false, _ change: (inout SimulatedLink.Conditions) -> Void
  ) -> [Double] {
    var conditions = SimulatedLink.Conditions()
    conditions.delay = .milliseconds(50)
    change(&conditions)
    let call = SimulatedCall(conditions, seed: seed)
    call.listener = SimulatedListener()
    call.run(for: .seconds(12))
    if pausing {
      call.sendsVideo = false
      call.run(for: .seconds(10))
      call.sendsVideo = true
      call.encoder.wantsKeyFrame = true
      call.resumeVideo()
      call.run(for: .seconds(10))
    }
    return call.soundLags(after: .seconds(3))
  }

  /// The share of pictures that are not within 40 ms of their sound.
  private func outside(_ lags: [Double]) -> Double {
    Double(lags.filter { abs($0) > 0.04 }.count) / Double(max(1, lags.count))
  }

  @Test func onCleanAndJitteryNetworksAlways() {
    for jitter in [0, 60] {
      let lags = (1...2).flatMap { measure(seed: $0) { $0.jitter = .milliseconds(jitter) } }
      #expect(lags.count > 500)
      #expect(outside(lags) == 0, "\(lags.min() ?? 0) \(lags.max() ?? 0)")
    }
  }

  /// The sound is late at most for a moment, while pictures step towards it.
  private func expectSoundInTime(_ lags: [Double]) {
    #expect(lags.count { $0 > 0.04 } <= lags.count / 150)
    #expect(lags.max() ?? 1 <= 0.06)
  }

  /// A picture that was repaired too late is late, whatever the sound does; the sound hardly ever is.
  @Test(arguments: [(loss: 0.05, burst: 1.0), (0.1, 1), (0.2, 1), (0.05, 4)])
  func underLossButForLatePictures(loss: Double, burst: Double) {
    let lags = (1...8).flatMap { seed in
      measure(seed: seed) {
        $0.loss = loss
        $0.lossBurst = burst
      }
    }
    #expect(lags.count > 1_900)
    expectSoundInTime(lags)
    #expect(outside(lags) < 0.08)
    let sorted = lags.sorted()
    #expect(abs(sorted[sorted.count / 2]) < 0.01)
  }

  @Test(arguments: [0, 0.1]) func whenThePicturePauses(loss: Double) {
    let lags = (1...8).flatMap { measure(seed: $0, pausing: true) { $0.loss = loss } }
    #expect(lags.count > 4_000)
    // But for the key frame with which it goes on, which takes longer on its way.
    #expect(outside(lags) < (loss > 0 ? 0.08 : 0.005))
    expectSoundInTime(lags)
  }

  private let sound = LipSync.Sound(transit: 0.1, delay: 0.03, neededDelay: 0.02)

  @Test func soundWaitsForLatePictures() {
    var lipSync = LipSync()
    _ = lipSync.update(sound, .init(transit: 0.12, neededDelay: 0), at: .zero - .seconds(10))
    let isAsked = lipSync.update(sound, .init(transit: 0.12, neededDelay: 0.15), at: .zero)
    #expect(isAsked)
    #expect(abs(lipSync.audioDelay - 0.17) < 1e-9)
    // Not for every little thing.
    let isAskedAgain = lipSync.update(
      sound, .init(transit: 0.12, neededDelay: 0.16), at: Instant.zero + .seconds(1))
    #expect(!isAskedAgain)
    // And slowly less.
    var asked = 0
    for second in 2...60 {
      if lipSync.update(sound, .init(transit: 0.12, neededDelay: 0), at: Instant.zero + .seconds(second)) {
        asked += 1
      }
    }
    #expect(lipSync.audioDelay == 0 && asked < 12)
  }

  /// The first pictures are a key frame and probes.
  @Test func whatTheFirstPicturesNeededIsNotRemembered() {
    var lipSync = LipSync()
    _ = lipSync.update(sound, .init(transit: 0.12, neededDelay: 0.1), at: .zero)
    #expect(abs(lipSync.audioDelay - 0.12) < 1e-9)
    _ = lipSync.update(sound, .init(transit: 0.12, neededDelay: 0.01), at: Instant.zero + .seconds(2))
    #expect(lipSync.audioDelay == 0)
  }

  @Test func soundDoesNotWaitSoLongThatTalkingIsHard() {
    var lipSync = LipSync()
    _ = lipSync.update(sound, .init(transit: 0.12, neededDelay: 0.7), at: .zero)
    #expect(lipSync.audioDelay == 0.4)
  }

  @Test func soundWaitsForNoPicturesThatDoNotComeAnyMore() {
    var lipSync = LipSync()
    let isAsked = lipSync.update(sound, .init(transit: 0.12, neededDelay: 0.3), at: .zero)
    #expect(isAsked && lipSync.audioDelay > 0.3)
    let isLet = lipSync.picturesEnded()
    let isLetAgain = lipSync.picturesEnded()
    #expect(isLet && !isLetAgain && lipSync.audioDelay == 0)
    // And afterwards for those there are.
    _ = lipSync.update(
      sound, .init(transit: 0.12, neededDelay: 0.1), at: Instant.zero + .seconds(20))
    #expect(abs(lipSync.audioDelay - 0.12) < 1e-9)
  }

  @Test func picturesGoWithTheSoundThatIsHeard() {
    var lipSync = LipSync()
    var sound = sound
    sound.delay = 0.25
    for tick in 0..<20 {
      let before = lipSync.videoDelay
      _ = lipSync.update(
        sound, .init(transit: 0.1, neededDelay: 0.02), at: Instant.zero + .milliseconds(100 * tick))
      #expect(abs(lipSync.videoDelay - before) <= 0.08 + 1e-9)
    }
    #expect(abs(lipSync.videoDelay - 0.25) < 1e-9)
    #expect(lipSync.audioDelay == 0)
  }

  @Test func timesThatCannotBeAreIgnored() {
    var lipSync = LipSync()
    let isAsked = lipSync.update(sound, .init(transit: 1e6, neededDelay: 0.1), at: .zero)
    #expect(!isAsked)
    #expect(lipSync.audioDelay == 0 && lipSync.videoDelay == 0)
  }
}
