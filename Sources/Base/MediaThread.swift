import CLinux
import Glibc

/// A thread of our own: media never runs on the shared pool, where a hop can wait behind CPU-bound tasks.
package struct MediaThread: Sendable {
  private let finished: Semaphore

  /// Starts a thread named `name` (at most 15 bytes are shown) that runs `body` to its end.
  package init(name: String, _ body: @escaping @Sendable () -> Void) {
    let finished = Semaphore()
    self.finished = finished
    let job = Job(name: name) {
      body()
      finished.post()
    }
    var thread = pthread_t()
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    pthread_attr_setstacksize(&attributes, 1 << 20)
    let status = pthread_create(
      &thread, &attributes,
      { raw in
        guard let raw else { return nil }
        let job = Unmanaged<Job>.fromOpaque(raw).takeRetainedValue()
        String(job.name.prefix(15)).withCString { otchat_set_thread_name($0) }
        job.body()
        return nil
      }, Unmanaged.passRetained(job).toOpaque())
    pthread_attr_destroy(&attributes)
    precondition(status == 0, "pthread_create: \(status)")
    pthread_detach(thread)
  }

  /// Waits for the body to return. False if `deadline` passed first. At most one caller.
  @discardableResult
  package func join(until deadline: Instant) -> Bool { finished.wait(until: deadline) }

  private final class Job: Sendable {
    let name: String
    let body: @Sendable () -> Void
    init(name: String, body: @escaping @Sendable () -> Void) {
      self.name = name
      self.body = body
    }
  }
}
