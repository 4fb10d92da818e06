import Testing

@testable import RTP

@Suite struct PacketRingTests {
  @Test func ringForgetsOldNumbers() {
    var ring = PacketRing<Int>(slots: 4, slotSize: 3)
    for number in Int64(0)..<6 {
      let stored = [UInt8(number)].withUnsafeBytes { ring.store($0, at: number, Int(number) * 10) }
      #expect(stored)
    }
    #expect((ring.packet(1)) == nil)
    #expect((ring.packet(2).map(Array.init)) == [2])
    #expect((ring.metadata(5)) == 50)
    #expect((ring.packet(6)) == nil)
    #expect((ring.packet(-1)) == nil)
    ring.update(5) { $0 += 1 }
    #expect((ring.metadata(5)) == 51)
    ring.remove(5)
    let contained = ring.contains(5)
    #expect(!contained)
    let tooLarge = [UInt8](repeating: 0, count: 4).withUnsafeBytes { ring.store($0, at: 9, 0) }
    #expect(!tooLarge)
    let empty = ring.store(UnsafeRawBufferPointer(start: nil, count: 0), at: 9, 1)
    #expect(empty)
    #expect((ring.packet(9)?.count) == 0)
  }

  @Test func ringThatGrowsForgetsNothing() {
    var ring = PacketRing<Int>(slots: 4, slotSize: 3)
    for number in Int64(10)..<14 {
      [UInt8(number)].withUnsafeBytes { _ = ring.store($0, at: number, Int(number)) }
    }
    #expect(ring.displaced(by: 14)?.number == 10)
    #expect(ring.displaced(by: 13) == nil)
    ring.grow()
    #expect(ring.slots == 8)
    #expect(ring.displaced(by: 14) == nil)
    [UInt8(14)].withUnsafeBytes { _ = ring.store($0, at: 14, 14) }
    for number in Int64(10)..<15 {
      #expect(ring.packet(number).map(Array.init)?.first == UInt8(number))
      #expect(ring.metadata(number) == Int(number))
    }
    #expect(ring.displaced(by: 18)?.metadata == 10)
  }
}
