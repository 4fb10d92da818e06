import CWebSockets
import Glibc

/// What a libwebsockets context points to for as long as it lives.
final class ContextMemory {
  static let connectionsAboveLimit = 32

  var info = lws_context_creation_info()
  let timer = UnsafeMutablePointer<TimerSlot>.allocate(capacity: 1)
  private let protocols = UnsafeMutablePointer<lws_protocols>.allocate(capacity: 2)
  private let retry = UnsafeMutablePointer<lws_retry_bo_t>.allocate(capacity: 1)
  private var strings: [UnsafeMutablePointer<CChar>] = []

  init(_ configuration: WebServer.Configuration) {
    timer.initialize(to: TimerSlot())
    protocols.initialize(repeating: lws_protocols(), count: 2)
    protocols[0].name = text("web")
    protocols[0].callback = webServerCallback
    protocols[0].rx_buffer_size = 4096
    protocols[0].tx_packet_size = 64 << 10
    retry.initialize(to: lws_retry_bo_t())
    retry.pointee.secs_since_valid_ping = configuration.limits.pingSeconds
    retry.pointee.secs_since_valid_hangup = 2 * configuration.limits.pingSeconds

    info.port = CONTEXT_PORT_NO_LISTEN_SERVER
    info.protocols = UnsafePointer(protocols)
    info.retry_and_idle_policy = UnsafePointer(retry)
    info.server_string = text("otchat")
    info.options = OTCHAT_LWS_OPTION_NO_SYSTEM_STATES
    // Listener, wake-up pipe, and what libwebsockets adds.
    info.fd_limit_per_thread = UInt32(configuration.limits.connections + Self.connectionsAboveLimit + 8)
    info.max_http_header_data = 16 << 10
    // A whole TLS record, so that nothing of a request stays behind in OpenSSL.
    info.pt_serv_buf_size = 20 << 10
    info.timeout_secs = 10
    info.keepalive_timeout = 30
    if let certificate = configuration.certificate {
      info.options |= OTCHAT_LWS_OPTION_TLS | OTCHAT_LWS_OPTION_REDIRECT_TO_TLS
      info.ssl_cert_filepath = text(certificate.certificate)
      info.ssl_private_key_filepath = text(certificate.key)
      info.ssl_options_set = OTCHAT_TLS_1_2_AND_UP
      info.alpn = text("http/1.1")
    }
  }

  private func text(_ string: String) -> UnsafePointer<CChar>? {
    guard let copy = strdup(string) else { return nil }
    strings.append(copy)
    return UnsafePointer(copy)
  }

  /// Once the context is destroyed.
  func free() {
    timer.deallocate()
    protocols.deallocate()
    retry.deallocate()
    strings.forEach { Glibc.free($0) }
    strings = []
  }
}

/// What `timerFired` gets: the list entry first, so that both have one address.
struct TimerSlot {
  var entry = lws_sorted_usec_list_t()
  var server: UnsafeMutableRawPointer?
}
