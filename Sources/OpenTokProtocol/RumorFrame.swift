import Base

package enum RumorError: Error, Equatable, Sendable {
  /// The frame ends before what its lengths promise, or is not as long as it says.
  case length
  /// More bytes, addresses or headers than `RumorFrame` takes.
  case tooLarge
  case unknownKind(UInt8)
  /// An address or a header that is not UTF-8.
  case encoding
}

/// A message of Rumor, the binary publish/subscribe protocol of OpenTok: one per binary WebSocket message.
///
///     0      4   length of all that follows
///     4      2   reserved, zero
///     6      1   kind
///     7      1   number of addresses, then each as u16 length and UTF-8
///     …      1   number of headers, then each as u16 length, name, u16 length, value
///     …          payload
package struct RumorFrame: Equatable, Sendable {
  package enum Kind: UInt8, Sendable {
    case subscribe = 0, unsubscribe, message, connect, disconnect
    case ping = 7, pong, status
  }

  /// Bytes of a frame from a client. Far above what a session description needs.
  package static let maximumSize = 256 * 1024
  /// Bytes of a frame from a server: the state of a session with hundreds of connections.
  package static let maximumServerSize = 4 * 1024 * 1024
  package static let maximumAddresses = 64
  package static let maximumHeaders = 64

  package var kind: Kind
  package var addresses: [String]
  package var headers: Headers
  package var payload: [UInt8]

  package init(
    _ kind: Kind, to addresses: [String] = [], headers: Headers = [:], payload: [UInt8] = []
  ) {
    self.kind = kind
    self.addresses = addresses
    self.headers = headers
    self.payload = payload
  }

  package init(
    decoding bytes: UnsafeRawBufferPointer, maximumSize: Int = Self.maximumSize
  ) throws(RumorError) {
    guard bytes.count <= maximumSize else { throw .tooLarge }
    var reader = ByteReader(bytes)
    guard let length = reader.uint32(), Int(length) == reader.remaining, reader.skip(2),
      let kindNumber = reader.uint8(), let addressCount = reader.uint8()
    else { throw .length }
    guard let kind = Kind(rawValue: kindNumber) else { throw .unknownKind(kindNumber) }
    guard addressCount <= Self.maximumAddresses else { throw .tooLarge }
    var addresses: [String] = []
    for _ in 0..<addressCount { addresses.append(try Self.text(&reader)) }
    guard let headerCount = reader.uint8() else { throw .length }
    guard headerCount <= Self.maximumHeaders else { throw .tooLarge }
    var headers = Headers()
    for _ in 0..<headerCount { headers.append(try Self.text(&reader), try Self.text(&reader)) }
    self.init(kind, to: addresses, headers: headers, payload: Array(reader.rest()))
  }

  package init(decoding bytes: [UInt8], maximumSize: Int = Self.maximumSize) throws(RumorError) {
    let result = bytes.withUnsafeBytes { buffer in
      Result { () throws(RumorError) in try RumorFrame(decoding: buffer, maximumSize: maximumSize) }
    }
    self = try result.get()
  }

  private static func text(_ reader: inout ByteReader) throws(RumorError) -> String {
    guard let length = reader.uint16(), let bytes = reader.slice(Int(length)) else { throw .length }
    guard let text = String(validating: bytes, as: UTF8.self) else { throw .encoding }
    return text
  }

  /// What the format has no room for is cut off: addresses and headers behind the 255th, text behind
  /// 65,535 bytes. Nothing that was decoded comes near.
  package func encoded() -> [UInt8] {
    var output: [UInt8] = [0, 0, 0, 0, 0, 0, kind.rawValue]
    output.append(UInt8(clamping: addresses.count))
    for address in addresses.prefix(255) { Self.append(address, to: &output) }
    output.append(UInt8(clamping: headers.count))
    for header in headers.prefix(255) {
      Self.append(header.name, to: &output)
      Self.append(header.value, to: &output)
    }
    output.append(contentsOf: payload)
    let length = UInt32(clamping: output.count - 4)
    for index in 0..<4 { output[index] = UInt8(truncatingIfNeeded: length >> UInt32(24 - 8 * index)) }
    return output
  }

  /// Bytes of `encoded()`.
  package var encodedSize: Int {
    func size(_ text: String) -> Int { 2 + min(text.utf8.count, Int(UInt16.max)) }
    let texts =
      addresses.prefix(255).reduce(0) { $0 + size($1) }
      + headers.prefix(255).reduce(0) { $0 + size($1.name) + size($1.value) }
    return 9 + texts + payload.count
  }

  private static func append(_ text: String, to output: inout [UInt8]) {
    let bytes = text.utf8.prefix(Int(UInt16.max))
    output.append(UInt8(truncatingIfNeeded: bytes.count >> 8))
    output.append(UInt8(truncatingIfNeeded: bytes.count))
    output.append(contentsOf: bytes)
  }
}

extension RumorFrame {
  /// Headers in their order; names are compared exactly.
  package struct Headers: Equatable, Sendable, Sequence, ExpressibleByDictionaryLiteral {
    package struct Field: Equatable, Sendable {
      package var name: String
      package var value: String
    }

    private var fields: [Field] = []

    package init() {}

    package init(dictionaryLiteral elements: (String, String)...) {
      fields = elements.map { Field(name: $0.0, value: $0.1) }
    }

    package var count: Int { fields.count }

    package subscript(name: String) -> String? {
      get { fields.first { $0.name == name }?.value }
      set {
        guard let index = fields.firstIndex(where: { $0.name == name }) else {
          if let newValue { append(name, newValue) }
          return
        }
        if let newValue { fields[index].value = newValue } else { fields.remove(at: index) }
      }
    }

    package mutating func append(_ name: String, _ value: String) {
      fields.append(Field(name: name, value: value))
    }

    package func makeIterator() -> IndexingIterator<[Field]> { fields.makeIterator() }
  }

  /// Names of headers, as they are spelled on the wire.
  package enum Header {
    package static let transactionID = "TRANSACTION-ID"
    package static let status = "STATUS"
    package static let contentType = "Content-Type"
    package static let from = "X-TB-FROM-ADDRESS"
    package static let token = "X-TB-TOKEN-AUTH"
    package static let uniqueID = "uniqueId"
    package static let notifyDisconnectAddress = "notifyDisconnectAddress"
    package static let reconnect = "reconnect"
  }

  /// `Content-Type` of a payload that is a `RaptorMessage` or the answer to one.
  package static let raptorContentType = "application/x-raptor+v2"

  package var transactionID: String? { headers[Header.transactionID] }
  package var from: String? { headers[Header.from] }

  /// The number in the `STATUS` header; nil if there is none, or none of three digits.
  package var status: Int? {
    guard let text = headers[Header.status], text.utf8.count == 3, let number = Int(text), number >= 100
    else { return nil }
    return number
  }

  /// What a receiver answers to a message that carries a transaction id, nil if this needs no answer.
  ///
  /// - Parameter from: the connection id of the one who received this frame.
  package func acknowledgement(from: String) -> RumorFrame? {
    guard kind != .status, let transactionID else { return nil }
    return RumorFrame(
      .status, to: self.from.map { [$0] } ?? addresses,
      headers: [Header.transactionID: transactionID, Header.from: from])
  }
}
