import Base

/// Calls back on the network thread whenever a descriptor can be read. The descriptor stays its owner's.
@NetworkActor
final class DescriptorSource {
  private var number = 0

  /// - Parameter ready: has to read until nothing is left, or it is called again at once.
  init(_ descriptor: Int32, _ ready: @escaping @NetworkActor () -> Void) {
    number = NetworkThread.shared.loop.watch(descriptor) { NetworkActor.assumeIsolated { ready() } }
  }

  // Isolated, since what is watched belongs to the loop's thread.
  isolated deinit { close() }

  /// Nothing is called any more, not even from the round of the loop that is under way.
  func close() { NetworkThread.shared.loop.unwatch(number) }
}
