/// What owns every peer connection. Its executor is one thread of our own that runs a GLib main context.
///
/// Three ways in: `await` from async code; `NetworkActor.perform` and `NetworkMailbox` from media
/// threads, which never touch Swift's shared pool; callbacks of libnice, which already run here.
@globalActor
package actor NetworkActor {
  package static let shared = NetworkActor()

  nonisolated package var unownedExecutor: UnownedSerialExecutor {
    NetworkThread.shared.asUnownedSerialExecutor()
  }

  /// Runs `body` on the network thread, in the order of the calls. From any thread, without waiting.
  package nonisolated static func perform(_ body: @escaping @NetworkActor @Sendable () -> Void) {
    NetworkThread.shared.perform { assumeIsolated(body) }
  }

  /// The same for what comes with every packet and calls nothing of libnice but through `ICETransport`.
  nonisolated static func performMedia(_ body: @escaping @NetworkActor @Sendable () -> Void) {
    NetworkThread.shared.performMedia { assumeIsolated(body) }
  }

  /// Runs `body` at once. Traps when not called on the network thread.
  package nonisolated static func assumeIsolated<Result: Sendable>(_ body: @NetworkActor () -> Result)
    -> Result
  {
    // What `preconditionIsolated` would ask in the end, without the runtime's detours: this is done several
    // times a packet.
    NetworkThread.shared.checkIsolated()
    // Just proved to be on the actor's executor, so the isolation may be taken off the type.
    return withoutActuallyEscaping(body) { unsafeBitCast($0, to: (() -> Result).self)() }
  }
}
