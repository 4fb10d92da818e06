/// Which streams are received (`--subscribe`).
package enum SubscriptionPolicy: Equatable, Sendable {
  /// The first stream of somebody else, and when it ends the next one there is.
  case first
  case all
  /// Our own stream, back from the network.
  case own
  case none
  /// Streams of that name.
  case named(String)

  /// `first`, `all`, `self`, `none`, `name:TEXT`; nil for anything else.
  package init?(parsing text: String) {
    switch text {
    case "first": self = .first
    case "all": self = .all
    case "self": self = .own
    case "none": self = .none
    default:
      guard text.hasPrefix("name:") else { return nil }
      self = .named(String(text.dropFirst(5)))
    }
  }
}

/// Decides what to subscribe to as streams come and go. Pure.
package struct SubscriptionPlan: Equatable, Sendable {
  package enum Action: Equatable, Sendable {
    case subscribe(String)
    case unsubscribe(String)
  }

  /// No more at a time, as each costs a thread, and others decide how many streams there are; the rest wait.
  package static let maximum = 256

  package let policy: SubscriptionPolicy
  /// Streams that the policy could take, in the order in which they came.
  private var candidates: [String] = []
  private var subscribed: [String] = []

  package init(_ policy: SubscriptionPolicy) { self.policy = policy }

  package mutating func streamCreated(_ id: String, name: String, isOwn: Bool) -> [Action] {
    guard matches(name: name, isOwn: isOwn), !candidates.contains(id) else { return [] }
    candidates.append(id)
    return fill()
  }

  package mutating func streamDestroyed(_ id: String) -> [Action] {
    candidates.removeAll { $0 == id }
    subscribed.removeAll { $0 == id }
    return fill()
  }

  /// A subscription was refused or given up: the next one is taken in its place.
  package mutating func failed(_ id: String) -> [Action] { streamDestroyed(id) }

  /// Go on to the stream after the one that is received. Only where one at a time is.
  package mutating func next() -> [Action] {
    guard policy == .first, let current = subscribed.first, candidates.count > 1,
      let index = candidates.firstIndex(of: current)
    else { return [] }
    let following = candidates[(index + 1) % candidates.count]
    subscribed = [following]
    return [.unsubscribe(current), .subscribe(following)]
  }

  private func matches(name: String, isOwn: Bool) -> Bool {
    switch policy {
    case .first, .all: !isOwn
    case .own: isOwn
    case .none: false
    case .named(let wanted): !isOwn && name == wanted
    }
  }

  private mutating func fill() -> [Action] {
    let wanted =
      switch policy {
      case .first: subscribed.isEmpty ? Array(candidates.prefix(1)) : []
      case .all, .own, .named: candidates.filter { !subscribed.contains($0) }
      case .none: [String]()
      }
    let taken = wanted.prefix(max(0, Self.maximum - subscribed.count))
    subscribed += taken
    return taken.map { .subscribe($0) }
  }
}
