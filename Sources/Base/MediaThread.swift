import CLinux
import Glibc

/// A thread of our own: media never runs on the shared pool, where a hop can wait behind CPU-bound tasks.
package struct MediaThread: Sendable {
  private static let stack = 1 << 20
  private let finished: Semaphore

  /// Starts a thread named `name` (at most 15 bytes are shown) that runs `body` to its end. Without it nothing
  /// goes on: where the system gives none, the process ends and says so.
  package init(name: String, _ body: @escaping @Sendable () -> Void) {
    self.init(name: name, stack: Self.stack, body)
  }

  /// - Parameter stack: its size in bytes.
  init(name: String, stack: Int, _ body: @escaping @Sendable () -> Void) {
    do throws(ThreadError) {
      self = try Self.start(name: name, stack: stack, body)
    } catch {
      ThreadError.endProcess(because: error.message)
    }
  }

  /// The same where only what was asked for fails without one. For all threads that exist because a peer wants
  /// something.
  package static func start(
    name: String, _ body: @escaping @Sendable () -> Void
  ) throws(ThreadError) -> MediaThread {
    try start(name: name, stack: stack, body)
  }

  /// What takes a moment, aside: on a thread of its own, or where there is none left here and now.
  package static func runAside(name: String, _ body: @escaping @Sendable () -> Void) {
    if (try? start(name: name, body)) == nil { body() }
  }

  /// Throws if the system does not give `count` threads at once now. They have ended when it returns. The pool of
  /// Swift's runtime waits for ever where it gets none, so who stands on it asks here first.
  ///
  /// - Parameter stack: the size in bytes of each one's; that of the pool's where nobody has set another.
  package static func expect(_ count: Int, stack: Int = 8 << 20) throws(ThreadError) {
    let end = Semaphore()
    let latest = MonotonicClock.now() + .seconds(60)
    var threads: [MediaThread] = []
    defer {
      for _ in threads { end.post() }
      for thread in threads { thread.join(until: latest) }
    }
    for _ in 0..<count {
      threads.append(try start(name: "expected", stack: stack) { _ = end.wait(until: latest) })
    }
  }

  static func start(
    name: String, stack: Int, _ body: @escaping @Sendable () -> Void
  ) throws(ThreadError) -> MediaThread {
    let finished = Semaphore()
    let job = Unmanaged.passRetained(
      Job(name: name) {
        body()
        finished.post()
      })
    var thread = pthread_t()
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    defer { pthread_attr_destroy(&attributes) }
    pthread_attr_setstacksize(&attributes, stack)
    let status = pthread_create(
      &thread, &attributes,
      { raw in
        guard let raw else { return nil }
        let job = Unmanaged<Job>.fromOpaque(raw).takeRetainedValue()
        String(job.name.prefix(15)).withCString { otchat_set_thread_name($0) }
        job.body()
        return nil
      }, job.toOpaque())
    guard status == 0 else {
      job.release()
      throw ThreadError(name: name, errno: status)
    }
    pthread_detach(thread)
    return MediaThread(finished: finished)
  }

  private init(finished: Semaphore) { self.finished = finished }

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

/// The system gives no thread.
package struct ThreadError: Error, Equatable {
  /// Of the thread.
  package let name: String
  package let errno: Int32

  /// One line, for people.
  package var message: String { "no thread for '\(name)': \(String(cString: strerror(errno)))" }

  /// What can be done about it.
  package static let hint =
    "a limit on threads or memory is reached: 'ulimit -u' for this user, pids.max or TasksMax for a container or service"

  /// Not by a trap: this is no fault of the program, and a terminal has to be given back, on which the reason can be
  /// read then.
  package static func endProcess(because reason: String) -> Never {
    otchat_terminal_leave()
    _ = DescriptorOutput.write("otchat: error: \(reason)\notchat: hint: \(hint)\n", to: STDERR_FILENO)
    exit(70)  // EX_SOFTWARE
  }
}
