import Base
import Glibc

/// Asks STUN and TURN servers whether they answer. Blocks: for threads of our own.
package enum ServerProbe {
  package enum Failure: Error, Equatable, Sendable {
    case unknownHost
    case noAnswer
    /// errno's text.
    case cannotConnect(String)
  }

  package struct Answer: Sendable, Equatable {
    package var roundTripTime: Duration
    /// How the server sees us; nil where only a connection was made (TCP, TLS).
    package var address: String?
  }

  /// - Parameter timeout: for the whole.
  package static func ask(_ server: ICEServerURL, timeout: Duration) -> Result<Answer, Failure> {
    var hints = addrinfo()
    hints.ai_socktype = Int32((server.transport == .udp ? SOCK_DGRAM : SOCK_STREAM).rawValue)
    var list: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(server.host, "\(server.port)", &hints, &list) == 0, let first = list else {
      return .failure(.unknownHost)
    }
    defer { freeaddrinfo(list) }
    let flags = Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    let descriptor = socket(first.pointee.ai_family, hints.ai_socktype | flags, 0)
    guard descriptor >= 0 else { return .failure(.cannotConnect(String(cString: strerror(errno)))) }
    defer { close(descriptor) }
    let began = MonotonicClock.now()
    if connect(descriptor, first.pointee.ai_addr, first.pointee.ai_addrlen) != 0, errno != EINPROGRESS {
      return .failure(.cannotConnect(String(cString: strerror(errno))))
    }
    return server.transport == .udp
      ? bind(descriptor, began, until: began + timeout) : open(descriptor, began, until: began + timeout)
  }

  /// Sends binding requests until one is answered.
  private static func bind(_ descriptor: Int32, _ began: Instant, until deadline: Instant) -> Result<
    Answer, Failure
  > {
    var generator = SystemGenerator()
    let binding = STUNBinding(using: &generator)
    var buffer = [UInt8](repeating: 0, count: 2048)
    var interval = Duration.milliseconds(250)
    while MonotonicClock.now() < deadline {
      let sent = MonotonicClock.now()
      _ = binding.request.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, 0) }
      let next = min(deadline, sent + interval)
      while wait(descriptor, POLLIN, until: next) {
        let count = recv(descriptor, &buffer, buffer.count, 0)
        if count < 0, errno == ECONNREFUSED { return .failure(.cannotConnect("connection refused")) }
        guard count > 0 else { break }
        if let address = buffer.withUnsafeBytes({ binding.address(in: .init(rebasing: $0[..<count])) }) {
          return .success(Answer(roundTripTime: MonotonicClock.now() - sent, address: address))
        }
      }
      interval = interval * 2
    }
    return .failure(.noAnswer)
  }

  private static func open(_ descriptor: Int32, _ began: Instant, until deadline: Instant) -> Result<
    Answer, Failure
  > {
    guard wait(descriptor, POLLOUT, until: deadline) else { return .failure(.noAnswer) }
    var number: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    guard getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &number, &size) == 0, number == 0 else {
      return .failure(.cannotConnect(String(cString: strerror(number))))
    }
    return .success(Answer(roundTripTime: MonotonicClock.now() - began, address: nil))
  }

  private static func wait(_ descriptor: Int32, _ events: Int32, until deadline: Instant) -> Bool {
    var one = pollfd(fd: descriptor, events: Int16(truncatingIfNeeded: events), revents: 0)
    let left = max(0, (deadline - MonotonicClock.now()).milliseconds.rounded(.up))
    return poll(&one, 1, Int32(clamping: Int(left))) > 0
  }
}
