import Base
import Testing

@testable import RTP

/// Parity packets as browsers send them beside VP8 in RED.
@Suite struct ULPFECTests {
  /// Packets of pictures, each with the header extensions of a browser's: absolute send time (2) and
  /// transport-wide number (3) are zero until it leaves; the first ones have a mid (4) too.
  private struct Sender {
    static let ssrc: UInt32 = 0x2222
    var random = SeededGenerator(seed: 7)

    /// - Parameter red: the payload type it travels in; nil: as it is.
    func packet(
      _ number: UInt16, timestamp: UInt32, marker: Bool, payload: [UInt8], red: UInt8? = nil, hasLeft: Bool
    ) -> [UInt8] {
      let stamp: UInt8 = hasLeft ? UInt8(truncatingIfNeeded: number &* 37 | 1) : 0
      var extensions: [UInt8] = [0x22, stamp, stamp, stamp, 0x31, stamp, stamp]
      if number % 4 < 2 { extensions += [0x40, 0x31] }
      while extensions.count % 4 != 0 { extensions.append(0) }
      var bytes: [UInt8] = [0x90, (marker ? 0x80 : 0) | (red ?? 96)]
      bytes += [UInt8(number >> 8), UInt8(number & 0xFF)]
      bytes += (0..<4).map { UInt8(truncatingIfNeeded: timestamp >> (24 - 8 * $0)) }
      bytes += (0..<4).map { UInt8(truncatingIfNeeded: Self.ssrc >> (24 - 8 * $0)) }
      bytes += [0xBE, 0xDE, 0, UInt8(extensions.count / 4)] + extensions
      if red != nil { bytes.append(96) }
      return bytes + payload
    }

    /// RFC 5109, 7.3 and 7.4, over packets as they are before they leave.
    func parity(over packets: [UInt16: [UInt8]], base: UInt16, isLong: Bool) -> [UInt8] {
      var header = [UInt8](repeating: 0, count: 8)
      var data: [UInt8] = []
      var mask: UInt64 = 0
      for (number, packet) in packets {
        mask |= 1 << (47 - UInt64(number &- base))
        header[0] ^= packet[0]
        header[1] ^= packet[1]
        for index in 0..<4 { header[2 + index] ^= packet[4 + index] }
        let count = packet.count - 12
        header[6] ^= UInt8(count >> 8)
        header[7] ^= UInt8(count & 0xFF)
        if data.count < count { data += [UInt8](repeating: 0, count: count - data.count) }
        for index in 0..<count { data[index] ^= packet[12 + index] }
      }
      var bytes: [UInt8] = [header[0] & 0x3F | (isLong ? 0x40 : 0), header[1]]
      bytes += [UInt8(base >> 8), UInt8(base & 0xFF)] + header[2...]
      bytes += [UInt8(data.count >> 8), UInt8(data.count & 0xFF)]
      let octets = (0..<6).map { UInt8(truncatingIfNeeded: mask >> (40 - 8 * $0)) }
      return bytes + octets[..<(isLong ? 6 : 2)] + data
    }
  }

  private let sender = Sender()
  private static let first: UInt16 = 65_530

  private func payload(_ index: Int) -> [UInt8] {
    (0..<(40 + 13 * (index % 5))).map { UInt8(truncatingIfNeeded: $0 * 7 + index * 31) }
  }

  private func packet(_ index: Int, hasLeft: Bool, red: UInt8? = nil) -> [UInt8] {
    sender.packet(
      Self.first &+ UInt16(index), timestamp: UInt32(3000 * index), marker: index % 2 == 1,
      payload: payload(index), red: red, hasLeft: hasLeft)
  }

  private func parity(over indices: [Int], isLong: Bool = false) -> [UInt8] {
    let packets = indices.map { (Self.first &+ UInt16($0), packet($0, hasLeft: false)) }
    return sender.parity(
      over: Dictionary(uniqueKeysWithValues: packets), base: Self.first &+ UInt16(indices[0]), isLong: isLong)
  }

  /// What comes of packets and parities, in the order of `restore`.
  private func restored(arrived: [Int], parities: [[UInt8]]) -> (
    numbers: [Int64], isWhole: Bool, discarded: Int
  ) {
    var receiver = ULPFECReceiver()
    var extensions = HeaderExtensionMap()
    extensions.absoluteSendTime = 2
    extensions.transportSequenceNumber = 3
    extensions.mid = 4
    var result = (numbers: [Int64](), isWhole: true, discarded: 0)
    func restore(_ receiver: inout ULPFECReceiver) {
      result.discarded += receiver.restore { packet, number in
        let index = Int(number) - Int(Self.first)
        result.numbers.append(number - Int64(Self.first))
        let isWhole =
          packet.payload.elementsEqual(payload(index)) && packet.marker == (index % 2 == 1)
          && packet.timestamp == UInt32(3000 * index) && packet.payloadType == 96
          && packet.sequenceNumber == Self.first &+ UInt16(index)
        result.isWhole = result.isWhole && isWhole
      }
    }
    for index in arrived {
      packet(index, hasLeft: true, red: 98).withUnsafeBytes { bytes in
        guard let packet = RTPPacket(parsing: bytes) else { return }
        receiver.insert(
          packet, number: Int64(Self.first) + Int64(index), payloadType: 96, prefix: 1, extensions: extensions
        )
      }
      restore(&receiver)
    }
    for (index, parity) in parities.enumerated() {
      let isTaken = parity.withUnsafeBytes {
        receiver.insertParity($0, number: Int64(Self.first) + 12 + Int64(index))
      }
      if !isTaken { result.discarded += 1000 }
      restore(&receiver)
    }
    return result
  }

  @Test(arguments: [false, true]) func oneLostPacketOfAGroupIsRestored(isLong: Bool) {
    for lost in 0..<8 {
      let result = restored(
        arrived: (0..<8).filter { $0 != lost }, parities: [parity(over: Array(0..<8), isLong: isLong)])
      #expect(result.numbers == [Int64(lost)])
      #expect(result.isWhole && result.discarded == 0, "\(lost)")
    }
  }

  @Test func whatWasRestoredHelpsToRestoreMore() {
    // 1 and 2 are lost: the first parity protects both, the second one of them.
    let result = restored(
      arrived: [0, 3, 4], parities: [parity(over: [0, 1, 2, 3]), parity(over: [2, 4])])
    #expect(result.numbers == [2, 1])
    #expect(result.isWhole && result.discarded == 0)
  }

  @Test func aCopyOfASinglePacketRestoresIt() {
    let result = restored(arrived: [], parities: [parity(over: [5])])
    #expect(result.numbers == [5] && result.isWhole)
  }

  @Test func whatIsNotNeededIsGivenUp() {
    let result = restored(arrived: Array(0..<4), parities: [parity(over: [0, 1, 2, 3])])
    #expect(result.numbers.isEmpty && result.discarded == 1)
    #expect(restored(arrived: [0], parities: [parity(over: [0, 1, 2])]).numbers.isEmpty)
  }

  @Test func lengthsThatLieAreRefused() {
    let whole = parity(over: [0, 1])
    for count in 0..<whole.count {
      #expect(restored(arrived: [], parities: [Array(whole[..<count])]).discarded == 1000)
    }
    // A packet longer than what protects it cannot be restored.
    var long = whole
    (long[8], long[9]) = (0xFF, 0xFF)
    let result = restored(arrived: [0], parities: [long])
    #expect(result.numbers.isEmpty && result.discarded == 1)
  }

  @Test func itNeverGrowsWithoutLimit() {
    let parities = [[UInt8]](repeating: parity(over: [0, 1, 2]), count: 200)
    #expect(restored(arrived: [0], parities: parities).discarded >= 200 - 48)
  }

  /// Pictures of one packet with a parity packet behind each two; every fourth one is lost, and no repair by
  /// retransmission comes.
  @Test func theSessionShowsPicturesThatParityRestored() {
    let session = RTPSession(
      configuration: .init(cname: "b", randomSeed: 1, wallClockAtZero: 1_600_000_000_000_000))
    var configuration = ReceiveStreamConfiguration(kind: .video, payloadTypes: [96])
    configuration.ssrc = Sender.ssrc
    configuration.redundantPayloadType = 98
    configuration.parityPayloadType = 101
    configuration.rtxPayloadTypes = [97: 96, 99: 98]
    configuration.nack = true
    configuration.pli = true
    configuration.extensions.absoluteSendTime = 2
    configuration.extensions.transportSequenceNumber = 3
    let stream = session.addReceiveStream(configuration)
    var now = Instant(nanoseconds: 1_000_000_000)
    var number: UInt16 = 65_500
    var numbers: [UInt8] = []
    var nacks = 0
    func step(_ bytes: [UInt8]) {
      bytes.withUnsafeBytes { session.receive($0, at: now) }
      session.advance(to: now)
      while case .some(let event) = session.nextEvent() {
        if case .videoFrame(stream, let frame) = event { numbers.append(frame.bytes[10]) }
      }
      session.transmit(at: now) { packet, _, isControl in
        if isControl, packet[1] == 205, packet[0] & 0x1F == 1 { nacks += 1 }
      }
    }
    var group: [UInt16: [UInt8]] = [:]
    var base: UInt16 = 0
    for picture in 0..<100 {
      // VP8 without extensions in its descriptor; the first picture is a key frame of 640x480.
      let frame: [UInt8] =
        (picture == 0
          ? [0x10, 2, 0, 0x9D, 0x01, 0x2A, 0x80, 2, 0xE0, 1] : [0x11, 2, 0, 1, 1, 1, 1, 1, 1, 1])
        + [UInt8(picture)] + payload(picture)
      let timestamp = UInt32(3000 * picture)
      func packet(hasLeft: Bool) -> [UInt8] {
        sender.packet(
          number, timestamp: timestamp, marker: true, payload: [0x10] + frame, red: hasLeft ? 98 : nil,
          hasLeft: hasLeft)
      }
      if picture % 2 == 0 { (base, group) = (number, [:]) }
      group[number] = packet(hasLeft: false)
      if picture % 4 != 3 { step(packet(hasLeft: true)) }
      number &+= 1
      if picture % 2 == 1 {
        var parity = sender.packet(
          number, timestamp: timestamp, marker: false,
          payload: sender.parity(over: group, base: base, isLong: false), red: 98, hasLeft: true)
        // The RED header stands behind 12 octets and the extensions.
        let header = 16 + 4 * Int(parity[15])
        parity[header] = 101
        step(parity)
        number &+= 1
      }
      now = now + .milliseconds(33)
    }
    let isComplete = numbers == (0..<100).map { UInt8($0) }
    #expect(isComplete, "\(numbers.count)")
    let statistics = session.statistics(at: now).inbound[0]
    #expect(nacks == 0 && statistics.nackCount == 0 && statistics.pliCount == 0)
    #expect(statistics.fecPacketsReceived == 50 && statistics.fecPacketsDiscarded == 25)
    #expect(statistics.packetsLost == 25 && statistics.packetsDuplicated == 0)
  }
}
