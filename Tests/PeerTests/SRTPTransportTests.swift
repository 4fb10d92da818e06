import Testing

@testable import Peer

@Suite struct SRTPTransportTests {
  private func keys(_ profile: SRTPProfile, isLeft: Bool) -> SRTPKeys {
    let left = (0..<profile.keySize + profile.saltSize).map { UInt8($0) }
    let right = left.map { $0 ^ 0x55 }
    return SRTPKeys(profile: profile, local: isLeft ? left : right, remote: isLeft ? right : left)
  }

  private func packet(_ sequence: UInt16, source: UInt8 = 1) -> [UInt8] {
    [0x80, 96, UInt8(sequence >> 8), UInt8(sequence & 255), 0, 0, 0, 1, 0, 0, 0, source] + [UInt8](5...250)
  }

  @Test(arguments: [SRTPProfile.aeadAES128GCM, .aes128CMSHA1_80], [false, true])
  func protectedPacketsOpenOnce(profile: SRTPProfile, isRTCP: Bool) throws {
    let left = try SRTPTransport(keys(profile, isLeft: true))
    var right = try SRTPTransport(keys(profile, isLeft: false))
    let original = isRTCP ? [0x80, 200, 0, 6, 0, 0, 0, 1] + [UInt8](repeating: 7, count: 20) : packet(1)
    var buffer = original + [UInt8](repeating: 0, count: SRTPTransport.tailroom)
    let size = try #require(
      buffer.withUnsafeMutableBytes { left.protect($0, count: original.count, isRTCP: isRTCP) })
    #expect(size > original.count && size <= buffer.count)
    #expect(Array(buffer[0..<original.count]) != original)
    var received = Array(buffer[0..<size])
    var replay = received
    let opened = received.withUnsafeMutableBytes { right.unprotect($0, isRTCP: isRTCP) }
    #expect(opened == .packet(original.count))
    #expect(Array(received[0..<original.count]) == original)
    #expect(replay.withUnsafeMutableBytes { right.unprotect($0, isRTCP: isRTCP) } == .dropped(.replayed))
  }

  @Test(arguments: [SRTPProfile.aeadAES128GCM, .aes128CMSHA1_80])
  func reorderedPacketsPassAndOldOnesDoNot(profile: SRTPProfile) throws {
    let left = try SRTPTransport(keys(profile, isLeft: true))
    var right = try SRTPTransport(keys(profile, isLeft: false))
    var sent: [[UInt8]] = []
    for sequence in 0..<2000 as Range<UInt16> {
      var buffer = packet(sequence) + [UInt8](repeating: 0, count: SRTPTransport.tailroom)
      let count = buffer.count - SRTPTransport.tailroom
      let size = try #require(buffer.withUnsafeMutableBytes { left.protect($0, count: count, isRTCP: false) })
      sent.append(Array(buffer[0..<size]))
    }
    let size = packet(0).count
    func receive(_ number: Int) -> SRTPTransport.Unprotected {
      var copy = sent[number]
      return copy.withUnsafeMutableBytes { right.unprotect($0, isRTCP: false) }
    }
    #expect(receive(0) == .packet(size))
    #expect(receive(1500) == .packet(size))
    #expect(receive(600) == .packet(size))
    #expect(receive(600) == .dropped(.replayed))
    #expect(receive(400) == .dropped(.replayed))
    #expect(receive(1999) == .packet(size))
  }

  @Test func packetsWithoutRoomForTheTagAreNotSent() throws {
    let left = try SRTPTransport(keys(.aeadAES128GCM, isLeft: true))
    var buffer = packet(1) + [UInt8](repeating: 0, count: SRTPTransport.tailroom - 1)
    let count = packet(1).count
    #expect(buffer.withUnsafeMutableBytes { left.protect($0, count: count, isRTCP: false) } == nil)
    #expect(buffer.withUnsafeMutableBytes { left.protect($0, count: 4, isRTCP: false) } == nil)
  }
}
