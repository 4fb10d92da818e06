/// Cuts a frame into payloads of nearly the same size, so that no small last packet is wasted
/// (RFC 7741, 4.4).
struct VP8Packetizer: Sequence, IteratorProtocol {
  private let total: Int
  private let packets: Int
  private var index = 0
  private var offset = 0

  /// - Parameter maximum: the largest payload in octets, descriptor not counted.
  init(frameSize: Int, maximum: Int) {
    total = frameSize
    packets = maximum > 0 ? (frameSize + maximum - 1) / maximum : 0
  }

  /// The octets of the frame that the next packet carries.
  mutating func next() -> Range<Int>? {
    guard index < packets else { return nil }
    let size = total / packets + (index < total % packets ? 1 : 0)
    defer {
      index += 1
      offset += size
    }
    return offset..<offset + size
  }
}
