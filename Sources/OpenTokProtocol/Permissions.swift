/// What a token lets its connection do.
package struct Permissions: OptionSet, Sendable {
  package let rawValue: UInt8
  package init(rawValue: UInt8) { self.rawValue = rawValue }

  package static let publish = Permissions(rawValue: 1)
  package static let subscribe = Permissions(rawValue: 2)
  package static let signal = Permissions(rawValue: 4)
  package static let forceUnpublish = Permissions(rawValue: 8)
  package static let forceDisconnect = Permissions(rawValue: 16)
  package static let forceMute = Permissions(rawValue: 32)

  /// In the order in which servers list them.
  private static let texts: [(permission: Permissions, name: String)] = [
    (.publish, "publish"), (.subscribe, "subscribe"), (.signal, "signal"),
    (.forceUnpublish, "forceunpublish"), (.forceDisconnect, "forcedisconnect"), (.forceMute, "forcemute"),
  ]

  package var names: [String] { Self.texts.filter { contains($0.permission) }.map(\.name) }

  /// Names that are not known are skipped.
  package init(names: [String]) {
    self = Permissions(Self.texts.filter { names.contains($0.name) }.map(\.permission))
  }
}

/// The role in a token.
package enum Role: String, Sendable, CaseIterable {
  case subscriber, publisher
  case publisherOnly = "publisheronly"
  case moderator

  package var permissions: Permissions {
    switch self {
    case .subscriber: [.subscribe, .signal]
    case .publisher: [.publish, .subscribe, .signal]
    case .publisherOnly: [.publish]
    case .moderator: [.publish, .subscribe, .signal, .forceUnpublish, .forceDisconnect, .forceMute]
    }
  }
}
