import Base
import Glibc
import OpenTokProtocol

/// Writes JSON Lines on a thread of its own, so that a reader that is slow or stopped holds up nothing.
package final class EventWriter: Sendable {
  /// Lines that wait for the reader; then the oldest are given up, and `dropped` counts them.
  private static let capacity = 8192

  private let descriptor: Int32
  private let mailbox: Mailbox<JSON>
  private let thread: Lock<MediaThread?>

  /// - Parameters:
  ///   - descriptor: closed by `close`, unless it is standard output.
  ///   - failed: called once, on the writer's thread, with errno when nobody can be written to any more.
  package init(descriptor: Int32, failed: @escaping @Sendable (Int32) -> Void) {
    self.descriptor = descriptor
    let mailbox = Mailbox<JSON>(capacity: Self.capacity, overflow: .dropOldest)
    self.mailbox = mailbox
    thread = Lock(nil)
    let writer = MediaThread(name: "events") {
      while true {
        let records = mailbox.take(until: MonotonicClock.now() + .seconds(60))
        if records.isEmpty, mailbox.isClosed { return }
        var bytes: [UInt8] = []
        for record in records {
          bytes += record.serialized()
          bytes.append(0x0A)
        }
        if let number = Self.write(bytes, to: descriptor) {
          mailbox.close()
          failed(number)
          return
        }
      }
    }
    thread.withLock { $0 = writer }
  }

  package var dropped: Int { mailbox.dropped }

  /// Any thread; never blocks.
  package func write(_ record: JSON) { mailbox.put(record) }

  /// Waits until everything is written, for two seconds at most.
  package func close() {
    mailbox.close()
    _ = thread.withLock { $0.take() }?.join(until: MonotonicClock.now() + .seconds(2))
    if descriptor != STDOUT_FILENO { Glibc.close(descriptor) }
  }

  /// Nil, or errno.
  private static func write(_ bytes: [UInt8], to descriptor: Int32) -> Int32? {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count > 0 {
        rest = rest.dropFirst(count)
      } else if errno == EAGAIN {
        var one = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        _ = poll(&one, 1, 1000)
      } else if errno != EINTR {
        return errno
      }
    }
    return nil
  }
}
