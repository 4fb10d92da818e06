import Base
import Glibc

/// A TCP proxy on loopback whose connections can be cut, and that can turn new ones away.
package final class TCPProxy: Sendable {
  package let port: Int
  private let listener: Int32
  private let target: Int

  private struct State {
    var open: [Int32] = []
    var refuses = false
    var accepted = 0
  }

  private let state = Lock(State())

  package var accepted: Int { state.withLock { $0.accepted } }

  package init(to target: Int) throws {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = Self.loopback(0)
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let status = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, size) + listen(listener, 16) + getsockname(listener, $0, &size)
      }
    }
    guard status == 0 else { throw Failure() }
    self.listener = listener
    self.target = target
    port = Int(UInt16(bigEndian: address.sin_port))
    _ = MediaThread(name: "proxy") { [self] in
      while true {
        let client = accept(listener, nil, nil)
        guard client >= 0 else { return }
        serve(client)
      }
    }
  }

  package struct Failure: Error {}

  /// Resets all connections.
  package func cut() {
    state.withLock { state in
      for descriptor in state.open { shutdown(descriptor, Int32(SHUT_RDWR)) }
    }
  }

  package func refuse(_ refuses: Bool) { state.withLock { $0.refuses = refuses } }

  package func stop() {
    shutdown(listener, Int32(SHUT_RDWR))
    cut()
  }

  private func serve(_ client: Int32) {
    let refuses = state.withLock { state in
      state.accepted += 1
      return state.refuses
    }
    let server = refuses ? -1 : socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = Self.loopback(target)
    let connected = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(server, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard connected == 0 else {
      close(client)
      close(server)
      return
    }
    state.withLock { $0.open += [client, server] }
    let done = Done()
    for (from, to) in [(client, server), (server, client)] {
      _ = MediaThread(name: "proxy pump") { [self] in
        var buffer = [UInt8](repeating: 0, count: 16384)
        while true {
          let count = recv(from, &buffer, buffer.count, 0)
          guard count > 0, send(to, buffer, count, Int32(MSG_NOSIGNAL)) == count else { break }
        }
        shutdown(from, Int32(SHUT_RDWR))
        shutdown(to, Int32(SHUT_RDWR))
        if done.isLast {
          state.withLock { $0.open.removeAll { $0 == client || $0 == server } }
          close(client)
          close(server)
        }
      }
    }
  }

  /// Whether both directions have ended.
  private final class Done: Sendable {
    private let ends: Lock<Int> = Lock(0)
    var isLast: Bool {
      ends.withLock {
        $0 += 1; return $0 == 2
      }
    }
  }

  private static func loopback(_ port: Int) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return address
  }
}
