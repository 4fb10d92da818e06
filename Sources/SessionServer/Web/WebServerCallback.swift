import Base
import CWebSockets

/// libwebsockets calls this on the service thread, where the server is at home.
func webServerCallback(
  _ wsi: OpaquePointer?, _ reason: lws_callback_reasons, _: UnsafeMutableRawPointer?,
  _ input: UnsafeMutableRawPointer?, _ count: Int
) -> Int32 {
  guard let wsi, let user = lws_context_user(lws_get_context(wsi)) else { return 0 }
  let server = Unmanaged<WebServer>.fromOpaque(user).takeUnretainedValue()
  let bytes = UnsafeRawBufferPointer(start: input, count: input == nil ? 0 : count)
  switch reason {
  // Of its own housekeeping.
  case LWS_CALLBACK_LOCK_POLL, LWS_CALLBACK_UNLOCK_POLL, LWS_CALLBACK_CHANGE_MODE_POLL_FD,
    LWS_CALLBACK_GET_THREAD_ID, LWS_CALLBACK_EVENT_WAIT_CANCELLED:
    return 0
  default:
    server.loop.served()
    return server.handle(reason, wsi, bytes) ? 0 : -1
  }
}

extension WebServer {
  /// False closes the connection.
  fileprivate func handle(
    _ reason: lws_callback_reasons, _ wsi: OpaquePointer, _ bytes: UnsafeRawBufferPointer
  ) -> Bool {
    switch reason {
    case LWS_CALLBACK_RAW_RX_FILE:
      isReadable(wsi)
    case LWS_CALLBACK_SERVER_NEW_CLIENT_INSTANTIATED:
      connectionOpened(wsi)
    case LWS_CALLBACK_WSI_DESTROY:
      connectionGone(wsi)
    case LWS_CALLBACK_RAW_CONNECTED, LWS_CALLBACK_RAW_ADOPT, LWS_CALLBACK_RAW_RX:
      // What a CONNECT becomes: a connection that has no time limit.
      otchat_lws_kill(wsi)

    case LWS_CALLBACK_HTTP:
      return begin(wsi, path: String(decoding: bytes, as: UTF8.self))
    case LWS_CALLBACK_HTTP_BODY:
      exchanges[wsi]?.request.body.append(contentsOf: bytes)
    case LWS_CALLBACK_HTTP_BODY_COMPLETION:
      guard let exchange = exchanges.removeValue(forKey: wsi) else { return true }
      awaitedBodies.remove(wsi)
      return answer(wsi, exchange)
    case LWS_CALLBACK_TIMER:
      return !awaitedBodies.contains(wsi)
    case LWS_CALLBACK_HTTP_WRITEABLE:
      return writable(wsi)
    case LWS_CALLBACK_CLOSED_HTTP:
      exchanges[wsi] = nil
      downloads[wsi] = nil
      heldResponses[wsi] = nil

    case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE:
      return confirmUpgrade(wsi)
    case LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION:
      return upgrades[wsi] != nil
    case LWS_CALLBACK_ESTABLISHED:
      return open(wsi)
    case LWS_CALLBACK_RECEIVE:
      return receive(wsi, bytes)
    case LWS_CALLBACK_SERVER_WRITEABLE:
      return sockets[wsi]?.write(scratch: &scratch) ?? true
    case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
      sockets[wsi]?.peerCloses(bytes)
      // Under TLS the connection itself lives on until the peer shuts it down.
      closed(wsi)
    case LWS_CALLBACK_CLOSED:
      closed(wsi)
    default:
      break
    }
    return true
  }

  private func open(_ wsi: OpaquePointer) -> Bool {
    guard let request = upgrades.removeValue(forKey: wsi) else { return false }
    awaitedBodies.remove(wsi)
    let socket = WebSocket(id: nextSocketID, request: request, wsi: wsi, limits: configuration.limits)
    nextSocketID += 1
    sockets[wsi] = socket
    handlers.opened(socket)
    return true
  }

  private func closed(_ wsi: OpaquePointer) {
    guard let socket = sockets.removeValue(forKey: wsi) else { return }
    socket.isClosed()
    handlers.closed(socket, socket.end)
  }

  private func receive(_ wsi: OpaquePointer, _ bytes: UnsafeRawBufferPointer) -> Bool {
    guard let socket = sockets[wsi] else { return false }
    switch socket.receive(bytes) {
    case .nothing: return true
    case .refused: return false
    case .message(let message):
      handlers.message(socket, message)
      return true
    }
  }
}
