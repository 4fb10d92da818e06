import Glibc

enum BrokenPipe {
  /// Blocks SIGPIPE on the calling thread: OpenSSL writes to sockets whose other side may be gone, and a
  /// library may not change what the signal does to the whole process.
  static func ignore() {
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGPIPE)
    pthread_sigmask(SIG_BLOCK, &signals, nil)
  }
}
