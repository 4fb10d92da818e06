/// Which of this machine's addresses others are told of as host candidates (RFC 8835, 3.2; RFC 8445, 5.1.1.1). Never
/// none: where all are objectionable, those are told of that may lead somewhere, at last loopback.
package struct HostAddresses: Equatable, Sendable {
  package enum Reason: String, Sendable {
    case virtualNetwork, linkLocal, deprecated, unready, stable, loopback, tooMany

    /// For people.
    package var text: String {
      switch self {
      case .virtualNetwork: "leads into this machine only"
      case .linkLocal: "link-local"
      case .deprecated: "deprecated"
      case .unready: "not ready, or somebody else's too"
      case .stable: "would tell who this is: there is a temporary one"
      case .loopback: "loopback"
      case .tooMany: "too many"
      }
    }
  }

  package struct LeftOut: Equatable, Sendable {
    package let address: LocalAddress
    package let reason: Reason
  }

  static let maximum = 16

  package private(set) var used: [LocalAddress] = []
  package private(set) var leftOut: [LeftOut] = []
  /// There is none that others should be told of, so they are told of what there is.
  package private(set) var isLastResort = false

  /// - Parameters:
  ///   - all: in the order in which they are preferred.
  ///   - includesLoopback: even if there are others.
  package init(choosingFrom all: [LocalAddress], includesLoopback: Bool = false) {
    let judged = all.map { (address: $0, reason: Self.objection(to: $0, among: all)) }
    func those(_ isFine: (Reason?) -> Bool) -> [LocalAddress] {
      judged.filter { isFine($0.reason) }.map(\.address)
    }
    used = those { $0 == nil }
    if used.isEmpty {
      isLastResort = true
      // The scope of link-local IPv6 means nothing to the other side.
      used = judged.filter { $0.reason != .loopback && $0.reason != .unready && !$0.address.isLinkLocalIPv6 }
        .map(\.address)
    }
    if used.isEmpty || includesLoopback { used += those { $0 == .loopback } }
    let tooMany = used.dropFirst(Self.maximum)
    used = Array(used.prefix(Self.maximum))
    leftOut =
      judged.filter { !used.contains($0.address) && !tooMany.contains($0.address) }
      .map { LeftOut(address: $0.address, reason: $0.reason ?? .tooMany) }
      + tooMany.map { LeftOut(address: $0, reason: .tooMany) }
  }

  /// For people: `192.0.2.2 (eth0); not 172.17.0.1 (docker0, leads into this machine only)`.
  package var text: String {
    let usedText = used.map { "\($0.text) (\($0.interface))" }.joined(separator: ", ")
    let leftOutText =
      leftOut.filter { $0.reason != .loopback }
      .map { "\($0.address.text) (\($0.address.interface), \($0.reason.text))" }.joined(separator: ", ")
    return (used.isEmpty ? "none" : usedText) + (leftOutText.isEmpty ? "" : "; not \(leftOutText)")
  }

  private static func objection(to address: LocalAddress, among all: [LocalAddress]) -> Reason? {
    if address.isLoopback { return .loopback }
    if address.isUnready { return .unready }
    if address.isLinkLocal { return .linkLocal }
    if !address.hasDefaultRoute, leadsInside(address, all) { return .virtualNetwork }
    if address.isDeprecated { return .deprecated }
    return all.contains { replaces($0, address) } ? .stable : nil
  }

  /// Whether the interface is for containers and virtual machines. A container's own way out is a `veth`, too, but
  /// there all are.
  private static func leadsInside(_ address: LocalAddress, _ all: [LocalAddress]) -> Bool {
    switch address.kind {
    case "bridge": true
    case "veth": all.contains { $0.kind.isEmpty && !$0.isLoopback }
    default: false
    }
  }

  /// Whether a temporary address makes another one needless: the same interface and kind of address.
  private static func replaces(_ temporary: LocalAddress, _ address: LocalAddress) -> Bool {
    temporary.isTemporary && !temporary.isDeprecated && !temporary.isUnready && address.isIPv6
      && !address.isTemporary && temporary.interface == address.interface
      && temporary.isUniqueLocal == address.isUniqueLocal
  }
}
