import Base
import Glibc

/// An HTTP server on a free loopback port that keeps what it is sent and answers with the statuses it is
/// given, the last one for ever.
package final class HTTPReceiver: Sendable {
  package struct Request: Sendable {
    package var head: String
    package var body: [UInt8]
    /// What it was answered.
    package var status: Int
  }

  package let port: Int
  private let listener: Int32
  private let state: Lock<State>

  private struct State {
    var statuses: [Int]
    var requests: [Request] = []
  }

  package var requests: [Request] { state.withLock { $0.requests } }
  package var url: String { "http://127.0.0.1:\(port)" }

  package init(statuses: [Int]) throws {
    state = Lock(State(statuses: statuses))
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let status = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
        bind(listener, generic, size) + listen(listener, 16) + getsockname(listener, generic, &size)
      }
    }
    guard status == 0 else { throw Failure() }
    port = Int(UInt16(bigEndian: address.sin_port))
    self.listener = listener
    _ = MediaThread(name: "receiver") { [self] in
      while true {
        let client = accept(listener, nil, nil)
        guard client >= 0 else { break }
        serve(client)
        close(client)
      }
      close(listener)
    }
  }

  package struct Failure: Error {}

  /// Refuses connections from now on.
  package func stop() { shutdown(listener, Int32(SHUT_RDWR)) }

  private func serve(_ client: Int32) {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 16 << 10)
    while true {
      if let request = Self.parse(bytes) {
        let status = state.withLock { state in
          let status = state.statuses.count > 1 ? state.statuses.removeFirst() : state.statuses[0]
          state.requests.append(Request(head: request.head, body: request.body, status: status))
          return status
        }
        let answer = [UInt8]("HTTP/1.1 \(status) Test\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".utf8)
        send(client, answer, answer.count, Int32(MSG_NOSIGNAL))
        return
      }
      let count = recv(client, &buffer, buffer.count, 0)
      guard count > 0 else { return }
      bytes += buffer[..<count]
    }
  }

  /// Nil as long as there is less than a whole request.
  private static func parse(_ bytes: [UInt8]) -> (head: String, body: [UInt8])? {
    guard let end = bytes.firstRange(of: [13, 10, 13, 10]) else { return nil }
    let head = String(decoding: bytes[..<end.lowerBound], as: UTF8.self)
    let length =
      head.lowercased().split(separator: "\r\n").first { $0.hasPrefix("content-length:") }
      .flatMap { Int($0.dropFirst(15).drop { $0 == " " }) } ?? 0
    guard bytes.count >= end.upperBound + length else { return nil }
    return (head, Array(bytes[end.upperBound..<end.upperBound + length]))
  }
}
