import CWebSockets

/// One WebSocket of a client. Confined to the server's loop.
package final class WebSocket {
  /// Unique in this server for as long as it lives.
  package let id: Int
  /// The request that opened it.
  package let request: HTTPRequest

  private let wsi: OpaquePointer
  /// From then on the handle of libwebsockets may be gone at any time.
  private var isGone = false
  private let limits: WebServer.Limits
  private var queue: [[UInt8]] = []
  private var firstInQueue = 0
  private var closing: (code: Int, reason: String)?
  private var message: [UInt8] = []
  private var peerCloseCode: PeerClose?

  /// Bytes that wait for a slow reader, with what it costs to keep each message.
  package private(set) var queuedBytes = 0

  /// Of an array. Without it many small messages would take ten times the memory that their bytes do.
  package static let bytesAroundMessage = 64

  private enum PeerClose {
    case code(Int)
    case withoutCode
  }

  init(id: Int, request: HTTPRequest, wsi: OpaquePointer, limits: WebServer.Limits) {
    self.id = id
    self.request = request
    self.wsi = wsi
    self.limits = limits
  }

  /// Sends one binary message. A reader so slow that more than the limit waits for it is cut off:
  /// false then, and once the socket is closing.
  @discardableResult
  package func send(_ bytes: [UInt8]) -> Bool {
    guard closing == nil && !isGone else { return false }
    queuedBytes += Self.bytesAroundMessage + bytes.count
    queue.append(bytes)
    if queuedBytes > limits.queuedBytes {
      closing = (1006, "")
      queue = []
      firstInQueue = 0
      otchat_lws_kill(wsi)
      return false
    }
    lws_callback_on_writable(wsi)
    return true
  }

  /// Closes it with a code (RFC 6455, 7.4) once what was sent before is out.
  package func close(code: Int, reason: String = "") {
    guard closing == nil && !isGone else { return }
    closing = (code, reason)
    lws_callback_on_writable(wsi)
    // A reader that takes nothing more must not hold it open.
    lws_set_timeout(wsi, PENDING_TIMEOUT_CLOSE_SEND, limits.closeSeconds)
  }

  // MARK: - Called by the server on events of libwebsockets

  enum Received {
    case nothing
    case message([UInt8])
    case refused
  }

  /// Takes a piece of a message; libwebsockets hands them over in small ones.
  func receive(_ piece: UnsafeRawBufferPointer) -> Received {
    guard closing == nil else { return .nothing }
    if lws_frame_is_binary(wsi) == 0 {
      return refuse(1003, "only binary messages")
    }
    // The peer says how much is still to come of the frame: anything, so it is not to be added to.
    let room = limits.messageBytes - message.count - piece.count
    if room < 0 || UInt64(truncatingIfNeeded: lws_remaining_packet_payload(wsi)) > UInt64(room) {
      return refuse(1009, "message too big")
    }
    message.append(contentsOf: piece)
    guard lws_is_final_fragment(wsi) != 0 else { return .nothing }
    defer { message = [] }
    return .message(message)
  }

  private func refuse(_ code: Int, _ reason: String) -> Received {
    closing = (code, reason)
    setCloseReason(code, reason)
    return .refused
  }

  /// Writes what the socket takes. False if it has to be closed.
  func write(scratch: inout [UInt8]) -> Bool {
    while firstInQueue < queue.count {
      let bytes = queue[firstInQueue]
      if !lws_send(bytes, scratch: &scratch) { return false }
      queuedBytes -= Self.bytesAroundMessage + bytes.count
      queue[firstInQueue] = []
      firstInQueue += 1
      if lws_send_pipe_choked(wsi) != 0 { break }
    }
    if firstInQueue < queue.count {
      lws_callback_on_writable(wsi)
      return true
    }
    queue.removeAll(keepingCapacity: true)
    firstInQueue = 0
    guard let closing else { return true }
    setCloseReason(closing.code, closing.reason)
    return false
  }

  /// The peer's Close frame: two bytes of code, or nothing.
  func peerCloses(_ payload: UnsafeRawBufferPointer) {
    peerCloseCode = payload.count >= 2 ? .code(Int(payload[0]) << 8 | Int(payload[1])) : .withoutCode
  }

  func isClosed() { isGone = true }

  /// How it ended, known once it is closed.
  var end: WebSocketEnd {
    switch peerCloseCode {
    case _ where closing != nil && closing?.code != 1006: .closedHere
    case .code(let code): .closedByPeer(code)
    case .withoutCode: .closedByPeer(nil)
    case nil: .lost
    }
  }

  private func lws_send(_ bytes: [UInt8], scratch: inout [UInt8]) -> Bool {
    let prefix = OTCHAT_LWS_PRE
    if scratch.count < prefix + bytes.count {
      scratch = [UInt8](repeating: 0, count: prefix + bytes.count)
    }
    return scratch.withUnsafeMutableBytes { buffer in
      guard let base = buffer.baseAddress else { return false }
      UnsafeMutableRawBufferPointer(rebasing: buffer[prefix...]).copyBytes(from: bytes)
      let start = (base + prefix).assumingMemoryBound(to: UInt8.self)
      return lws_write(wsi, start, bytes.count, LWS_WRITE_BINARY) >= Int32(bytes.count)
    }
  }

  private func setCloseReason(_ code: Int, _ reason: String) {
    var text = [UInt8](reason.utf8.prefix(120))
    lws_close_reason(wsi, lws_close_status(UInt32(code)), &text, text.count)
  }
}

/// How a WebSocket ended.
package enum WebSocketEnd: Equatable, Sendable {
  /// By the peer's Close frame, with its code or without one.
  case closedByPeer(Int?)
  /// By us, with a Close frame.
  case closedHere
  /// Without a Close frame: the network, a crash, or a reader too slow.
  case lost
}
