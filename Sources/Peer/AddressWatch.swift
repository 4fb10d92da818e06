import Base
import CLinux
import Glibc

/// Tells when this machine's addresses change (rtnetlink: RTM_NEWADDR, RTM_DELADDR).
@NetworkActor
package final class AddressWatch {
  package static let shared = AddressWatch()

  /// Ends with its last reference.
  package final class Observation: Sendable {
    fileprivate let number: Int

    fileprivate init(_ number: Int) { self.number = number }

    deinit { AddressWatch.forget(number) }
  }

  private struct Observer {
    let tell: @Sendable (Set<String>) -> Void
  }

  /// A move to another network takes an address away and brings one: that is told once.
  private static let settling: Duration = .milliseconds(50)

  /// IPv4 and IPv6 in text, loopback too, without link-local IPv6.
  package private(set) var addresses: Set<String> = []
  private var told: HostAddresses?
  private var observers: [Int: Observer] = [:]
  private var nextNumber = 0
  private let descriptor: Int32
  private var source: DescriptorSource?
  private var timer: NetworkTimer?

  private init() {
    descriptor = otchat_address_changes()
    addresses = Self.look()
    guard descriptor >= 0 else {
      Log.info("network", "changes of addresses cannot be watched")
      return
    }
    timer = NetworkTimer { [weak self] in self?.settled() }
    source = DescriptorSource(descriptor) { [weak self] in self?.changed() }
  }

  /// - Parameter change: called on the network thread with the addresses there are, each time that they differ
  ///   from before; must not block.
  package func observe(_ change: @escaping @Sendable (Set<String>) -> Void) -> Observation {
    nextNumber += 1
    observers[nextNumber] = Observer(tell: change)
    return Observation(nextNumber)
  }

  private nonisolated static func forget(_ number: Int) {
    NetworkActor.perform { shared.observers[number] = nil }
  }

  private func changed() {
    otchat_drain(descriptor)
    if timer?.deadline == nil { timer?.set(MonotonicClock.now() + Self.settling) }
  }

  private func settled() {
    let now = Self.look()
    guard now != addresses else { return }
    addresses = now
    Log.info("network", "the addresses are now \(now.sorted().joined(separator: ", "))")
    for observer in observers.values { observer.tell(now) }
  }

  private static func look() -> Set<String> {
    Set(LocalAddress.all().filter { !$0.isLinkLocalIPv6 }.map(\.text))
  }

  /// Logs which addresses are offered and which are not, each time that it is not what was logged before.
  func tell(_ addresses: HostAddresses) {
    guard addresses != told else { return }
    told = addresses
    Log.info("network", "host candidates: \(addresses.text)")
  }
}
