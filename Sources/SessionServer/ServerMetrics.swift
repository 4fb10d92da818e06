/// Counters of the server's life, and their text for Prometheus (exposition format 0.0.4).
struct ServerMetrics {
  private(set) var answers: [Int: Int] = [:]
  var messagesReceived = 0
  var messagesSent = 0
  var socketsOpened = 0
  /// From a message's arrival until everything that it leads to has been handed to the sockets.
  var messageTimes = DurationHistogram()
  /// Of sessions to the state directory; nobody waits for them.
  var writeTimes = DurationHistogram()

  mutating func count(_ response: HTTPResponse) { answers[response.status, default: 0] += 1 }

  /// What is there now.
  struct Gauges {
    var sessions = 0
    var connections = 0
    var streams = 0
    var webSockets = 0
    var tcpConnections = 0
    var archives: [String: Int] = [:]
    var uptimeSeconds = 0.0
  }

  func text(_ gauges: Gauges) -> String {
    var lines: [String] = []
    func add(_ name: String, _ type: String, _ help: String, _ values: [(labels: String, value: String)]) {
      lines += ["# HELP otchat_\(name) \(help)", "# TYPE otchat_\(name) \(type)"]
      lines += values.map { "otchat_\(name)\($0.labels) \($0.value)" }
    }
    add("sessions", "gauge", "Sessions with somebody in them.", [("", "\(gauges.sessions)")])
    add("connections", "gauge", "Clients in sessions.", [("", "\(gauges.connections)")])
    add("streams", "gauge", "Published streams.", [("", "\(gauges.streams)")])
    add("websockets", "gauge", "Open WebSockets.", [("", "\(gauges.webSockets)")])
    add("tcp_connections", "gauge", "Open TCP connections.", [("", "\(gauges.tcpConnections)")])
    add("websockets_opened_total", "counter", "WebSockets opened so far.", [("", "\(socketsOpened)")])
    add(
      "messages_received_total", "counter", "Signalling messages from clients.", [("", "\(messagesReceived)")]
    )
    add("messages_sent_total", "counter", "Signalling messages to clients.", [("", "\(messagesSent)")])
    add(
      "http_requests_total", "counter", "Answered requests by status.",
      answers.sorted { $0.key < $1.key }.map { ("{code=\"\($0.key)\"}", "\($0.value)") })
    add(
      "archives", "gauge", "Archives by status.",
      gauges.archives.sorted { $0.key < $1.key }.map { ("{status=\"\($0.key)\"}", "\($0.value)") })
    add(
      "message_seconds", "histogram",
      "From a signalling message's arrival until all it leads to is on its way.",
      [])
    lines += messageTimes.lines("otchat_message_seconds")
    add("session_write_seconds", "histogram", "Writing sessions that have changed to the disk.", [])
    lines += writeTimes.lines("otchat_session_write_seconds")
    add("uptime_seconds", "gauge", "Time since the start.", [("", "\(gauges.uptimeSeconds)")])
    return lines.joined(separator: "\n") + "\n"
  }
}
