import Base
import CLinux
import CNice

/// How libnice's signals get to the transport.
extension ICETransport {
  // libnice calls back on the network thread only, as it runs on its context. `self` is passed unretained:
  // `close`, which `deinit` calls on this same thread, takes every callback away before `self` can go.

  func connectCallbacks() {
    let me = Unmanaged.passUnretained(self).toOpaque()
    let onState:
      @convention(c) (UnsafeMutableRawPointer?, UInt32, UInt32, UInt32, UnsafeMutableRawPointer?) -> Void
    onState = { _, _, _, state, me in ICETransport.with(me) { $0.stateChanged(NiceComponentState(state)) } }
    connect("component-state-changed", unsafeBitCast(onState, to: GCallback.self), me)

    let onCandidate:
      @convention(c) (
        UnsafeMutableRawPointer?, UnsafeMutablePointer<NiceCandidate>?, UnsafeMutableRawPointer?
      ) -> Void
    onCandidate = { _, candidate, me in
      guard let candidate else { return }
      nonisolated(unsafe) let borrowed = candidate  // stays on this thread, used during the call only
      ICETransport.with(me) { $0.found(borrowed) }
    }
    connect("new-candidate-full", unsafeBitCast(onCandidate, to: GCallback.self), me)

    let onDone: @convention(c) (UnsafeMutableRawPointer?, UInt32, UnsafeMutableRawPointer?) -> Void
    onDone = { _, _, me in ICETransport.with(me) { $0.gatheringEnded() } }
    connect("candidate-gathering-done", unsafeBitCast(onDone, to: GCallback.self), me)

    let onPair:
      @convention(c) (
        UnsafeMutableRawPointer?, UInt32, UInt32, UnsafeMutablePointer<NiceCandidate>?,
        UnsafeMutablePointer<NiceCandidate>?, UnsafeMutableRawPointer?
      ) -> Void
    onPair = { _, _, _, local, remote, me in
      guard let local, let remote else { return }
      let pair = (ICETransport.text(local), ICETransport.text(remote))
      let base = ICETransport.text(&local.pointee.base_addr)
      let destination = MediaSocket.Destination { otchat_socket_address(remote, $0) }
      ICETransport.with(me) {
        $0.selected(local: pair.0, remote: pair.1, base: base, destination: destination)
      }
    }
    connect("new-selected-pair-full", unsafeBitCast(onPair, to: GCallback.self), me)

    nice_agent_attach_recv(
      niceAgent, stream, Self.component, NetworkThread.shared.loop.context,
      { _, _, _, count, bytes, me in
        let now = MonotonicClock.now()
        ICETransport.spareTheLoop()
        // libnice's own buffer for this datagram, not read again by it.
        nonisolated(unsafe) let datagram = UnsafeMutableRawBufferPointer(start: bytes, count: Int(count))
        ICETransport.with(me) {
          $0.received(datagram, now)
          $0.drained(now)
        }
      }, me)
  }

  /// Around each call of a source that may not be entered again, GLib takes its socket out of the poll and
  /// puts it back, and writes to the loop's eventfd each time. The source that called us may be entered
  /// again, as nothing that it calls runs the loop.
  private nonisolated static func spareTheLoop() {
    guard let source = g_main_current_source(), g_source_get_can_recurse(source) == 0 else { return }
    g_source_set_can_recurse(source, 1)
  }

  private func connect(_ signal: String, _ callback: @escaping GCallback, _ me: UnsafeMutableRawPointer) {
    g_signal_connect_data(agent, signal, callback, me, nil, GConnectFlags(rawValue: 0))
  }

  private nonisolated static func with(
    _ pointer: UnsafeMutableRawPointer?, _ body: @NetworkActor (ICETransport) -> Void
  ) {
    guard let pointer else { return }
    // Called by GLib on the network thread only; the transport closes its agent before it goes.
    nonisolated(unsafe) let me = pointer
    NetworkActor.assumeIsolated { body(Unmanaged<ICETransport>.fromOpaque(me).takeUnretainedValue()) }
  }
}
