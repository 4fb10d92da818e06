import Base
import CWebSockets
import Glibc

/// The thread on which libwebsockets serves all client connections; started by the first one, immortal.
final class WebSocketService: @unchecked Sendable {
  // Safe to share: `commands` and `nextID` are locked, `context` is written once before `shared` is
  // visible, and everything else is touched by the service thread only, in callbacks of `lws_service`.
  static let shared = WebSocketService()

  enum Command: Sendable {
    case connect(
      UInt, ServerURL, TLSTrust, WebSocketClient.SharedState, @Sendable (WebSocketClient.Event) -> Void)
    case resolved(UInt, Result<[String], OpenTokError>)
    case send(UInt, [UInt8])
    case close(UInt, Int)
    case abort(UInt)
  }

  private struct Connection {
    let url: ServerURL
    let trust: TLSTrust
    let shared: WebSocketClient.SharedState
    let events: @Sendable (WebSocketClient.Event) -> Void
    var addresses: [String] = []
    /// Counts the addresses that were tried.
    var attempt = 0
    var socket: OpaquePointer?
    var isOpen = false
    var outgoing: [[UInt8]] = []
    var incoming: [UInt8] = []
    /// Set when the connection is to be closed by us.
    var closing: Int?
    /// From the peer's close frame.
    var closeCode = 1006
  }

  private let commands = Lock<[Command]>([])
  private let nextID = Lock<UInt>(1)
  private let context: OpaquePointer?
  private let protocols: UnsafeMutablePointer<lws_protocols>
  private var connections: [UInt: Connection] = [:]
  private var hosts: [(trust: TLSTrust, host: OpaquePointer)] = []
  /// Reused for every message: libwebsockets wants room before the payload.
  private var scratch: [UInt8] = []

  private init() {
    lws_set_log_level(LLL_ERR | LLL_WARN) { level, text in
      guard let text else { return }
      let line = String(cString: text)
      Log.debug("websocket", line.last == "\n" ? String(line.dropLast()) : line)
    }
    protocols = .allocate(capacity: 2)
    protocols.initialize(repeating: lws_protocols(), count: 2)
    protocols[0].name = UnsafePointer(strdup("rumor"))
    protocols[0].callback = { socket, reason, user, bytes, count in
      WebSocketService.shared.handle(socket, reason, UInt(bitPattern: user), bytes, count)
    }
    protocols[0].rx_buffer_size = 16384
    var info = lws_context_creation_info()
    info.port = -1
    info.options = UInt64(LWS_SERVER_OPTION_EXPLICIT_VHOSTS | LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT)
    info.gid = -1
    info.uid = -1
    context = lws_create_context(&info)
    guard context != nil else { return }
    _ = MediaThread(name: "websocket") {
      BrokenPipe.ignore()
      // Commands reach us through the callbacks of a virtual host, so there has to be one.
      let service = Self.shared
      _ = service.host(for: .system)
      while lws_service(service.context, 0) >= 0 {}
    }
  }

  func connect(
    to url: ServerURL, trust: TLSTrust, shared: WebSocketClient.SharedState,
    events: @escaping @Sendable (WebSocketClient.Event) -> Void
  ) -> UInt {
    let id = nextID.withLock { next in
      defer { next += 1 }
      return next
    }
    guard context != nil else {
      events(.failed(.systemFailure("libwebsockets cannot be initialised")))
      shared.isClosed.store(true, ordering: .releasing)
      return id
    }
    post(.connect(id, url, trust, shared, events))
    return id
  }

  func post(_ command: Command) {
    // Without one there is no thread that would take it.
    guard let context else { return }
    let isFirst = commands.withLock { commands in
      commands.append(command)
      return commands.count == 1
    }
    if isFirst { lws_cancel_service(context) }
  }

  // MARK: On the service thread

  private func runCommands() {
    let batch = commands.withLock { commands in
      defer { commands = [] }
      return commands
    }
    for command in batch {
      switch command {
      case .connect(let id, let url, let trust, let shared, let events):
        connections[id] = Connection(url: url, trust: trust, shared: shared, events: events)
        do throws(ThreadError) {
          _ = try MediaThread.start(name: "resolve") { [self] in
            post(.resolved(id, Resolver.addresses(of: url.hostName)))
          }
        } catch {
          end(id, .failed(OpenTokError(error)))
        }
      case .resolved(let id, .success(let addresses)):
        connections[id]?.addresses = addresses
        tryNextAddress(id, or: .hostNotFound(host: connections[id]?.url.hostName ?? ""))
      case .resolved(let id, .failure(let error)):
        end(id, .failed(error))
      case .send(let id, let message):
        connections[id]?.outgoing.append(message)
        wantToWrite(id)
      case .close(let id, let code):
        guard let connection = connections[id] else { continue }
        guard connection.isOpen, let socket = connection.socket else {
          abandon(id)
          continue
        }
        connections[id]?.closing = code
        lws_set_timeout(socket, PENDING_TIMEOUT_CLOSE_SEND, 2)
        wantToWrite(id)
      case .abort(let id):
        abandon(id)
      }
    }
  }

  private func wantToWrite(_ id: UInt) {
    guard let connection = connections[id], connection.isOpen, let socket = connection.socket else { return }
    lws_callback_on_writable(socket)
  }

  /// Ends a connection from our side, without a close frame.
  private func abandon(_ id: UInt) {
    guard let connection = connections[id] else { return }
    end(id, .closed(code: 1006))
    if let socket = connection.socket { kill(socket) }
  }

  private func end(_ id: UInt, _ event: WebSocketClient.Event) {
    guard let connection = connections.removeValue(forKey: id) else { return }
    connection.events(event)
    connection.shared.isClosed.store(true, ordering: .releasing)
  }

  private func tryNextAddress(_ id: UInt, or error: OpenTokError) {
    guard let connection = connections[id] else { return }
    guard let address = connection.addresses.first else { return end(id, .failed(error)) }
    connections[id]?.addresses.removeFirst()
    let attempt = connection.attempt + 1
    connections[id]?.attempt = attempt
    guard let host = host(for: connection.trust) else {
      return end(id, .failed(.certificateFileUnreadable(path: connection.trust.certificateFile ?? "")))
    }
    let url = connection.url
    let header = url.origin.split(separator: "/").last.map(String.init) ?? url.host
    var flags: UInt32 = 0
    if url.isSecure {
      flags = LCCSCF_USE_SSL.rawValue
      if connection.trust.insecure {
        flags |=
          LCCSCF_ALLOW_SELFSIGNED.rawValue | LCCSCF_SKIP_SERVER_CERT_HOSTNAME_CHECK.rawValue
          | LCCSCF_ALLOW_EXPIRED.rawValue | LCCSCF_ALLOW_INSECURE.rawValue
      }
    }
    withCStrings([address, url.target, header, "rumor"]) { strings in
      var info = lws_client_connect_info()
      info.context = context
      info.vhost = host
      info.address = strings[0]
      info.port = Int32(url.port)
      info.path = strings[1]
      info.host = strings[2]
      info.local_protocol_name = strings[3]
      info.ssl_connection = Int32(bitPattern: flags)
      info.ietf_version_or_minus_one = -1
      info.userdata = UnsafeMutableRawPointer(bitPattern: id)
      // A failure at once comes as CLIENT_CONNECTION_ERROR from inside this call, which goes on to the next
      // address, or else only as nil.
      let socket = lws_client_connect_via_info(&info)
      guard connections[id]?.attempt == attempt else { return }
      if socket != nil {
        connections[id]?.socket = socket
      } else {
        end(id, .failed(error))
      }
    }
  }

  /// The virtual host that carries a TLS context for `trust`; nil if its file holds no certificate.
  private func host(for trust: TLSTrust) -> OpaquePointer? {
    if let known = hosts.first(where: { $0.trust == trust }) { return known.host }
    guard let tls = SSL_CTX_new(TLS_client_method()) else { return nil }
    SSL_CTX_set_default_verify_paths(tls)
    if let file = trust.certificateFile, SSL_CTX_load_verify_locations(tls, file, nil) != 1 {
      ERR_clear_error()
      SSL_CTX_free(tls)
      return nil
    }
    var info = lws_context_creation_info()
    info.port = -1
    info.protocols = UnsafePointer(protocols)
    info.options = UInt64(LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT)
    info.provided_client_ssl_ctx = tls
    guard let host = lws_create_vhost(context, &info) else { return nil }
    hosts.append((trust, host))
    return host
  }

  private func handle(
    _ socket: OpaquePointer?, _ reason: lws_callback_reasons, _ id: UInt, _ bytes: UnsafeMutableRawPointer?,
    _ count: Int
  ) -> Int32 {
    switch reason {
    case LWS_CALLBACK_EVENT_WAIT_CANCELLED:
      runCommands()
    case LWS_CALLBACK_CLIENT_ESTABLISHED:
      // Given up in the meantime.
      guard connections[id] != nil else { return -1 }
      connections[id]?.socket = socket
      connections[id]?.isOpen = true
      connections[id]?.shared.localAddress.withLock { $0 = localAddress(of: socket) }
      connections[id]?.events(.opened)
      wantToWrite(id)
    case LWS_CALLBACK_CLIENT_RECEIVE:
      receive(socket, id, UnsafeRawBufferPointer(start: bytes, count: count))
    case LWS_CALLBACK_CLIENT_WRITEABLE:
      return write(socket, id)
    case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
      let payload = UnsafeRawBufferPointer(start: bytes, count: count)
      connections[id]?.closeCode = payload.count >= 2 ? Int(payload[0]) << 8 | Int(payload[1]) : 1005
    case LWS_CALLBACK_CLIENT_CONNECTION_ERROR:
      guard let connection = connections[id] else { break }
      let text = bytes.map {
        String(decoding: UnsafeRawBufferPointer(start: $0, count: count), as: UTF8.self)
      }
      let error = failure(connection, socket, text ?? "")
      connections[id]?.socket = nil
      if case .connectionRefused = error { tryNextAddress(id, or: error) } else { end(id, .failed(error)) }
    case LWS_CALLBACK_CLIENT_CLOSED:
      guard let connection = connections[id] else { break }
      end(id, .closed(code: connection.closing ?? connection.closeCode))
    case LWS_CALLBACK_WSI_DESTROY: destroyed(socket, id)
    default:
      break
    }
    return 0
  }

  /// What has been told as closed or failed is no connection of ours any more, or has another socket by now. A server
  /// that takes the request and does not answer for five seconds is told of in no other way.
  private func destroyed(_ socket: OpaquePointer?, _ id: UInt) {
    guard let connection = connections[id], let socket, connection.socket == socket else { return }
    connections[id]?.socket = nil
    if connection.isOpen { return end(id, .closed(code: 1006)) }
    if connection.addresses.isEmpty {
      let detail = "it takes connections and does not answer"
      return end(id, .failed(.unreachable(host: connection.url.hostName, detail: detail)))
    }
    // Not from in here, where libwebsockets is about to free the socket.
    post(.resolved(id, .success(connection.addresses)))
  }

  private func localAddress(of socket: OpaquePointer?) -> String? {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    return withUnsafeMutableBytes(of: &storage) { bytes in
      bytes.withMemoryRebound(to: sockaddr.self) { name -> String? in
        guard let address = name.baseAddress,
          getsockname(lws_get_socket_fd(socket), address, &length) == 0
        else { return nil }
        return Resolver.text(address, length)
      }
    }
  }

  /// Every piece is taken, wanted or not: of one that is refused libwebsockets keeps the length, and writes
  /// what still comes of that frame behind the end of its buffer.
  private func receive(_ socket: OpaquePointer?, _ id: UInt, _ piece: UnsafeRawBufferPointer) {
    // Given up in the meantime.
    guard var connection = connections.removeValue(forKey: id) else { return }
    guard connection.incoming.count + piece.count <= WebSocketClient.maximumMessageSize else {
      connection.events(.closed(code: 1009))
      connection.shared.isClosed.store(true, ordering: .releasing)
      kill(socket)
      return
    }
    connection.incoming += piece
    var message: [UInt8]?
    if lws_is_final_fragment(socket) != 0, lws_remaining_packet_payload(socket) == 0 {
      if lws_frame_is_binary(socket) != 0 { message = connection.incoming }
      connection.incoming = []
    }
    connections[id] = connection
    if let message { connection.events(.message(message)) }
  }

  /// Drops a connection at the next turn of the loop, without a close frame.
  private func kill(_ socket: OpaquePointer?) { lws_set_timeout(socket, PENDING_TIMEOUT_CLOSE_SEND, -1) }

  private func write(_ socket: OpaquePointer?, _ id: UInt) -> Int32 {
    guard let isIdle = connections[id]?.outgoing.isEmpty else { return -1 }
    guard !isIdle, let message = connections[id]?.outgoing.removeFirst() else {
      guard let code = connections[id]?.closing else { return 0 }
      lws_close_reason(socket, lws_close_status(UInt32(max(0, code))), nil, 0)
      return -1
    }
    connections[id]?.shared.queuedBytes.subtract(message.count, ordering: .relaxed)
    let room = Int(OTCHAT_LWS_PRE)
    scratch.removeAll(keepingCapacity: true)
    scratch.append(contentsOf: repeatElement(0, count: room))
    scratch += message
    let written = scratch.withUnsafeMutableBufferPointer { buffer in
      lws_write(socket, buffer.baseAddress.map { $0 + room }, message.count, LWS_WRITE_BINARY)
    }
    guard written >= message.count else { return -1 }
    if connections[id]?.outgoing.isEmpty == false || connections[id]?.closing != nil {
      lws_callback_on_writable(socket)
    }
    return 0
  }

  private func failure(_ connection: Connection, _ socket: OpaquePointer?, _ text: String) -> OpenTokError {
    let host = connection.url.hostName
    let lower = text.lowercased()
    Log.debug("websocket", "connecting to \(host) failed: \(text)")
    if CertificateProblem.isNoTLS(text) { return .notTLS(host: host, port: connection.url.port) }
    if lower.contains("cert") || lower.contains("ssl") || lower.contains("tls") {
      let result = socket.flatMap { lws_get_ssl($0) }.map { SSL_get_verify_result($0) } ?? 0
      return .tlsFailed(
        host: host, detail: result == 0 ? "the handshake failed" : CertificateProblem.text(result))
    }
    if lower.hasPrefix("hs:") { return .notWebSocket(url: connection.url.shown) }
    return .connectionRefused(host: host, port: connection.url.port)
  }
}

/// Runs `body` with the texts as C strings that live until it returns.
private func withCStrings(_ texts: [String], _ body: ([UnsafePointer<CChar>?]) -> Void) {
  let copies = texts.map { strdup($0) }
  defer { for copy in copies { free(copy) } }
  body(copies.map { $0.map { UnsafePointer($0) } })
}
