import Glibc

/// A value that one thread at a time may touch. On a pthread mutex and not on `Synchronization.Mutex`,
/// which hands over in the kernel when two threads meet, out of the thread sanitizer's sight: every such
/// meeting would be reported as a race.
///
/// Public, because only what is public can be inlined into other modules: media threads take several a packet,
/// and else each goes through generic code that asks the runtime for types.
///
/// Never a bare function: each `withLock` would convert it to the generic form and back and store it
/// wrapped once more, until calling it overflows the stack. Put it into a struct (`make lint` looks).
public struct Lock<Value>: ~Copyable, @unchecked Sendable {
  // Safe to share: `value` is touched only while `mutex` is held; both pointers never change until deinit,
  // when nobody else can hold the lock.
  @usableFromInline let mutex: UnsafeMutablePointer<pthread_mutex_t>
  @usableFromInline let value: UnsafeMutablePointer<Value>

  @inlinable public init(_ initial: sending Value) {
    mutex = .allocate(capacity: 1)
    pthread_mutex_init(mutex, nil)
    value = .allocate(capacity: 1)
    value.initialize(to: initial)
  }

  @inlinable deinit {
    value.deinitialize(count: 1)
    value.deallocate()
    pthread_mutex_destroy(mutex)
    mutex.deallocate()
  }

  @inlinable public borrowing func withLock<Result, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body(&value.pointee)
  }
}
