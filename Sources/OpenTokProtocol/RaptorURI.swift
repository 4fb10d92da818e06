/// The path of a Raptor message, `/v2/partner/P/session/S/…`: a session and what in it is meant.
package struct RaptorURI: Hashable, Sendable, CustomStringConvertible {
  package enum Resource: Hashable, Sendable {
    case session
    case connection(String)
    case stream(String)
    case channel(stream: String, channel: String)
    case channelData(stream: String, channel: String, id: String)
    case subscriber(stream: String, subscriber: String)
    case subscriberChannel(stream: String, subscriber: String, channel: String)
    /// `to`: the one connection that is meant, or nil for all.
    case signal(id: String, to: String?)
    case archive(String)
    case source(stream: String, name: String)
  }

  /// Bytes of a whole path, and of one segment, when parsing.
  package static let maximumSize = 2048
  package static let maximumSegmentSize = 255

  package var partner: String
  package var session: String
  package var resource: Resource

  package init(partner: String, session: String, _ resource: Resource = .session) {
    self.partner = partner
    self.session = session
    self.resource = resource
  }

  /// Nil if the path has another shape, an empty segment or one that is too long.
  package init?(_ path: String) {
    guard path.utf8.count <= Self.maximumSize, path.utf8.first == UInt8(ascii: "/") else { return nil }
    let segments = path.dropFirst().split(separator: "/", omittingEmptySubsequences: false).map(String.init)
    guard segments.count >= 5,
      segments.allSatisfy({ !$0.isEmpty && $0.utf8.count <= Self.maximumSegmentSize }),
      segments[0] == "v2", segments[1] == "partner", segments[3] == "session",
      let resource = Resource(Array(segments[5...]))
    else { return nil }
    self.init(partner: segments[2], session: segments[4], resource)
  }

  package var description: String {
    (["", "v2", "partner", partner, "session", session] + resource.segments).joined(separator: "/")
  }

  /// Another thing in the same session.
  package func with(_ resource: Resource) -> RaptorURI {
    RaptorURI(partner: partner, session: session, resource)
  }
}

extension RaptorURI.Resource {
  fileprivate init?(_ path: [String]) {
    let names = stride(from: 0, to: path.count, by: 2).map { path[$0] }
    let values = stride(from: 1, to: path.count, by: 2).map { path[$0] }
    guard names.count == values.count else { return nil }
    switch names {
    case []: self = .session
    case ["connection"]: self = .connection(values[0])
    case ["stream"]: self = .stream(values[0])
    case ["stream", "channel"]: self = .channel(stream: values[0], channel: values[1])
    case ["stream", "channel", "data"]:
      self = .channelData(stream: values[0], channel: values[1], id: values[2])
    case ["stream", "subscriber"]: self = .subscriber(stream: values[0], subscriber: values[1])
    case ["stream", "subscriber", "channel"]:
      self = .subscriberChannel(stream: values[0], subscriber: values[1], channel: values[2])
    case ["signal"]: self = .signal(id: values[0], to: nil)
    case ["connection", "signal"]: self = .signal(id: values[1], to: values[0])
    case ["archive"]: self = .archive(values[0])
    case ["stream", "source"]: self = .source(stream: values[0], name: values[1])
    default: return nil
    }
  }

  fileprivate var segments: [String] {
    switch self {
    case .session: []
    case .connection(let id): ["connection", id]
    case .stream(let id): ["stream", id]
    case .channel(let stream, let channel): ["stream", stream, "channel", channel]
    case .channelData(let stream, let channel, let id): ["stream", stream, "channel", channel, "data", id]
    case .subscriber(let stream, let subscriber): ["stream", stream, "subscriber", subscriber]
    case .subscriberChannel(let stream, let subscriber, let channel):
      ["stream", stream, "subscriber", subscriber, "channel", channel]
    case .signal(let id, nil): ["signal", id]
    case .signal(let id, let connection?): ["connection", connection, "signal", id]
    case .archive(let id): ["archive", id]
    case .source(let stream, let name): ["stream", stream, "source", name]
    }
  }
}
