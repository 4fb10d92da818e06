import Glibc

/// A socket to a server for a thread of our own that may block.
struct BlockingSocket: ~Copyable {
  /// Why there is none, for people.
  struct Failure: Error {
    let text: String
  }

  private static let maximumAddresses = 4

  let descriptor: Int32

  /// - Parameters:
  ///   - isStream: TCP, else UDP.
  ///   - limit: seconds for the connection, and then for each reading and writing.
  init(to host: String, port: UInt16, isStream: Bool, limit: Int) throws(Failure) {
    var hints = addrinfo()
    hints.ai_socktype = Int32((isStream ? SOCK_STREAM : SOCK_DGRAM).rawValue)
    var list: UnsafeMutablePointer<addrinfo>?
    let status = getaddrinfo(host, "\(port)", &hints, &list)
    guard status == 0 else { throw Failure(text: "its name: \(String(cString: gai_strerror(status)))") }
    defer { freeaddrinfo(list) }
    var next = list
    var tried = 0
    var reason = "no address"
    while let entry = next?.pointee, tried < Self.maximumAddresses {
      next = entry.ai_next
      tried += 1
      let descriptor = socket(entry.ai_family, entry.ai_socktype | Int32(SOCK_CLOEXEC.rawValue), 0)
      guard descriptor >= 0 else { continue }
      // Holds for connect(2) too.
      Self.setLimits(descriptor, seconds: limit)
      if Glibc.connect(descriptor, entry.ai_addr, entry.ai_addrlen) == 0 {
        self.descriptor = descriptor
        return
      }
      // A connection that takes too long.
      reason = errno == EINPROGRESS ? "no answer within \(limit) s" : String(cString: strerror(errno))
      close(descriptor)
    }
    throw Failure(text: reason)
  }

  deinit { close(descriptor) }

  static func setLimits(_ descriptor: Int32, seconds: Int) {
    var limit = timeval(tv_sec: seconds, tv_usec: 0)
    let size = socklen_t(MemoryLayout<timeval>.size)
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, size)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, size)
    var on: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
  }

  /// For a thread that writes by OpenSSL, which does it with write(2).
  static func blockBrokenPipes() {
    var pipe = sigset_t()
    sigemptyset(&pipe)
    sigaddset(&pipe, SIGPIPE)
    pthread_sigmask(SIG_BLOCK, &pipe, nil)
  }
}
