import Base

/// Restores lost packets of a video stream from parity packets (ULPFEC, RFC 5109, level 0), which come in
/// the same sequence of numbers.
///
/// ```
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |E|L|P|X|  CC   |M| PT recovery |            SN base            |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                          TS recovery                          |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |        length recovery        |       protection length       |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |         mask, of 16 bits or (L) of 48; then the data          |
/// ```
struct ULPFECReceiver: ~Copyable {
  private static let slots = 128
  private static let slotSize = 1500
  private static let maximumParities = 48

  /// The first two octets of a packet, and its timestamp.
  private struct Header {
    var flags: UInt8
    var type: UInt8
    var timestamp: UInt32
  }

  private struct Parity {
    /// Of what it protects, in ascending order.
    var numbers: [Int64]
    var header: Header
    var length: UInt16
    var bytes: [UInt8]
    /// Where what goes for octet 12 of the packets begins.
    var offset: Int
  }

  /// What follows the fixed header of each packet, as it was when the parity was computed.
  private var packets = PacketRing<Header>(slots: slots, slotSize: slotSize)
  private var parities: [Parity] = []
  private var newest: Int64 = -1
  private let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: slotSize + 12, alignment: 16)
  private var discarded = 0

  deinit { scratch.deallocate() }

  /// Takes note of a packet that arrived as it had been sent at first; what comes as a retransmission has
  /// other header extensions.
  ///
  /// - Parameters:
  ///   - payloadType: of its payload.
  ///   - prefix: octets in front of its payload that were not there when the parity was computed (RED).
  ///   - extensions: those that are filled in behind the parity count as zero there.
  mutating func insert(
    _ packet: RTPPacket, number: Int64, payloadType: UInt8, prefix: Int, extensions: HeaderExtensionMap
  ) {
    guard let base = packet.bytes.baseAddress, let payload = packet.payload.baseAddress,
      packet.payload.count >= prefix, packet.bytes.count <= scratch.count
    else { return }
    let before = payload - base
    scratch.copyMemory(from: UnsafeRawBufferPointer(rebasing: packet.bytes[..<before]))
    let rest = packet.bytes[(before + prefix)...]
    UnsafeMutableRawBufferPointer(rebasing: scratch[before...]).copyMemory(
      from: UnsafeRawBufferPointer(rebasing: rest))
    packet.forEachExtension { id, value in
      guard id == extensions.absoluteSendTime || id == extensions.transportSequenceNumber,
        let start = value.baseAddress
      else { return }
      for index in start - base..<start - base + value.count { scratch[index] = 0 }
    }
    packets.store(
      UnsafeRawBufferPointer(rebasing: scratch[RTPPacket.fixedHeaderSize..<packet.bytes.count - prefix]),
      at: number,
      Header(
        flags: packet.bytes[0], type: packet.marker ? payloadType | 0x80 : payloadType,
        timestamp: packet.timestamp))
    newest = max(newest, number)
  }

  /// Takes a parity packet, without headers.
  ///
  /// - Returns: false if it is none.
  mutating func insertParity(_ payload: UnsafeRawBufferPointer, number: Int64) -> Bool {
    var reader = ByteReader(payload)
    guard let flags = reader.uint8(), flags & 0x80 == 0, let type = reader.uint8(),
      let base = reader.uint16(), let timestamp = reader.uint32(), let length = reader.uint16(),
      let protected = reader.uint16(),
      let mask = flags & 0x40 == 0
        ? reader.uint16().map({ UInt64($0) << 32 })
        : reader.uint16().flatMap({ high in reader.uint32().map { UInt64(high) << 32 | UInt64($0) } }),
      reader.rest().count >= Int(protected)
    else { return false }
    let first = number - Int64(UInt16(truncatingIfNeeded: number) &- base)
    let numbers = (0..<48 as Range<Int64>).filter { mask >> (47 - UInt64($0)) & 1 != 0 }.map { first + $0 }
    guard first > number - Int64(Self.slots), first >= 0, !numbers.isEmpty else { return false }
    if parities.count == Self.maximumParities {
      parities.removeFirst()
      discarded += 1
    }
    let offset = 12 + (flags & 0x40 == 0 ? 2 : 6)
    parities.append(
      Parity(
        numbers: numbers, header: Header(flags: flags, type: type, timestamp: timestamp), length: length,
        bytes: Array(payload[..<(offset + Int(protected))]), offset: offset))
    newest = max(newest, number)
    return true
  }

  /// Restores what can be: each packet of which everything else is there that a parity packet protects.
  ///
  /// - Parameter body: gets each packet, valid during the call, and its number.
  /// - Returns: how many parity packets were given up since the last time, nothing having been restored from them.
  mutating func restore(_ body: (_ packet: RTPPacket, _ number: Int64) -> Void) -> Int {
    defer { discarded = 0 }
    var index = 0
    while index < parities.count {
      let numbers = parities[index].numbers
      let missing = numbers.filter { !packets.contains($0) }
      let isOld = numbers[0] <= newest - Int64(Self.slots)
      guard missing.count <= 1 || isOld else {
        index += 1
        continue
      }
      let parity = parities.remove(at: index)
      guard missing.count == 1, !isOld, let packet = restore(missing[0], from: parity) else {
        discarded += 1
        continue
      }
      body(packet, missing[0])
      // What could not be restored before may be now.
      index = 0
    }
    return discarded
  }

  /// The packet lies in `scratch`. It is kept among the others.
  private mutating func restore(_ number: Int64, from parity: Parity) -> RTPPacket? {
    var header = parity.header
    var length = parity.length
    let size = parity.bytes.count - parity.offset
    guard size <= Self.slotSize else { return nil }
    let content = UnsafeMutableRawBufferPointer(rebasing: scratch[RTPPacket.fixedHeaderSize...])
    content.copyBytes(from: parity.bytes[parity.offset...])
    for other in parity.numbers where other != number {
      guard let known = packets.metadata(other), let bytes = packets.packet(other) else { return nil }
      header.flags ^= known.flags
      header.type ^= known.type
      header.timestamp ^= known.timestamp
      length ^= UInt16(truncatingIfNeeded: bytes.count)
      for index in 0..<min(size, bytes.count) { content[index] ^= bytes[index] }
    }
    // More than the parity covers cannot be restored.
    guard Int(length) <= size else { return nil }
    header.flags = 0x80 | header.flags & 0x3F
    scratch[0] = header.flags
    scratch[1] = header.type
    scratch.storeBytes(
      of: UInt16(truncatingIfNeeded: number).bigEndian, toByteOffset: 2, as: UInt16.self)
    scratch.storeBytes(of: header.timestamp.bigEndian, toByteOffset: 4, as: UInt32.self)
    scratch.storeBytes(of: 0, toByteOffset: 8, as: UInt32.self)
    packets.store(UnsafeRawBufferPointer(rebasing: content[..<Int(length)]), at: number, header)
    return RTPPacket(
      parsing: UnsafeRawBufferPointer(
        rebasing: scratch[..<(RTPPacket.fixedHeaderSize + Int(length))]))
  }
}
