import Glibc

/// Writing to a file, pipe or terminal, to the last byte.
package enum DescriptorOutput {
  /// Writes all of it, in as many pieces as the descriptor takes.
  ///
  /// - Parameter patience: for how long a non-blocking descriptor may take nothing at all; nil: as long as it
  ///   likes, as a blocking one does in any case.
  /// - Returns: nil once all is written; else an errno, ETIMEDOUT where patience has ended.
  package static func write(
    _ bytes: [UInt8], to descriptor: Int32, patience: Duration? = .seconds(60)
  ) -> Int32? {
    var rest = bytes[...]
    var waitsSince: Instant?
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      let number = errno
      if count > 0 {
        rest = rest.dropFirst(count)
        waitsSince = nil
      } else if count == 0 {
        return EIO
      } else if number == EAGAIN {
        let now = MonotonicClock.now()
        let since = waitsSince ?? now
        waitsSince = since
        let left = patience.map { $0 - (now - since) } ?? .seconds(60)
        guard left > .zero else { return ETIMEDOUT }
        var one = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        // At least one millisecond, or the rest of the last one would be waited for by writing again and again.
        _ = poll(&one, 1, Int32(clamping: max(1, left.nanoseconds / 1_000_000)))
      } else if number != EINTR {
        return number
      }
    }
    return nil
  }

  package static func write(
    _ text: String, to descriptor: Int32, patience: Duration? = .seconds(60)
  ) -> Int32? {
    write(Array(text.utf8), to: descriptor, patience: patience)
  }
}
