import Base
import CNice
import Glibc

/// The thread that owns every peer connection: it runs one GLib main context (libnice's sockets and
/// timers live there) and is the executor of `NetworkActor`.
///
/// There is one, made at first use, and it never ends: an executor that could be freed while a job of a
/// dying actor is being enqueued would be a use after free.
final class NetworkThread: SerialExecutor {
  static let shared = NetworkThread()

  /// `GMainContext *`, locked inside by GLib.
  let context: NetworkThreadContext

  private enum Work {
    case job(UnownedJob)
    case call(@Sendable () -> Void)
  }

  // Work passes through a lock of our own, which the thread sanitizer understands (GLib's it does not);
  // GLib is used only to wake the loop.
  private let work = Lock<[Work]>([])

  private init() {
    // What the libraries complain about goes to our log, not over the picture in the terminal.
    g_log_set_default_handler(
      { domain, _, message, _ in
        guard let message else { return }
        Log.info(domain.map { String(cString: $0) } ?? "glib", String(cString: message))
      }, nil)
    context = NetworkThreadContext()
    context.attachWakeSource { NetworkThread.shared.drain() }
    let context = context
    _ = MediaThread(name: "network") { context.run() }
  }

  func enqueue(_ job: consuming ExecutorJob) { add(.job(UnownedJob(job))) }

  /// Runs `call` on the network thread, after everything handed over before it. From any thread; neither
  /// blocks nor touches Swift's shared pool.
  func perform(_ call: @escaping @Sendable () -> Void) { add(.call(call)) }

  private func add(_ item: Work) {
    let wasEmpty = work.withLock { queue in
      queue.append(item)
      return queue.count == 1
    }
    if wasEmpty { context.wake() }
  }

  private func drain() {
    let batch = work.withLock { queue in
      let batch = queue
      queue = []
      return batch
    }
    for item in batch {
      switch item {
      case .job(let job): job.runSynchronously(on: asUnownedSerialExecutor())
      case .call(let call): call()
      }
    }
  }

  var isCurrent: Bool { context.isCurrent }

  func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

  // Asked by `assumeIsolated` in callbacks from C, which run outside any task (SE-0424).
  func checkIsolated() { precondition(isCurrent, "not on the network thread") }
}
