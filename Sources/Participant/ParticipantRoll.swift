import OTKit

/// Who is in the session, as its events tell: in the order in which they came, we among them.
package struct ParticipantRoll: Sendable {
  package struct Entry: Equatable, Sendable {
    package let connection: Connection
    package internal(set) var isOwn: Bool
    package internal(set) var streams: [OTKit.Stream] = []

    /// Of a stream; of one who publishes nothing, what the app server says of them.
    package var name: String { streams.first { !$0.name.isEmpty }?.name ?? connection.data }

    func isCalled(_ name: String) -> Bool {
      !name.isEmpty && (connection.data == name || streams.contains { $0.name == name })
    }
  }

  package private(set) var entries: [Entry] = []

  package init() {}

  /// - Returns: whether it is another one now.
  package mutating func update(_ event: SessionEvent) -> Bool {
    switch event {
    case .sessionConnected(_, let connection): add(connection, isOwn: true)
    case .sessionDisconnected: entries = []
    case .connectionCreated(let connection): add(connection, isOwn: false)
    case .connectionDestroyed(let connection, _): entries.removeAll { $0.connection.id == connection.id }
    case .streamCreated(let stream), .publisherStreamCreated(let stream),
      .streamPropertyChanged(let stream, _):
      set(stream)
    case .streamDestroyed(let stream, _), .publisherStreamDestroyed(let stream, _):
      guard let index = index(of: stream.connection) else { return false }
      entries[index].streams.removeAll { $0.id == stream.id }
    default: return false
    }
    return true
  }

  /// Those who are meant: the one with that connection, or that stream, or else all of that name.
  package func entries(of who: String) -> [Entry] {
    if let entry = entries.first(where: { $0.connection.id == who }) { return [entry] }
    if let entry = entries.first(where: { $0.streams.contains { $0.id == who } }) { return [entry] }
    return entries.filter { $0.isCalled(who) }
  }

  private func index(of connection: Connection) -> Int? {
    entries.firstIndex { $0.connection.id == connection.id }
  }

  private mutating func add(_ connection: Connection, isOwn: Bool) {
    guard let index = index(of: connection) else {
      return entries.append(Entry(connection: connection, isOwn: isOwn))
    }
    if isOwn { entries[index].isOwn = true }
  }

  private mutating func set(_ stream: OTKit.Stream) {
    add(stream.connection, isOwn: false)
    guard let index = index(of: stream.connection) else { return }
    if let known = entries[index].streams.firstIndex(where: { $0.id == stream.id }) {
      entries[index].streams[known] = stream
    } else {
      entries[index].streams.append(stream)
    }
  }
}
