import Base
import Glibc

/// One end of a path, as captures name it.
package struct CaptureAddress: Sendable, Equatable {
  /// Four or sixteen, in network order.
  package let bytes: [UInt8]
  package let port: UInt16

  package init(bytes: [UInt8], port: UInt16) {
    self.bytes = bytes
    self.port = port
  }

  /// - Parameter text: an end of a selected pair: `host 192.0.2.1:4000`, `relay [2001:db8::1]:4000`.
  init?(pairEnd text: String) {
    guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]),
      let space = text[..<colon].lastIndex(of: " ")
    else { return nil }
    let address = text[text.index(after: space)..<colon].filter { $0 != "[" && $0 != "]" }
    var bytes = [UInt8](repeating: 0, count: 16)
    let isLong = address.contains(":")
    guard inet_pton(isLong ? AF_INET6 : AF_INET, address, &bytes) == 1 else { return nil }
    self.init(bytes: isLong ? bytes : Array(bytes[..<4]), port: port)
  }

  /// Where the path is not known.
  static let unknown = CaptureAddress(bytes: [0, 0, 0, 0], port: 0)

  var text: String {
    guard bytes.count == 16 else { return bytes.map(String.init).joined(separator: ".") }
    return stride(from: 0, to: 16, by: 2)
      .map { String(Int(bytes[$0]) << 8 | Int(bytes[$0 + 1]), radix: 16) }.joined(separator: ":")
  }
}

/// A packet as it was before it was encrypted, or after it was decrypted.
package struct CapturedPacket: Sendable, Equatable {
  /// The names by which Wireshark knows what reads it.
  package enum Kind: String, Sendable {
    case rtp, rtcp
    /// A description that is written for the capture alone: it says what payload types stand for.
    case sdp
  }

  /// As pcapng numbers them (`epb_flags`).
  package enum Direction: UInt32, Sendable {
    case inbound = 1
    case outbound = 2
  }

  package var kind: Kind
  package var bytes: [UInt8]
  package var direction: Direction
  /// Microseconds since the Unix epoch.
  package var time: Int64
  package var source: CaptureAddress
  package var destination: CaptureAddress

  package init(
    _ kind: Kind, _ bytes: [UInt8], _ direction: Direction, time: Int64, from source: CaptureAddress,
    to destination: CaptureAddress
  ) {
    self.kind = kind
    self.bytes = bytes
    self.direction = direction
    self.time = time
    self.source = source
    self.destination = destination
  }
}
