import Testing

@testable import Peer

@Suite struct HostAddressesTests {
  /// `eth0 192.0.2.2 route` and the like: interface, address, then what there is to say of it.
  private func addresses(_ lines: [String]) -> [LocalAddress] {
    lines.map { line in
      let words = line.split(separator: " ").map(String.init)
      var address = LocalAddress(text: words[1], interface: words[0])
      for word in words.dropFirst(2) {
        switch word {
        case "route": address.hasDefaultRoute = true
        case "temporary": address.isTemporary = true
        case "deprecated": address.isDeprecated = true
        case "unready": address.isUnready = true
        case "loopback": address.isLoopback = true
        default: address.kind = word
        }
      }
      return address
    }
  }

  private func choose(_ lines: String..., includesLoopback: Bool = false) -> HostAddresses {
    HostAddresses(choosingFrom: addresses(lines), includesLoopback: includesLoopback)
  }

  private func reasons(_ chosen: HostAddresses) -> [String: HostAddresses.Reason] {
    Dictionary(uniqueKeysWithValues: chosen.leftOut.map { ($0.address.text, $0.reason) })
  }

  @Test func aLaptopWithContainersAndAMachineInside() {
    let chosen = choose(
      "lo 127.0.0.1 loopback", "lo ::1 loopback", "wlan0 192.168.1.5 route", "docker0 172.17.0.1 bridge",
      "br-3f0a 172.18.0.1 bridge", "virbr0 192.168.122.1 bridge", "vethab 10.1.0.1 veth",
      "wg0 10.9.0.2 wireguard",
      "wlan0 fe80::1 route", "wlan0 2001:db8::5 route", "wlan0 2001:db8::77 temporary route",
      "wlan0 2001:db8::66 temporary deprecated route", "wlan0 2001:db8::99 temporary unready route")
    #expect(chosen.used.map(\.text) == ["192.168.1.5", "10.9.0.2", "2001:db8::77"])
    #expect(!chosen.isLastResort)
    #expect(
      reasons(chosen) == [
        "127.0.0.1": .loopback, "::1": .loopback, "172.17.0.1": .virtualNetwork,
        "172.18.0.1": .virtualNetwork,
        "192.168.122.1": .virtualNetwork, "10.1.0.1": .virtualNetwork, "fe80::1": .linkLocal,
        "2001:db8::5": .stable, "2001:db8::66": .deprecated, "2001:db8::99": .unready,
      ])
    #expect(chosen.text.hasPrefix("192.168.1.5 (wlan0), 10.9.0.2 (wg0), 2001:db8::77 (wlan0); not "))
    #expect(chosen.text.contains("172.17.0.1 (docker0, leads into this machine only)"))
    #expect(!chosen.text.contains("127.0.0.1"))
  }

  @Test func aBridgeThatIsTheWayOutIsUsed() {
    let chosen = choose(
      "br0 192.0.2.2 bridge route", "docker0 172.17.0.1 bridge", "br0 2001:db8::2 bridge route")
    #expect(chosen.used.map(\.text) == ["192.0.2.2", "2001:db8::2"])
  }

  /// In a container the devices are ends of cables to elsewhere.
  @Test func aContainersNetworksAreUsed() {
    let chosen = choose(
      "lo 127.0.0.1 loopback", "eth0 172.17.0.2 veth route", "eth1 10.5.0.2 veth", "docker0 172.20.0.1 bridge"
    )
    #expect(chosen.used.map(\.text) == ["172.17.0.2", "10.5.0.2"])
    #expect(choose("eth0 10.0.0.1 veth").used.map(\.text) == ["10.0.0.1"])
  }

  @Test func aTemporaryAddressStandsInForOthersOfItsInterfaceAndKindOnly() {
    let chosen = choose(
      "eth0 2001:db8::1 route", "eth0 2001:db8::2 temporary route", "eth0 fd00::1 route",
      "eth1 2001:db8:1::1",
      "eth0 192.0.2.2 route")
    #expect(chosen.used.map(\.text) == ["2001:db8::2", "fd00::1", "2001:db8:1::1", "192.0.2.2"])
    let local = choose("eth0 fd00::1", "eth0 fd00::2 temporary", "eth0 2001:db8::1")
    #expect(local.used.map(\.text) == ["fd00::2", "2001:db8::1"])
    // One that must not be used any more stands in for nothing.
    #expect(
      choose("eth0 2001:db8::1", "eth0 2001:db8::2 temporary deprecated").used.map(\.text) == ["2001:db8::1"])
  }

  @Test(arguments: [
    ["docker0 172.17.0.1 bridge"], ["eth0 169.254.7.7"], ["eth0 2001:db8::1 deprecated"],
    ["virbr0 192.168.122.1 bridge", "eth0 169.254.7.7", "eth0 2001:db8::1 deprecated"],
  ]) func whatNobodyShouldBeToldOfIsBetterThanNothing(_ lines: [String]) {
    let others = ["lo 127.0.0.1 loopback", "eth0 fe80::1", "eth0 192.0.2.9 unready"]
    let chosen = HostAddresses(choosingFrom: addresses(others + lines))
    #expect(chosen.used == addresses(lines) && chosen.isLastResort)
    #expect(reasons(chosen) == ["127.0.0.1": .loopback, "fe80::1": .linkLocal, "192.0.2.9": .unready])
  }

  @Test func loopbackIsUsedWhenAskedForOrAlone() {
    let all = ["eth0 192.0.2.2", "eth0 fd00::2", "eth0 fe80::1", "lo 127.0.0.1 loopback", "lo ::1 loopback"]
    let wanted = HostAddresses(choosingFrom: addresses(all), includesLoopback: true)
    #expect(wanted.used.map(\.text) == ["192.0.2.2", "fd00::2", "127.0.0.1", "::1"] && !wanted.isLastResort)
    let alone = choose("lo 127.0.0.1 loopback", "eth0 fe80::1", "lo ::1 loopback")
    #expect(alone.used.map(\.text) == ["127.0.0.1", "::1"] && alone.isLastResort)
    #expect(choose().used.isEmpty && choose().text == "none")
  }

  @Test func thereIsABound() {
    let chosen = HostAddresses(choosingFrom: addresses((1...99).map { "eth0 192.0.2.\($0)" }))
    #expect(chosen.used.count == 16 && chosen.used.last?.text == "192.0.2.16")
    #expect(chosen.leftOut.count == 83 && chosen.leftOut.allSatisfy { $0.reason == .tooMany })
  }

  @Test func linkLocalIsKnown() {
    for text in ["fe80::1", "FE80::1", "febf::1", "169.254.0.1"] {
      #expect(LocalAddress(text: text, interface: "eth0").isLinkLocal, "\(text)")
    }
    for text in ["fec0::1", "fe00::1", "169.253.0.1", "192.0.2.1"] {
      #expect(!LocalAddress(text: text, interface: "eth0").isLinkLocal, "\(text)")
    }
  }

  @Test func thisMachineHasLoopback() {
    let loopback = LocalAddress.all().filter(\.isLoopback)
    #expect(loopback.contains { $0.text == "127.0.0.1" && $0.interface == "lo" && $0.kind.isEmpty })
    #expect(loopback.allSatisfy { !$0.isTemporary && !$0.hasDefaultRoute })
  }
}
