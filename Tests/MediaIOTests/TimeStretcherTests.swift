import Base
import Glibc
import TestSupport
import Testing

@testable import MediaIO

@Suite struct TimeStretcherTests {
  private static let past = TimeStretcher.longest

  /// Stereo samples with `past` a channel before the front, and room behind.
  private final class Sound {
    let samples: UnsafeMutableBufferPointer<Int16>
    var waiting: Int

    init(_ waiting: Int, _ value: (Int) -> Double) {
      self.waiting = waiting
      samples = .allocate(capacity: 2 * (past + waiting + TimeStretcher.longest))
      samples.initialize(repeating: 0)
      for index in 0..<past + waiting {
        samples[2 * index] = Int16(value(index))
        samples[2 * index + 1] = Int16(value(index) / 2)
      }
    }

    deinit { samples.deallocate() }

    func shorten(
      _ stretcher: borrowing TimeStretcher, _ correlation: Double, maximum: Int = TimeStretcher.longest
    )
      -> Int
    {
      guard let base = samples.baseAddress else { return 0 }
      let count = stretcher.shorten(
        base + 2 * past, waiting: waiting, maximum: maximum, minimumCorrelation: correlation)
      waiting -= count
      return count
    }

    func lengthen(_ stretcher: borrowing TimeStretcher, _ correlation: Double) -> Int {
      guard let base = samples.baseAddress else { return 0 }
      let count = stretcher.lengthen(
        base + 2 * past, waiting: waiting, maximum: TimeStretcher.longest, minimumCorrelation: correlation)
      waiting += count
      return count
    }

    /// One channel, from a little before the front to the end.
    func channel(_ number: Int) -> [Int16] { (0..<past + waiting).map { samples[2 * $0 + number] } }
  }

  private func tone(_ hertz: Double, _ waiting: Int = 1_920) -> Sound {
    Sound(waiting) { 8_000 * sin(2 * .pi * hertz * Double($0) / 48_000) }
  }

  @Test(arguments: [90.0, 220, 440, 1_000]) func wholePeriodsAreTakenAndGiven(hertz: Double) {
    let stretcher = TimeStretcher()
    for isShorter in [true, false] {
      let sound = tone(hertz)
      let before = sound.waiting
      let count = isShorter ? sound.shorten(stretcher, 0.95) : sound.lengthen(stretcher, 0.95)
      let period = 48_000 / hertz
      #expect(count >= 120 && count <= TimeStretcher.longest)
      let rest = Double(count).truncatingRemainder(dividingBy: period)
      #expect(min(rest, period - rest) <= 1, "\(count) of \(period)")
      #expect(sound.waiting == (isShorter ? before - count : before + count))
      // Still the same tone, without a click: it turns no faster than a tone does.
      let heard = sound.channel(0)
      #expect(share(of: hertz, in: heard[...]) > 0.98)
      let steepest = 8_000 * 2 * Double.pi * hertz / 48_000
      let steps = zip(heard, heard.dropFirst()).map { abs(Double($1) - Double($0)) }
      #expect(steps.max() ?? .infinity < steepest * 1.2 + 2)
      #expect(zip(heard, sound.channel(1)).allSatisfy { abs(Int($0) - 2 * Int($1)) <= 3 })
    }
  }

  @Test func noMoreIsTakenThanAllowed() {
    let stretcher = TimeStretcher()
    #expect(tone(440).shorten(stretcher, 0.9, maximum: 119) == 0)
    #expect(tone(440).shorten(stretcher, 0.9, maximum: 250) <= 250)
    // What is compared must be there.
    #expect(tone(440, 470).shorten(stretcher, 0.9) == 0)
    #expect(tone(440, 500).shorten(stretcher, 0.9) <= 140)
  }

  @Test func noiseIsLeftAloneUntilItMustBe() {
    var random = SeededGenerator(seed: 4)
    let values = (0..<4_000).map { _ in Double.random(in: -8_000...8_000, using: &random) }
    let stretcher = TimeStretcher()
    #expect(Sound(1_920) { values[$0] }.shorten(stretcher, 0.9) == 0)
    #expect(Sound(1_920) { values[$0] }.lengthen(stretcher, 0.9) == 0)
    #expect(Sound(1_920) { values[$0] }.shorten(stretcher, -1) > 0)
  }

  @Test func whereItIsQuietNothingHasToBeAlike() {
    var random = SeededGenerator(seed: 5)
    let values = (0..<4_000).map { _ in Double.random(in: -100...100, using: &random) }
    var stretcher = TimeStretcher()
    // Soft, but nothing louder is known.
    #expect(Sound(1_920) { values[$0] }.shorten(stretcher, 2) == 0)
    stretcher.heard(power: 0.02)
    #expect(Sound(1_920) { values[$0] }.shorten(stretcher, 2) > 0)
    #expect(Sound(1_920) { values[$0] }.lengthen(stretcher, 2) > 0)
    #expect(tone(440).shorten(stretcher, 2) == 0)
    // Loudness fades.
    for _ in 0..<2_000 { stretcher.heard(power: 0) }
    #expect(Sound(1_920) { values[$0] }.shorten(stretcher, 2) == 0)
    #expect(Sound(1_920) { _ in 0 }.shorten(TimeStretcher(), 2) > 0)
  }
}
