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
  private let lost: Lost

  /// Shared with the writing thread.
  private final class Lost: Sendable {
    let errno = Lock<Int32?>(nil)
  }

  /// - Parameters:
  ///   - descriptor: closed by `close`, unless it is standard output.
  ///   - failed: called once, on the writer's thread, with errno when nobody can be written to any more.
  package init(descriptor: Int32, failed: @escaping @Sendable (Int32) -> Void) {
    self.descriptor = descriptor
    let mailbox = Mailbox<JSON>(capacity: Self.capacity, overflow: .dropOldest)
    self.mailbox = mailbox
    thread = Lock(nil)
    let lost = Lost()
    self.lost = lost
    let writer = MediaThread(name: "events") {
      while true {
        let records = mailbox.take(until: MonotonicClock.now() + .seconds(60))
        if records.isEmpty, mailbox.isClosed { return }
        var bytes: [UInt8] = []
        for record in records {
          bytes += record.serialized()
          bytes.append(0x0A)
        }
        // Nobody else waits for the reader, so it may take as long as it likes.
        if let number = DescriptorOutput.write(bytes, to: descriptor, patience: nil) {
          mailbox.close()
          lost.errno.withLock { $0 = number }
          failed(number)
          return
        }
      }
    }
    thread.withLock { $0 = writer }
  }

  package var dropped: Int { mailbox.dropped }

  /// Why nothing can be written any more; an errno.
  package var loss: Int32? { lost.errno.withLock { $0 } }

  /// Any thread; never blocks.
  package func write(_ record: JSON) { mailbox.put(record) }

  /// Waits until everything is written, for two seconds at most.
  package func close() {
    mailbox.close()
    let isWritten = thread.withLock { $0.take() }?.join(until: MonotonicClock.now() + .seconds(2)) ?? true
    // A thread that still writes needs its descriptor, which then ends with the process.
    if isWritten, descriptor != STDOUT_FILENO { Glibc.close(descriptor) }
  }
}
