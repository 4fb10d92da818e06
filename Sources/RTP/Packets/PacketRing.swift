/// Slots of a fixed size in one allocation, addressed by a sequence number: what a packet
/// history and a jitter buffer are made of. Storing into a slot forgets what was there `slots` numbers ago.
///
/// Not thread-safe; owned by one thread.
struct PacketRing<Metadata>: ~Copyable {
  let slotSize: Int
  private let memory: UnsafeMutableRawBufferPointer
  private var entries: [(number: Int64, count: Int, metadata: Metadata)?]
  private let mask: Int64

  /// - Parameters:
  ///   - slots: a power of two.
  ///   - slotSize: the largest packet in bytes.
  init(slots: Int, slotSize: Int) {
    precondition(slots > 0 && slots & (slots - 1) == 0, "a power of two")
    self.slotSize = slotSize
    mask = Int64(slots - 1)
    memory = .allocate(byteCount: slots * slotSize, alignment: 16)
    entries = Array(repeating: nil, count: slots)
  }

  deinit { memory.deallocate() }

  var slots: Int { entries.count }

  /// What storing at a number makes forgotten; nil if nothing.
  func displaced(by number: Int64) -> (number: Int64, metadata: Metadata)? {
    guard number >= 0, let entry = entries[Int(number & mask)], entry.number != number else { return nil }
    return (entry.number, entry.metadata)
  }

  /// Twice as many slots, what is there included.
  mutating func grow() {
    var larger = PacketRing(slots: slots * 2, slotSize: slotSize)
    for case let entry? in entries {
      guard let packet = packet(entry.number) else { continue }
      larger.store(packet, at: entry.number, entry.metadata)
    }
    self = larger
  }

  /// False if it is larger than a slot.
  @discardableResult
  mutating func store(_ packet: UnsafeRawBufferPointer, at number: Int64, _ metadata: Metadata)
    -> Bool
  {
    guard packet.count <= slotSize, number >= 0 else { return false }
    let index = Int(number & mask)
    if packet.count > 0 {
      UnsafeMutableRawBufferPointer(rebasing: memory[index * slotSize..<index * slotSize + packet.count])
        .copyMemory(from: packet)
    }
    entries[index] = (number, packet.count, metadata)
    return true
  }

  func contains(_ number: Int64) -> Bool {
    guard number >= 0 else { return false }
    return entries[Int(number & mask)]?.number == number
  }

  func metadata(_ number: Int64) -> Metadata? {
    guard number >= 0, let entry = entries[Int(number & mask)], entry.number == number else { return nil }
    return entry.metadata
  }

  mutating func update(_ number: Int64, _ change: (inout Metadata) -> Void) {
    guard number >= 0 else { return }
    let index = Int(number & mask)
    guard var entry = entries[index], entry.number == number else { return }
    change(&entry.metadata)
    entries[index] = entry
  }

  /// The stored bytes, valid until the next mutation; nil if this number is not there (any more).
  func packet(_ number: Int64) -> UnsafeRawBufferPointer? {
    guard number >= 0 else { return nil }
    let index = Int(number & mask)
    guard let entry = entries[index], entry.number == number else { return nil }
    return UnsafeRawBufferPointer(
      rebasing: UnsafeRawBufferPointer(memory)[index * slotSize..<index * slotSize + entry.count])
  }

  mutating func remove(_ number: Int64) {
    guard contains(number) else { return }
    entries[Int(number & mask)] = nil
  }

  mutating func removeAll() {
    for index in entries.indices { entries[index] = nil }
  }
}
