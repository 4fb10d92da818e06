import Base

/// What is done to the disk, in the order in which it was asked for, on a thread of its own: a disk that takes
/// its time, or hangs, holds up nobody who speaks with the server.
final class DiskQueue: Sendable {
  private struct Job: Sendable {
    let body: @Sendable () -> Void
  }

  /// Without a limit: those who add jobs have one each, or wait for theirs.
  private let jobs = Mailbox<Job>(capacity: .max, overflow: .dropNewest)

  init() {
    let jobs = jobs
    _ = MediaThread(name: "session-disk") {
      while true {
        let batch = jobs.take(until: Instant(nanoseconds: .max))
        if batch.isEmpty, jobs.isClosed { return }
        for job in batch { job.body() }
      }
    }
  }

  deinit { jobs.close() }

  /// Any thread; does not wait.
  func add(_ body: @escaping @Sendable () -> Void) { jobs.put(Job(body: body)) }

  /// Behind everything that was added before.
  func run<Result: Sendable>(
    isolation: isolated (any Actor)? = #isolation, _ body: @escaping @Sendable () -> Result
  ) async -> Result {
    await withCheckedContinuation { continuation in add { continuation.resume(returning: body()) } }
  }

  /// Waits until all that was added before is done, at most so long.
  func finish(within limit: Duration) async {
    let isDone = Lock(false)
    add { isDone.withLock { $0 = true } }
    let deadline = MonotonicClock.now() + limit
    while !isDone.withLock({ $0 }) {
      guard MonotonicClock.now() < deadline else {
        return Log.error("serve", "the disk does not answer: what was to be written last is lost")
      }
      try? await Task.sleep(for: .milliseconds(5))
    }
  }
}
