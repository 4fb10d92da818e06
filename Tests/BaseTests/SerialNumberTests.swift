import Testing

@testable import Base

@Suite struct SerialNumberTests {
  @Test func newerIsModular() {
    #expect(UInt16(1).isNewer(than: 0))
    #expect(UInt16(0).isNewer(than: 65535))
    #expect(!UInt16(65535).isNewer(than: 0))
    #expect(!UInt16(7).isNewer(than: 7))
    #expect(UInt16(0x8000).isNewer(than: 0))
    #expect(!UInt16(0).isNewer(than: 0x8000))
    #expect(UInt32(5).isNewer(than: .max - 5))
  }

  @Test func sequenceNumbersUnwrapAcrossTheEndAndBack() {
    var unwrapper = SequenceNumberUnwrapper()
    let first = unwrapper.unwrap(65534)
    #expect(unwrapper.unwrap(65535) == first + 1)
    #expect(unwrapper.unwrap(1) == first + 3)
    #expect(unwrapper.unwrap(0) == first + 2)
    #expect(unwrapper.unwrap(65533) == first - 1)
    #expect(unwrapper.last == first + 3)
  }

  @Test func firstNumberLeavesRoomForEarlierOnes() {
    var unwrapper = SequenceNumberUnwrapper()
    #expect(unwrapper.unwrap(0) == 65536)
    #expect(unwrapper.unwrap(65535) == 65535)
  }

  @Test func timestampsUnwrap() {
    var unwrapper = TimestampUnwrapper()
    let first = unwrapper.unwrap(.max - 100)
    #expect(unwrapper.unwrap(200) == first + 301)
    #expect(unwrapper.unwrap(.max - 100) == first)
  }

  @Test func unwrappingMatchesCountingForAnyStep() {
    var random = SeededGenerator(seed: 7)
    var unwrapper = SequenceNumberUnwrapper()
    var number = unwrapper.unwrap(0)
    for _ in 0..<10_000 {
      number += Int64.random(in: 0...32767, using: &random)
      #expect(unwrapper.unwrap(UInt16(truncatingIfNeeded: number)) == number)
    }
  }
}
