import Base

/// Random UUIDs (RFC 9562, version 4) as lower-case text: ids of connections, streams, transactions.
package enum UUID {
  package static func v4(using generator: inout some RandomNumberGenerator) -> String {
    var bytes: [UInt8] = []
    for _ in 0..<2 {
      let word: UInt64 = generator.next()
      for shift in stride(from: 56, through: 0, by: -8) {
        bytes.append(UInt8(truncatingIfNeeded: word >> UInt64(shift)))
      }
    }
    bytes[6] = bytes[6] & 0x0F | 0x40
    bytes[8] = bytes[8] & 0x3F | 0x80
    return [bytes[0..<4], bytes[4..<6], bytes[6..<8], bytes[8..<10], bytes[10..<16]]
      .map { Hexadecimal.text($0) }.joined(separator: "-")
  }

  /// Whether a text is a UUID as it is made here; nothing that can be a path.
  package static func isWellFormed(_ text: String) -> Bool {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    return parts.map(\.utf8.count) == [8, 4, 4, 4, 12]
      && parts.joined().utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
  }

  /// From the system's random numbers.
  package static func v4() -> String {
    var generator = SystemGenerator()
    return v4(using: &generator)
  }
}
