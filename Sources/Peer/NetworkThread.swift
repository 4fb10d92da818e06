import Base
import CNice
import Glibc

/// The thread that owns every peer connection: it runs one `NetworkLoop` and is the executor of
/// `NetworkActor`.
///
/// There is one, made at first use, and it never ends: an executor that could be freed while a job of a
/// dying actor is being enqueued would be a use after free.
final class NetworkThread: SerialExecutor {
  static let shared = NetworkThread()

  let loop: NetworkLoop

  private enum Work {
    case job(UnownedJob)
    case call(@Sendable () -> Void)
    case media(@Sendable () -> Void)
  }

  private let work = Lock<[Work]>([])

  private init() {
    // What the libraries complain about goes to our log, not over the picture in the terminal.
    g_log_set_default_handler(
      { domain, level, message, _ in
        guard let message else { return }
        let (name, text) = (domain.map { String(cString: $0) } ?? "glib", String(cString: message))
        // GLib would end the process by a trap.
        if level.rawValue & G_LOG_FLAG_FATAL.rawValue != 0, text.contains("thread") {
          ThreadError.endProcess(because: "\(name): \(text)")
        }
        Log.info(name, text)
      }, nil)
    loop = NetworkLoop()
    let loop = loop
    _ = MediaThread(name: "network") { loop.run() }
  }

  func enqueue(_ job: consuming ExecutorJob) { add(.job(UnownedJob(job))) }

  /// Runs `call` on the network thread, after everything handed over before it. From any thread; neither
  /// blocks nor touches Swift's shared pool.
  func perform(_ call: @escaping @Sendable () -> Void) { add(.call(call)) }

  /// The same for calls that come with every packet: what they do to libnice, they tell the loop themselves.
  func performMedia(_ call: @escaping @Sendable () -> Void) { add(.media(call)) }

  private func add(_ item: Work) {
    let wasEmpty = work.withLock { queue in
      queue.append(item)
      return queue.count == 1
    }
    if wasEmpty { loop.wake() }
  }

  var hasWork: Bool { work.withLock { !$0.isEmpty } }

  /// Does what has been handed over so far. On the network thread.
  ///
  /// - Returns: whether any of it may have called libnice without saying so.
  func performWork() -> Bool {
    let batch = work.withLock { queue in
      let batch = queue
      queue = []
      return batch
    }
    var mayHaveTouched = false
    for item in batch {
      switch item {
      case .job(let job):
        job.runSynchronously(on: asUnownedSerialExecutor())
        mayHaveTouched = true
      case .call(let call):
        call()
        mayHaveTouched = true
      case .media(let call): call()
      }
    }
    return mayHaveTouched
  }

  var isCurrent: Bool { loop.isCurrent }

  func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

  // Asked by `assumeIsolated` in callbacks from C, which run outside any task (SE-0424).
  func checkIsolated() { precondition(isCurrent, "not on the network thread") }
}
