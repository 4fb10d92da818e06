import Base
import TestSupport
import Testing

@testable import Peer

@Suite @NetworkActor struct AddressWatchTests {
  @Test func knowsTheAddressesThereAre() {
    let addresses = AddressWatch.shared.addresses
    #expect(addresses.contains("127.0.0.1"))
    #expect(!addresses.contains { $0.hasPrefix("fe80:") })
  }
}
