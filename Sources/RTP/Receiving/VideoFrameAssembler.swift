import Base

/// A complete frame in the order of its packets, not yet known to be decodable.
struct AssembledFrame {
  var bytes: [UInt8]
  var isKeyFrame: Bool
  /// Of its first packet.
  var descriptor: VP8PayloadDescriptor
  var timestamp: Int64
  var sequenceNumbers: ClosedRange<Int64>
  var firstArrival: Instant
  var lastArrival: Instant
  /// Playout timing knows of it.
  var isTimed = false
}

/// Collects the packets of a video stream and puts frames together, whatever their order of arrival.
///
/// A frame is complete when its packets are there without a gap from the one that starts it to the one
/// with the marker bit. In order, each packet costs a constant.
struct VideoFrameAssembler: ~Copyable {
  struct Packet {
    var sequenceNumber: Int64
    var timestamp: Int64
    var marker: Bool
    var arrival: Instant
  }

  enum Outcome {
    case stored
    case completed(AssembledFrame)
    case duplicate
    /// Too old, too large, or no VP8 payload.
    case refused
  }

  struct Entry {
    var packet: Packet
    var descriptor = VP8PayloadDescriptor()
    var isPadding = false
    var startsFrame = false
    /// Every packet from the frame's start up to this one is there.
    var isContinuous = false
  }

  private var ring: PacketRing<Entry>
  private var newest: Int64 = -1
  /// Packets up to this one are history.
  private var done: Int64 = -1
  /// The larger number bounds a frame, whatever its packets claim.
  private static let slots = (initial: 128, maximum: 1024)
  private static let slotSize = 1500

  init() { ring = PacketRing(slots: Self.slots.initial, slotSize: Self.slotSize) }

  /// A packet without payload fills its place in the order of numbers and nothing else.
  mutating func insertPadding(_ packet: Packet) -> Outcome {
    if ring.contains(packet.sequenceNumber) { return .duplicate }
    guard isAcceptable(packet.sequenceNumber) else { return .refused }
    newest = max(newest, packet.sequenceNumber)
    makeRoom(for: packet.sequenceNumber)
    ring.store(
      UnsafeRawBufferPointer(start: nil, count: 0), at: packet.sequenceNumber,
      Entry(packet: packet, isPadding: true))
    return .stored
  }

  mutating func insert(_ packet: Packet, payload: UnsafeRawBufferPointer) -> Outcome {
    let number = packet.sequenceNumber
    if ring.contains(number) { return .duplicate }
    guard isAcceptable(number) else { return .refused }
    var reader = ByteReader(payload)
    guard let descriptor = VP8PayloadDescriptor(parsing: &reader) else { return .refused }
    let data = reader.rest()
    var entry = Entry(packet: packet, descriptor: descriptor, startsFrame: descriptor.startsFrame)
    entry.isContinuous = entry.startsFrame || isContinued(number - 1, timestamp: packet.timestamp)
    makeRoom(for: number)
    guard ring.store(data, at: number, entry) else { return .refused }
    newest = max(newest, number)
    return entry.isContinuous ? propagate(from: number) : .stored
  }

  /// Whether this packet is there, or no longer wanted.
  func has(_ number: Int64) -> Bool { number <= done || ring.contains(number) }

  func isPadding(_ number: Int64) -> Bool { ring.metadata(number)?.isPadding ?? false }

  /// Forgets everything up to a number, so that late packets are refused.
  mutating func discard(through number: Int64) { done = max(done, number) }

  private func isAcceptable(_ number: Int64) -> Bool {
    number > done && number > newest - Int64(Self.slots.maximum)
  }

  /// Nothing is forgotten that still waits for other packets.
  private mutating func makeRoom(for number: Int64) {
    while let old = ring.displaced(by: number), old.number > done, ring.slots < Self.slots.maximum {
      ring.grow()
    }
  }

  private func isContinued(_ previous: Int64, timestamp: Int64) -> Bool {
    guard let entry = ring.metadata(previous) else { return false }
    return entry.isContinuous && !entry.packet.marker && entry.packet.timestamp == timestamp
  }

  /// Follows the packets that are there already behind a newly continuous one.
  private mutating func propagate(from start: Int64) -> Outcome {
    var number = start
    while let entry = ring.metadata(number) {
      if entry.packet.marker { return assemble(endingAt: number) }
      guard let next = ring.metadata(number + 1), !next.startsFrame, !next.isPadding,
        next.packet.timestamp == entry.packet.timestamp
      else { break }
      number += 1
      ring.update(number) { $0.isContinuous = true }
    }
    return .stored
  }

  private func assemble(endingAt last: Int64) -> Outcome {
    var first = last
    var size = 0
    var firstArrival = Instant(nanoseconds: .max)
    var lastArrival = Instant(nanoseconds: .min)
    while let entry = ring.metadata(first), let data = ring.packet(first) {
      size += data.count
      firstArrival = min(firstArrival, entry.packet.arrival)
      lastArrival = max(lastArrival, entry.packet.arrival)
      if entry.startsFrame { break }
      first -= 1
    }
    guard let start = ring.metadata(first), start.startsFrame else { return .stored }
    let bytes = [UInt8](unsafeUninitializedCapacity: size) { memory, count in
      for number in first...last {
        guard let data = ring.packet(number), data.count > 0 else { continue }
        UnsafeMutableRawBufferPointer(memory)[count..<count + data.count].copyBytes(from: data)
        count += data.count
      }
    }
    guard let isKeyFrame = bytes.withUnsafeBytes({ VP8FrameHeader.isKeyFrame($0) }) else { return .refused }
    return .completed(
      AssembledFrame(
        bytes: bytes, isKeyFrame: isKeyFrame, descriptor: start.descriptor,
        timestamp: start.packet.timestamp, sequenceNumbers: first...last, firstArrival: firstArrival,
        lastArrival: lastArrival))
  }
}
