/// A bounded queue between two threads. What happens when it is full is its owner's choice and counted.
///
/// The taker may block (`take`) or be woken by its own means (`wake`, called outside the lock by the
/// thread that put the first element into an empty mailbox) and then `drain`. Public for the same reason as
/// `Lock`.
public final class Mailbox<Element: Sendable>: Sendable {
  /// What a full mailbox gives up. Audio drops the oldest; video frames that refer to each other must
  /// drop the newest and ask for a key frame.
  @usableFromInline package enum Overflow: Sendable {
    case dropOldest, dropNewest
  }

  @usableFromInline struct State {
    @usableFromInline var elements: [Element] = []
    @usableFromInline var dropped = 0
    @usableFromInline var closed = false
  }

  @usableFromInline let capacity: Int
  @usableFromInline let overflow: Overflow
  @usableFromInline let state = Lock(State())
  @usableFromInline let semaphore = Semaphore()
  @usableFromInline let wake: (@Sendable () -> Void)?

  package init(capacity: Int, overflow: Overflow, wake: (@Sendable () -> Void)? = nil) {
    self.capacity = max(1, capacity)
    self.overflow = overflow
    self.wake = wake
  }

  /// How many elements have been given up so far.
  package var dropped: Int { state.withLock { $0.dropped } }

  package var isClosed: Bool { state.withLock { $0.closed } }

  /// False if an element (this one, or the oldest) was given up, or the mailbox is closed.
  @discardableResult
  @inlinable public func put(_ element: Element) -> Bool {
    let (accepted, first) = state.withLock { state -> (Bool, Bool) in
      guard !state.closed else { return (false, false) }
      if state.elements.count >= capacity {
        state.dropped += 1
        if overflow == .dropNewest { return (false, false) }
        state.elements.removeFirst()
        state.elements.append(element)
        return (false, false)
      }
      state.elements.append(element)
      return (true, state.elements.count == 1)
    }
    if first {
      semaphore.post()
      wake?()
    }
    return accepted
  }

  /// Everything that is there, oldest first, without waiting.
  @inlinable public func drain() -> [Element] {
    state.withLock { state in
      let elements = state.elements
      state.elements = []
      return elements
    }
  }

  /// Everything that is there, waiting for the first element until `deadline`. Empty if time is up or
  /// the mailbox was closed.
  package func take(until deadline: Instant) -> [Element] {
    while true {
      let (elements, closed) = state.withLock { state -> ([Element], Bool) in
        let elements = state.elements
        state.elements = []
        return (elements, state.closed)
      }
      if !elements.isEmpty || closed { return elements }
      if !semaphore.wait(until: deadline) { return drain() }
    }
  }

  /// Nothing more is taken in; a waiting taker returns at once.
  package func close() {
    state.withLock { $0.closed = true }
    semaphore.post()
    wake?()
  }
}
