import Base
import Testing

@testable import MediaIO

@Suite struct VideoAdaptationTests {
  /// Thirty pictures a second, of which `quantizer` decides what the encoder makes of each.
  private func run(
    _ adaptation: inout VideoAdaptation, from start: Instant, seconds: Int,
    quantizer: (VideoAdaptation.Level) -> Int?
  ) -> (encoded: Int, changes: Int) {
    var (encoded, changes) = (0, 0)
    for number in 0..<seconds * 30 {
      let time = start + .seconds(1) * number / 30
      guard adaptation.takes(time, frameRate: 30) else { continue }
      encoded += 1
      let before = adaptation.index
      adaptation.encoded(quantizer: quantizer(adaptation.level), at: time)
      if adaptation.index != before { changes += 1 }
    }
    return (encoded, changes)
  }

  private let start = Instant(nanoseconds: 1_000_000_000)

  @Test func enoughBitsLeaveAllPictures() {
    var adaptation = VideoAdaptation()
    let result = run(&adaptation, from: start, seconds: 10) { _ in 40 }
    #expect(result.encoded == 300 && result.changes == 0 && adaptation.index == 0)
  }

  @Test func theFrameRateGoesDownFirstThenTheSize() {
    var adaptation = VideoAdaptation()
    var levels: [VideoAdaptation.Level] = []
    for second in 0..<12 {
      _ = run(&adaptation, from: start + .seconds(second), seconds: 1) { _ in 56 }
      if levels.last != adaptation.level { levels.append(adaptation.level) }
    }
    #expect(levels == VideoAdaptation.levels)
  }

  @Test func aScreenKeepsItsSize() {
    var adaptation = VideoAdaptation(.text)
    var levels: [VideoAdaptation.Level] = []
    for second in 0..<12 {
      _ = run(&adaptation, from: start + .seconds(second), seconds: 1) { _ in nil }
      if levels.last != adaptation.level { levels.append(adaptation.level) }
    }
    #expect(levels.count == 5 && levels.allSatisfy { $0.halvings == 0 })
    #expect(levels.map(\.rate) == levels.map(\.rate).sorted(by: >))
    #expect(levels.last?.rate == 0.2)
  }

  @Test func aScreenThatMovesGetsCoarseAndNotSlow() {
    var adaptation = VideoAdaptation(.text)
    let result = run(&adaptation, from: start, seconds: 10) { _ in 63 }
    #expect(result.encoded == 300 && result.changes == 0)
  }

  @Test(arguments: [(1, 200), (2, 150)]) func fewerPicturesAreEvenlySpaced(index: Int, expected: Int) {
    var adaptation = VideoAdaptation()
    _ = run(&adaptation, from: start, seconds: 20) { $0 == VideoAdaptation.levels[index] ? 40 : 56 }
    #expect(adaptation.index == index)
    var taken: [Int] = []
    for number in 0..<300
    where adaptation.takes(start + .seconds(30) + .seconds(1) * number / 30, frameRate: 30) {
      taken.append(number)
    }
    #expect(abs(taken.count - expected) <= 2)
    #expect(zip(taken, taken.dropFirst()).allSatisfy { (1...2).contains($1 - $0) })
  }

  @Test func picturesThatTheRateControlLeavesOutCountToo() {
    var adaptation = VideoAdaptation()
    var number = 0
    _ = run(&adaptation, from: start, seconds: 3) { _ in
      number += 1
      return number % 3 == 0 ? nil : 40
    }
    #expect(adaptation.index == 1)
  }

  @Test func allComesBackWhenThereIsRoom() {
    var adaptation = VideoAdaptation()
    _ = run(&adaptation, from: start, seconds: 12) { _ in 56 }
    #expect(adaptation.index == 4)
    let result = run(&adaptation, from: start + .seconds(12), seconds: 40) { _ in 15 }
    #expect(adaptation.index == 0 && result.changes == 4)
  }

  /// At one level the bits are too few, at the next there are some left.
  @Test func itDoesNotGoToAndFro() {
    var adaptation = VideoAdaptation()
    let result = run(&adaptation, from: start, seconds: 300) { $0.rate == 1 ? 56 : 20 }
    #expect(result.changes <= 14, "\(result.changes)")
    #expect(result.changes >= 3)
  }
}
