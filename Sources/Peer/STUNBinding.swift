import Base

/// A STUN binding request and its answer (RFC 8489), enough to see whether a server answers and how it sees
/// us. No IO.
package struct STUNBinding: Sendable, Equatable {
  private static let cookie: UInt32 = 0x2112_A442

  /// 12 bytes.
  private let transaction: [UInt8]

  package init(using generator: inout some RandomNumberGenerator) {
    transaction = (0..<12).map { _ in UInt8.random(in: 0...255, using: &generator) }
  }

  /// The datagram to send.
  package var request: [UInt8] { [0x00, 0x01, 0x00, 0x00, 0x21, 0x12, 0xA4, 0x42] + transaction }

  /// Our address as the server sees it, `ADDRESS:PORT`; nil if that is no answer to this request.
  package func address(in response: UnsafeRawBufferPointer) -> String? {
    var reader = ByteReader(response)
    guard reader.uint16() == 0x0101, let length = reader.uint16(), reader.uint32() == Self.cookie,
      let id = reader.slice(12), id.elementsEqual(transaction), let body = reader.slice(Int(length))
    else { return nil }
    var attributes = ByteReader(body)
    while let type = attributes.uint16(), let size = attributes.uint16(),
      let value = attributes.slice(Int(size))
    {
      // MAPPED-ADDRESS, of servers of RFC 3489, and XOR-MAPPED-ADDRESS
      if type == 0x0020 || type == 0x0001 { return address(value, isHidden: type == 0x0020) }
      guard attributes.skip((4 - Int(size) % 4) % 4) else { return nil }
    }
    return nil
  }

  private func address(_ value: UnsafeRawBufferPointer, isHidden: Bool) -> String? {
    var reader = ByteReader(value)
    guard reader.skip(1), let family = reader.uint8(), var port = reader.uint16() else { return nil }
    let mask = isHidden ? [0x21, 0x12, 0xA4, 0x42] + transaction : [UInt8](repeating: 0, count: 16)
    if isHidden { port ^= UInt16(truncatingIfNeeded: Self.cookie >> 16) }
    guard family == 1 || family == 2, let bytes = reader.slice(family == 1 ? 4 : 16) else { return nil }
    let plain = zip(bytes, mask).map { $0 ^ $1 }
    if family == 1 { return plain.map { "\($0)" }.joined(separator: ".") + ":\(port)" }
    let groups = stride(from: 0, to: 16, by: 2).map {
      String(UInt16(plain[$0]) << 8 | UInt16(plain[$0 + 1]), radix: 16)
    }
    return "[\(groups.joined(separator: ":"))]:\(port)"
  }
}
