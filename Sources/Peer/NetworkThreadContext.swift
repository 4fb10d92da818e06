import Base
import CNice
import Glibc
import Synchronization

/// The GLib main context of the network thread, with the source that wakes it.
final class NetworkThreadContext: @unchecked Sendable {
  // Safe to share: GLib locks contexts and sources itself; both pointers are set before the thread
  // starts, never change and are never freed (there is one context for the life of the process).
  let pointer: OpaquePointer
  private var wakeSource: WakeSource?
  /// The thread in `run`.
  private let runner = Atomic<pthread_t>(0)

  init() { pointer = g_main_context_new() }

  /// - Parameter body: called on the network thread after each `wake`. Before `run` only.
  func attachWakeSource(_ body: @escaping () -> Void) {
    wakeSource = WakeSource(context: pointer, body)
  }

  /// From any thread.
  func wake() {
    wakeSource?.schedule(at: 0)
    g_main_context_wakeup(pointer)
  }

  /// Whether the caller is on the thread in `run`.
  var isCurrent: Bool { runner.load(ordering: .relaxed) == pthread_self() }

  /// Runs the loop; never returns.
  func run() {
    runner.store(pthread_self(), ordering: .sequentiallyConsistent)
    g_main_context_push_thread_default(pointer)
    while true { g_main_context_iteration(pointer, 1) }
  }
}

/// A GLib source that fires when its ready time has come. Costs no allocation to schedule, and no system
/// call: it is asked for its time in each round of the loop. (GLib's own ready times write to the loop's
/// eventfd with each change, and the loop then goes round once more for nothing.)
final class WakeSource {
  private let source: UnsafeMutablePointer<GSource>
  private let body: () -> Void

  /// Lies behind GLib's part of the source.
  private typealias ReadyTime = Atomic<Int64>
  private static let never: Int64 = -1

  // GLib keeps this pointer for the life of every source, so it is never freed.
  private nonisolated(unsafe) static let functions: UnsafeMutablePointer<GSourceFuncs> = {
    let functions = UnsafeMutablePointer<GSourceFuncs>.allocate(capacity: 1)
    functions.initialize(to: GSourceFuncs())
    functions.pointee.prepare = { source, timeout in
      guard let source else { return 0 }
      let wait = WakeSource.wait(source)
      // Milliseconds, rounded up so that it never fires too early.
      timeout?.pointee = wait.map { Int32(clamping: ($0 + 999) / 1000) } ?? -1
      return wait == 0 ? 1 : 0
    }
    functions.pointee.check = { source in source.map { WakeSource.wait($0) == 0 } == true ? 1 : 0 }
    functions.pointee.dispatch = { source, _, data in
      guard let source, let data else { return 1 }
      WakeSource.readyTime(source).pointee.store(WakeSource.never, ordering: .sequentiallyConsistent)
      // The source is destroyed in `deinit`, on the thread that dispatches, so `data` is alive here.
      Unmanaged<WakeSource>.fromOpaque(data).takeUnretainedValue().body()
      return 1
    }
    return functions
  }()

  /// - Parameter body: called on the thread that runs `context`. The object must be released there.
  init(context: OpaquePointer, _ body: @escaping () -> Void) {
    self.body = body
    let size = MemoryLayout<GSource>.stride + MemoryLayout<ReadyTime>.size
    source = g_source_new(Self.functions, UInt32(size))
    Self.readyTime(source).initialize(to: ReadyTime(Self.never))
    g_source_set_callback(source, nil, Unmanaged.passUnretained(self).toOpaque(), nil)
    g_source_attach(source, context)
  }

  deinit {
    g_source_destroy(source)
    g_source_unref(source)
  }

  /// From within the loop; other threads have to wake it afterwards.
  ///
  /// - Parameter microseconds: of CLOCK_MONOTONIC; 0: at once; -1: never.
  func schedule(at microseconds: Int64) {
    Self.readyTime(source).pointee.store(microseconds, ordering: .sequentiallyConsistent)
  }

  private static func readyTime(_ source: UnsafeMutablePointer<GSource>) -> UnsafeMutablePointer<ReadyTime> {
    (UnsafeMutableRawPointer(source) + MemoryLayout<GSource>.stride).assumingMemoryBound(to: ReadyTime.self)
  }

  /// Microseconds until it fires, 0 if it is due; nil: never.
  private static func wait(_ source: UnsafeMutablePointer<GSource>) -> Int64? {
    let ready = readyTime(source).pointee.load(ordering: .sequentiallyConsistent)
    guard ready != never else { return nil }
    return ready == 0 ? 0 : max(0, ready - Int64(g_source_get_time(source)))
  }
}
