/// Answers Binding requests (RFC 8489): tells a client by which address it was seen. Without IO.
enum STUNResponder {
  private static let cookie: [UInt8] = [0x21, 0x12, 0xA4, 0x42]
  private static let headerSize = 20

  /// - Parameters:
  ///   - request: a datagram.
  ///   - address: 4 or 16 bytes of the sender's address, in network order.
  /// - Returns: the answer, hardly longer than the request; nil for everything but a Binding request.
  static func answer(to request: [UInt8], address: [UInt8], port: UInt16) -> [UInt8]? {
    guard request.count >= headerSize, address.count == 4 || address.count == 16,
      request[0] == 0, request[1] == 1,
      Int(request[2]) << 8 | Int(request[3]) == request.count - headerSize, request.count % 4 == 0
    else { return nil }
    let id = request[4..<headerSize]
    // XOR-MAPPED-ADDRESS (14.2): port and address, masked with the cookie and the transaction id. Who sends no
    // cookie, as libnice does, knows RFC 3489 only (RFC 5389, 12.2): MAPPED-ADDRESS, not masked.
    let isClassic = Array(id.prefix(4)) != cookie
    let mask = isClassic ? [UInt8](repeating: 0, count: 16)[...] : id
    let maskedPort = isClassic ? port : port ^ 0x2112
    let attribute: [UInt8] =
      [0x00, isClassic ? 0x01 : 0x20, 0x00, UInt8(4 + address.count), 0x00, address.count == 4 ? 1 : 2]
      + [UInt8(maskedPort >> 8), UInt8(truncatingIfNeeded: maskedPort)] + zip(address, mask).map { $0 ^ $1 }
    return [0x01, 0x01, 0x00, UInt8(attribute.count)] + id + attribute
  }
}
