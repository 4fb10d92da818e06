/// The TCP connections of a server and where they come from.
struct ConnectionCount {
  private let limits: WebServer.Limits
  private var hosts: [OpaquePointer: RemoteHost] = [:]
  private var counts: [RemoteHost: Int] = [:]

  init(_ limits: WebServer.Limits) { self.limits = limits }

  var all: Int { hosts.count }
  var connections: some Collection<OpaquePointer> { hosts.keys }

  /// - Returns: whether it is the first of its host above the limit.
  mutating func add(_ connection: OpaquePointer, from host: RemoteHost) -> Bool {
    hosts[connection] = host
    counts[host, default: 0] += 1
    return excess(of: host) == 1
  }

  mutating func remove(_ connection: OpaquePointer) {
    guard let host = hosts.removeValue(forKey: connection), let count = counts[host] else { return }
    counts[host] = count > 1 ? count - 1 : nil
  }

  /// How many there are above the limit of one host.
  func excess(of host: RemoteHost) -> Int {
    guard !(host.isLoopback && limits.exemptsLoopback) else { return 0 }
    return counts[host, default: 0] - limits.connectionsOfOneHost
  }

  /// Why a connection that was taken is to be told that there are too many; nil: there are not.
  func refusal(of connection: OpaquePointer) -> HTTPResponse? {
    if all > limits.connections { return .failure(503, "too many connections") }
    guard let host = hosts[connection], excess(of: host) > 0 else { return nil }
    return .failure(429, "too many connections from this address")
  }
}
