import Base
import CNice

/// The GLib main context of the network thread, with the source that wakes it.
final class NetworkThreadContext: @unchecked Sendable {
  // Safe to share: GLib locks contexts and sources itself; both pointers are set before the thread
  // starts, never change and are never freed (there is one context for the life of the process).
  let pointer: OpaquePointer
  private var wakeSource: WakeSource?

  init() { pointer = g_main_context_new() }

  /// - Parameter body: called on the network thread after each `wake`. Before `run` only.
  func attachWakeSource(_ body: @escaping () -> Void) {
    wakeSource = WakeSource(context: pointer, body)
  }

  func wake() { wakeSource?.schedule(at: 0) }

  /// Runs the loop; never returns.
  func run() {
    g_main_context_push_thread_default(pointer)
    while true { g_main_context_iteration(pointer, 1) }
  }
}

/// A GLib source that fires when its ready time has come: costs no allocation to schedule, and GLib
/// allows scheduling from any thread.
final class WakeSource {
  private let source: UnsafeMutablePointer<GSource>
  private let body: () -> Void

  // GLib keeps this pointer for the life of every source, so it is never freed.
  private nonisolated(unsafe) static let functions: UnsafeMutablePointer<GSourceFuncs> = {
    let functions = UnsafeMutablePointer<GSourceFuncs>.allocate(capacity: 1)
    functions.initialize(to: GSourceFuncs())
    functions.pointee.dispatch = { source, _, data in
      g_source_set_ready_time(source, -1)
      // The source is destroyed in `deinit`, on the thread that dispatches, so `data` is alive here.
      if let data { Unmanaged<WakeSource>.fromOpaque(data).takeUnretainedValue().body() }
      return 1
    }
    return functions
  }()

  /// - Parameter body: called on the thread that runs `context`. The object must be released there.
  init(context: OpaquePointer, _ body: @escaping () -> Void) {
    self.body = body
    source = g_source_new(Self.functions, UInt32(MemoryLayout<GSource>.size))
    g_source_set_callback(source, nil, Unmanaged.passUnretained(self).toOpaque(), nil)
    g_source_set_ready_time(source, -1)
    g_source_attach(source, context)
  }

  deinit {
    g_source_destroy(source)
    g_source_unref(source)
  }

  /// - Parameter microseconds: of CLOCK_MONOTONIC; 0: at once; -1: never.
  func schedule(at microseconds: Int) { g_source_set_ready_time(source, microseconds) }
}
