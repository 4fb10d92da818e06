import Glibc

/// A value that one thread at a time may touch. On a pthread mutex and not on `Synchronization.Mutex`,
/// which hands over in the kernel when two threads meet, out of the thread sanitizer's sight: every such
/// meeting would be reported as a race.
///
/// Never a bare function: each `withLock` would convert it to the generic form and back and store it
/// wrapped once more, until calling it overflows the stack. Put it into a struct (`make lint` looks).
package struct Lock<Value>: ~Copyable, @unchecked Sendable {
  // Safe to share: `value` is touched only while `mutex` is held; both pointers never change until deinit,
  // when nobody else can hold the lock.
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private let value: UnsafeMutablePointer<Value>

  package init(_ initial: sending Value) {
    mutex = .allocate(capacity: 1)
    pthread_mutex_init(mutex, nil)
    value = .allocate(capacity: 1)
    value.initialize(to: initial)
  }

  deinit {
    value.deinitialize(count: 1)
    value.deallocate()
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  package borrowing func withLock<Result, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body(&value.pointee)
  }
}
