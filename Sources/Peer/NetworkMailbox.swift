import Base
import Synchronization

/// A bounded queue from any thread to the network thread that never touches Swift's shared pool: what
/// carries encoded frames from media threads to their peer connections.
package final class NetworkMailbox<Element: Sendable>: Sendable {
  private let mailbox: Mailbox<Element>
  private let receive: @NetworkActor @Sendable (Element) -> Void
  private let isScheduled = Atomic<Bool>(false)

  /// - Parameter receive: called on the network thread with each element in order.
  package init(
    capacity: Int, overflow: Mailbox<Element>.Overflow,
    receive: @escaping @NetworkActor @Sendable (Element) -> Void
  ) {
    mailbox = Mailbox(capacity: capacity, overflow: overflow)
    self.receive = receive
  }

  /// How many elements have been given up so far.
  package var dropped: Int { mailbox.dropped }

  /// False if an element (this one, or the oldest) was given up, or the mailbox is closed.
  @discardableResult
  package func put(_ element: Element) -> Bool {
    let accepted = mailbox.put(element)
    if !isScheduled.exchange(true, ordering: .acquiringAndReleasing) {
      NetworkActor.performMedia { self.drain() }
    }
    return accepted
  }

  /// Nothing more is taken in, and what has not been received yet is dropped.
  package func close() {
    mailbox.close()
    _ = mailbox.drain()
  }

  @NetworkActor private func drain() {
    isScheduled.store(false, ordering: .sequentiallyConsistent)
    for element in mailbox.drain() { receive(element) }
  }
}
