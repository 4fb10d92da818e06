import OpenTokProtocol

/// A published stream and those who subscribe to it.
struct RoomStream: Sendable {
  struct Subscriber: Sendable {
    let id: String
    /// The connection that subscribes.
    let connectionID: String
    /// Names the peer connection between the two to both of them.
    let peerID: String
  }

  var info: StreamInfo { didSet { infoBytes = info.json.serialized().count } }
  /// What it takes in the session's state.
  private(set) var infoBytes: Int
  /// Its places in the layouts of composed archives.
  var layoutClasses: [String]
  private(set) var subscribers: [Subscriber]
  /// The latest that ended.
  private var ended: [Subscriber] = []

  init(info: StreamInfo, layoutClasses: [String] = [], subscribers: [Subscriber] = []) {
    self.info = info
    self.layoutClasses = layoutClasses
    self.subscribers = subscribers
    infoBytes = info.json.serialized().count
  }

  var id: String { info.id }
  var publisherID: String { info.connection.id }

  /// Whether they are few and short enough to be kept.
  static func areLayoutClasses(_ classes: [String]) -> Bool {
    classes.count <= 64 && classes.allSatisfy { $0.utf8.count <= 256 }
  }

  func subscriber(_ id: String) -> Subscriber? { subscribers.first { $0.id == id } }

  mutating func append(_ subscriber: Subscriber) { subscribers.append(subscriber) }

  mutating func remove(_ subscriber: Subscriber) {
    subscribers.removeAll { $0.id == subscriber.id }
    ended.append(subscriber)
    if ended.count > 32 { ended.removeFirst() }
  }

  /// The subscriber that came in the place of one that ended: of the same connection.
  func successor(of id: String) -> Subscriber? {
    guard let old = ended.last(where: { $0.id == id }) else { return nil }
    return subscribers.last { $0.connectionID == old.connectionID }
  }
}
