import Base

/// A WebSocket client written from RFC 6455, for tests: it can send what a good one would not.
final class WebSocketClient {
  let connection: LoopbackClient
  let handshake: String

  struct Frame: Equatable {
    var final = true
    var opcode: UInt8
    var payload: [UInt8]
  }

  enum Opcode {
    static let continuation: UInt8 = 0
    static let text: UInt8 = 1
    static let binary: UInt8 = 2
    static let close: UInt8 = 8
    static let ping: UInt8 = 9
    static let pong: UInt8 = 10
  }

  /// - Parameter headers: further lines, each with CR LF.
  init(
    port: Int, path: String, headers: String = "", receiveBuffer: Int32? = nil, tls: Bool = false
  ) throws {
    connection = try LoopbackClient(port: port, receiveBuffer: receiveBuffer)
    if tls { try connection.startTLS() }
    try connection.send(
      "GET \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\(headers)\r\n")
    handshake = try connection.receiveHead()
    guard handshake.hasPrefix("HTTP/1.1 101 ") else {
      throw LoopbackClient.Failure(what: "not upgraded: \(handshake)")
    }
  }

  func send(_ frame: Frame) throws { try connection.send(Self.encode(frame)) }

  func send(_ message: [UInt8]) throws { try send(Frame(opcode: Opcode.binary, payload: message)) }

  /// - Parameter code: nil sends a Close frame without one, as the native SDK does.
  func sendClose(code: Int?) throws {
    let payload = code.map { [UInt8($0 >> 8), UInt8($0 & 255)] } ?? []
    try send(Frame(opcode: Opcode.close, payload: payload))
  }

  /// The next frame that is no ping or pong.
  func receive() throws -> Frame {
    while true {
      let head = try connection.receive(2)
      var count = Int(head[1] & 0x7F)
      if count == 126 {
        count = try connection.receive(2).reduce(0) { $0 << 8 | Int($1) }
      } else if count == 127 {
        count = try connection.receive(8).reduce(0) { $0 << 8 | Int($1) }
      }
      let frame = Frame(
        final: head[0] & 0x80 != 0, opcode: head[0] & 0x0F, payload: try connection.receive(count))
      if frame.opcode == Opcode.ping {
        try send(Frame(opcode: Opcode.pong, payload: frame.payload))
      } else if frame.opcode != Opcode.pong {
        return frame
      }
    }
  }

  /// The next message, put together.
  func receiveMessage() throws -> [UInt8] {
    var message: [UInt8] = []
    while true {
      let frame = try receive()
      guard frame.opcode == Opcode.binary || frame.opcode == Opcode.continuation else {
        throw LoopbackClient.Failure(what: "opcode \(frame.opcode) \(frame.payload)")
      }
      message += frame.payload
      if frame.final { return message }
    }
  }

  /// The code of the Close frame that must come next; 1005: none in it.
  func receiveClose() throws -> Int {
    while true {
      let frame = try receive()
      guard frame.opcode == Opcode.close else { continue }
      return frame.payload.count >= 2 ? Int(frame.payload[0]) << 8 | Int(frame.payload[1]) : 1005
    }
  }

  static func encode(_ frame: Frame) -> [UInt8] {
    var bytes = [(frame.final ? 0x80 : 0) | frame.opcode]
    let count = frame.payload.count
    if count < 126 {
      bytes.append(0x80 | UInt8(count))
    } else if count < 65536 {
      bytes += [0x80 | 126, UInt8(count >> 8), UInt8(count & 255)]
    } else {
      bytes.append(0x80 | 127)
      for shift in stride(from: 56, through: 0, by: -8) { bytes.append(UInt8(count >> shift & 255)) }
    }
    let mask: [UInt8] = [0x5A, 0x01, 0xFF, 0x33]
    bytes += mask
    for (index, byte) in frame.payload.enumerated() { bytes.append(byte ^ mask[index & 3]) }
    return bytes
  }
}
