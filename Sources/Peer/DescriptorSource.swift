import CNice

/// Calls back on the network thread whenever a descriptor can be read. The descriptor stays its owner's.
@NetworkActor
final class DescriptorSource {
  private let source: UnsafeMutablePointer<GSource>
  private let ready: @NetworkActor () -> Void

  /// - Parameter ready: has to read until nothing is left, or it is called again at once.
  init?(_ descriptor: Int32, _ ready: @escaping @NetworkActor () -> Void) {
    guard let source = g_unix_fd_source_new(descriptor, G_IO_IN) else { return nil }
    self.source = source
    self.ready = ready
    let dispatch: GUnixFDSourceFunc = { _, _, data in
      guard let data else { return 0 }
      // GLib calls on the network thread only. `deinit`, which runs there too, destroys the source first.
      nonisolated(unsafe) let me = data
      NetworkActor.assumeIsolated { Unmanaged<DescriptorSource>.fromOpaque(me).takeUnretainedValue().ready() }
      return 1
    }
    g_source_set_callback(
      source, unsafeBitCast(dispatch, to: GSourceFunc.self), Unmanaged.passUnretained(self).toOpaque(), nil)
    g_source_attach(source, NetworkThread.shared.context.pointer)
  }

  isolated deinit {
    g_source_destroy(source)
    g_source_unref(source)
  }
}
