import CLinux

/// A counting semaphore that waits until an instant of the monotonic clock.
@usableFromInline package final class Semaphore: @unchecked Sendable {
  // Safe to share: POSIX semaphores may be posted and waited for from any thread, and the handle is
  // never changed between init and deinit.
  private let handle: OpaquePointer

  package init(value: UInt32 = 0) {
    handle = otchat_semaphore_new(value)
  }

  deinit { otchat_semaphore_free(handle) }

  @usableFromInline package func post() { otchat_semaphore_post(handle) }

  /// False if `deadline` passed first.
  package func wait(until deadline: Instant) -> Bool {
    otchat_semaphore_wait(handle, max(0, deadline.nanoseconds))
  }
}
