import Base
import CWebSockets
import Glibc

/// An HTTP, WebSocket and TLS server on libwebsockets.
///
/// Confined to a `ServiceLoop`: made, used and closed in an actor that has the loop as its executor;
/// handlers are called there. One lives on a loop at a time.
package final class WebServer {
  package struct Limits: Sendable {
    /// Beyond it requests are answered with 503 and new connections at last not taken.
    package var connections = 1000
    /// Of one remote address (of IPv6, its /64), so that nobody takes all there are; beyond it requests are
    /// answered with 429, and new connections at last not taken.
    package var connectionsOfOneHost = 400
    /// Loopback addresses have no such limit: they are this machine's own programs, or those for whom a proxy
    /// on it speaks.
    package var exemptsLoopback = true
    /// A larger request body is answered with 413.
    package var bodyBytes = 64 << 10
    /// Who needs longer to send a body is cut off.
    package var bodyDuration = Duration.seconds(30)
    /// A larger WebSocket message closes the socket with 1009.
    package var messageBytes = 256 << 10
    /// A WebSocket whose reader leaves more than this unread is cut off. A session's state and all that a
    /// lost connection is sent again have to fit in at once.
    package var queuedBytes = 5 << 20
    /// How long a Close frame may take to get out.
    package var closeSeconds: Int32 = 3
    /// A WebSocket is pinged when nothing came for so long, and given up after twice the time.
    package var pingSeconds: UInt16 = 15

    package init() {}
  }

  package struct Configuration: Sendable {
    package var host = "127.0.0.1"
    /// 0 takes a free one.
    package var port = 8080
    package var certificate: CertificateFiles?
    package var limits = Limits()

    package init() {}
  }

  package struct Handlers {
    /// Answers a request whose body is complete.
    package var request: (HTTPRequest) -> HTTPResponse
    /// Says why a WebSocket is not to be opened; nil opens it.
    package var refusal: (HTTPRequest) -> HTTPResponse?
    package var opened: (WebSocket) -> Void
    package var message: (WebSocket, [UInt8]) -> Void
    package var closed: (WebSocket, WebSocketEnd) -> Void
    /// The time set by `wake(at:)` has come.
    package var timer: () -> Void
    /// An answer waits (`HTTPResponse.isHeld`): `release` lets it go, by this number.
    package var held: (Int) -> Void

    package init(
      request: @escaping (HTTPRequest) -> HTTPResponse,
      refusal: @escaping (HTTPRequest) -> HTTPResponse? = { _ in .failure(404, "not found") },
      opened: @escaping (WebSocket) -> Void = { _ in },
      message: @escaping (WebSocket, [UInt8]) -> Void = { _, _ in },
      closed: @escaping (WebSocket, WebSocketEnd) -> Void = { _, _ in },
      timer: @escaping () -> Void = {},
      held: @escaping (Int) -> Void = { _ in }
    ) {
      self.held = held
      self.request = request
      self.refusal = refusal
      self.opened = opened
      self.message = message
      self.closed = closed
      self.timer = timer
    }
  }

  package let configuration: Configuration
  /// TCP connections now, HTTP and WebSocket.
  package var connectionCount: Int { connections.all }

  let handlers: Handlers
  var exchanges: [OpaquePointer: HTTPExchange] = [:]
  var upgrades: [OpaquePointer: HTTPRequest] = [:]
  var downloads: [OpaquePointer: Download] = [:]
  var heldResponses: [OpaquePointer: HeldResponse] = [:]
  var heldResponseCount = 0
  /// Whose body has to be complete when their timer fires.
  var awaitedBodies: Set<OpaquePointer> = []
  private(set) var connections: ConnectionCount
  /// Whose connection is being taken.
  private var acceptedHost = RemoteHost(address: [])
  var sockets: [OpaquePointer: WebSocket] = [:]
  var nextSocketID = 1
  var scratch: [UInt8] = []

  let loop: ServiceLoop
  private let listening: ListeningSocket
  private let memory: ContextMemory
  private var context: OpaquePointer?
  /// Called when a descriptor has something to read; the first is the listening socket.
  private var watched: [OpaquePointer: () -> Void] = [:]
  /// Given up to take and drop a connection when the process has no descriptor left; otherwise the
  /// listening socket stays readable and the loop would spin.
  private var spareDescriptor = Glibc.open("/dev/null", O_RDONLY | O_CLOEXEC)
  private var lackedDescriptors: Instant?
  /// A lack that goes on is told once.
  private static let lackSilence = Duration.seconds(60)
  private static let lackPause: UInt32 = 2000  // microseconds
  /// Connections of one host above its limit that are taken to be refused.
  private static let answeredAboveHostLimit = 8

  /// Binds the port, from any thread: what can go wrong with a configuration goes wrong here.
  package static func listen(
    _ configuration: Configuration
  ) throws(WebServerError) -> ListeningSocket {
    try configuration.certificate?.check()
    return try ListeningSocket(host: configuration.host, port: configuration.port)
  }

  /// Serves from now on and stays up until `close()`. On the loop's thread.
  package init(
    loop: ServiceLoop, configuration: Configuration, listening: consuming ListeningSocket, handlers: Handlers
  ) throws(WebServerError) {
    self.loop = loop
    self.configuration = configuration
    self.handlers = handlers
    connections = ConnectionCount(configuration.limits)
    self.listening = listening
    memory = ContextMemory(configuration)
    try open()
    loop.serve(context)
  }

  /// The open WebSockets.
  package var webSockets: [WebSocket] { Array(sockets.values) }

  /// Calls the timer handler at `instant`, in place of the time set before; nil: never.
  package func wake(at instant: Instant?) {
    guard let context else { return }
    guard let instant else {
      lws_sul_cancel(&memory.timer.pointee.entry)
      return
    }
    let microseconds = max(1, (instant - MonotonicClock.now()).nanoseconds / 1000)
    lws_sul_schedule(context, 0, &memory.timer.pointee.entry, timerFired, microseconds)
  }

  /// Calls `readable` whenever a descriptor has something to read, until `stopListening()`. The caller
  /// goes on owning the descriptor.
  func watch(_ descriptor: Int32, _ readable: @escaping () -> Void) -> Bool {
    guard let context, let host = lws_get_vhost_by_name(context, "default") else { return false }
    var copy = lws_sock_file_fd_type()
    copy.filefd = dup(descriptor)
    guard copy.filefd >= 0 else { return false }
    _ = fcntl(copy.filefd, F_SETFD, FD_CLOEXEC)
    guard let wsi = lws_adopt_descriptor_vhost(host, LWS_ADOPT_RAW_FILE_DESC, copy, "web", nil) else {
      return false
    }
    watched[wsi] = readable
    return true
  }

  func isReadable(_ wsi: OpaquePointer) { watched[wsi]?() }

  /// Takes no more connections.
  package func stopListening() {
    watched.keys.forEach { otchat_lws_kill($0) }
  }

  /// Drops every connection and frees the port. No handler is called any more. Not inside a handler.
  package func close() {
    guard let context else { return }
    self.context = nil
    loop.serve(nil)
    lws_sul_cancel(&memory.timer.pointee.entry)
    sockets.values.forEach { $0.isClosed() }
    sockets = [:]
    exchanges = [:]
    upgrades = [:]
    downloads = [:]
    heldResponses = [:]
    awaitedBodies = []
    connections = ConnectionCount(configuration.limits)
    contextLock.withLock { _ in lws_context_destroy(context) }
    memory.free()
    if spareDescriptor >= 0 { Glibc.close(spareDescriptor) }
    Unmanaged.passUnretained(self).release()
  }

  /// libwebsockets keeps a reference to this object until `close()`.
  private func open() throws(WebServerError) {
    memory.info.user = Unmanaged.passRetained(self).toOpaque()
    memory.timer.pointee.server = memory.info.user
    lws_set_log_level(0, nil)
    context = OpaquePointer(
      bitPattern: contextLock.withLock { _ in UInt(bitPattern: lws_create_context(&memory.info)) })
    guard context != nil, watch(listening.descriptor, { [unowned self] in acceptConnections() }) else {
      abandon()
      throw .outOfResources
    }
  }

  private func abandon() {
    if let context { contextLock.withLock { _ in lws_context_destroy(context) } }
    context = nil
    memory.free()
    Unmanaged.passUnretained(self).release()
  }

  /// Takes the connections that have come.
  func acceptConnections() {
    guard let context, let host = lws_get_vhost_by_name(context, "default") else { return }
    for _ in 0..<64 {
      switch listening.accept() {
      case .none: return
      case .outOfDescriptors:
        return dropForLackOfDescriptors()
      case .connection(let descriptor, let remote):
        // A few above each limit are taken: they get an answer.
        if connectionCount >= configuration.limits.connections + ContextMemory.connectionsAboveLimit
          || connections.excess(of: remote) >= Self.answeredAboveHostLimit
        {
          Glibc.close(descriptor)
        } else {
          acceptedHost = remote
          lws_adopt_socket_vhost(host, descriptor)
        }
      }
    }
  }

  private func dropForLackOfDescriptors() {
    let now = MonotonicClock.now()
    if lackedDescriptors.map({ now - $0 >= Self.lackSilence }) ?? true {
      Log.warning(
        "web", "no descriptor is left (\(connectionCount) connections): new ones are dropped; see ulimit -n")
    }
    lackedDescriptors = now
    if spareDescriptor >= 0 { Glibc.close(spareDescriptor) }
    if case .connection(let descriptor, _) = listening.accept() { Glibc.close(descriptor) }
    spareDescriptor = Glibc.open("/dev/null", O_RDONLY | O_CLOEXEC)
    // Another thread was faster: until there is one again connections can only be left waiting.
    if spareDescriptor < 0 { usleep(Self.lackPause) }
  }

  func connectionOpened(_ wsi: OpaquePointer) {
    if connections.add(wsi, from: acceptedHost) {
      Log.warning("web", "more than \(configuration.limits.connectionsOfOneHost) connections of one address")
    }
  }

  func connectionGone(_ wsi: OpaquePointer) {
    watched[wsi] = nil
    awaitedBodies.remove(wsi)
    connections.remove(wsi)
    exchanges[wsi] = nil
    upgrades[wsi] = nil
    downloads[wsi] = nil
    heldResponses[wsi] = nil
  }
}

/// libwebsockets and OpenSSL count contexts in plain globals.
private let contextLock = Lock(())

private func timerFired(_ entry: UnsafeMutablePointer<lws_sorted_usec_list_t>?) {
  guard let entry else { return }
  let slot = UnsafeMutableRawPointer(entry).assumingMemoryBound(to: TimerSlot.self)
  guard let server = slot.pointee.server else { return }
  Unmanaged<WebServer>.fromOpaque(server).takeUnretainedValue().handlers.timer()
}
