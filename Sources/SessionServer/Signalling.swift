import Base
import OpenTokProtocol

/// The WebSockets of clients and the rooms behind them: carries messages, decides nothing.
extension SessionServer {
  static let signallingPath = "/rumorwebsocketsv2"

  func refusal(of request: HTTPRequest) -> HTTPResponse? {
    if request.path == Self.signallingPath { return nil }
    let response = HTTPResponse.failure(404, "no WebSocket here")
    metrics.count(response)
    return response
  }

  func opened(_ socket: WebSocket) {
    metrics.socketsOpened += 1
    sockets[socket.id] = socket
    let query = FormEncoding.text(socket.request.query.map { (key: $0.name, value: $0.value) })
    carryOut(rooms.opened(socket.id, query: query, at: now))
    returned(on: socket.id)
    if !isTicking { tick() }
  }

  func received(_ message: [UInt8], on socket: WebSocket) {
    metrics.messagesReceived += 1
    let began = now
    carryOut(rooms.received(message, on: socket.id, at: began))
    metrics.messageTimes.add(MonotonicClock.now() - began.instant)
  }

  func closed(_ socket: WebSocket, _ end: WebSocketEnd) {
    sockets[socket.id] = nil
    let code: UInt16 =
      switch end {
      case .closedByPeer(let code): code.map { UInt16(truncatingIfNeeded: $0) } ?? RoomCloseCode.noCode
      case .closedHere, .lost: RoomCloseCode.abnormal
      }
    carryOut(rooms.closed(socket.id, code: code, at: now))
  }

  /// Once a second, as long as there is anybody whose time could run out.
  func tick() {
    touchSessions()
    carryOut(rooms.advance(to: now))
    archives.advance(to: now, newID: { UUID.v4() }, occupancy: { rooms.occupancy(of: $0) })
    // What is decided here must not come back to here.
    isTicking = true
    carryOutArchives()
    isTicking = rooms.socketCount > 0 || !rooms.sessions.isEmpty || archives.isRecording
    web?.wake(at: isTicking ? MonotonicClock.now() + .seconds(1) : nil)
  }

  func carryOut(_ outputs: [RoomOutput]) {
    for output in outputs {
      switch output {
      case .send(let frame, let socket):
        metrics.messagesSent += 1
        sockets[socket]?.send(frame.encoded())
      case .close(let socket, let code):
        sockets[socket]?.close(code: Int(code))
      case .event(let event):
        note(event)
      }
    }
    sessionsChanged()
  }

  private func note(_ event: RoomEvent) {
    switch event {
    case .connectionCreated(_, let connection):
      Log.info("serve", "connection \(connection.id) came")
    case .connectionDestroyed(_, let connection, let reason):
      Log.info("serve", "connection \(connection.id) went: \(reason)")
    case .streamCreated(let session, let stream):
      Log.info("serve", "stream \(stream.id) came")
      archiveNoticed(stream, in: session)
    case .streamDestroyed(_, let stream, let reason):
      Log.info("serve", "stream \(stream.id) went: \(reason)")
    }
    report(.room(event))
    callbacks[.session]?.add(
      CallbackBody.json(event, apiKey: apiKey, time: now.unixMilliseconds), session: event.session)
  }

  var now: RoomTime {
    RoomTime(instant: MonotonicClock.now(), unixMilliseconds: WallClock.microseconds() / 1000)
  }
}
