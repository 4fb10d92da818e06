extension FixedWidthInteger where Self: UnsignedInteger {
  /// Whether this serial number comes after `other` in modular order (RFC 1982; RFC 3550, A.1).
  /// Exactly half way round counts as after if it is the larger number.
  @inlinable
  package func isNewer(than other: Self) -> Bool {
    let distance = self &- other
    let half: Self = 1 << (Self.bitWidth - 1)
    if distance == half { return self > other }
    return distance != 0 && distance < half
  }
}

/// Extends wrapping 16-bit sequence numbers to 64 bits; tolerates reordering of up to half the range.
package struct SequenceNumberUnwrapper: Sendable {
  package private(set) var last: Int64?

  package init() {}

  /// The extended number. The first one is taken as it is, plus 2^16 so that earlier ones stay positive.
  package mutating func unwrap(_ number: UInt16) -> Int64 {
    guard let last else {
      let first = Int64(number) + 65536
      self.last = first
      return first
    }
    let extended = last &+ Int64(Int16(bitPattern: number &- UInt16(truncatingIfNeeded: last)))
    if extended > last { self.last = extended }
    return extended
  }
}

/// Extends wrapping 32-bit RTP timestamps to 64 bits; tolerates reordering of up to half the range.
package struct TimestampUnwrapper: Sendable {
  package private(set) var last: Int64?

  package init() {}

  /// The extended timestamp. The first one is taken as it is, plus 2^32 so that earlier ones stay positive.
  package mutating func unwrap(_ timestamp: UInt32) -> Int64 {
    guard let last else {
      let first = Int64(timestamp) + 4_294_967_296
      self.last = first
      return first
    }
    let extended = last &+ Int64(Int32(bitPattern: timestamp &- UInt32(truncatingIfNeeded: last)))
    if extended > last { self.last = extended }
    return extended
  }
}
