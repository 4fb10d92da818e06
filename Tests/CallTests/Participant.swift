import Base
import OTKit
import OpenTokProtocol
import SessionServer
import TestSupport
import Testing

/// A session server for one test.
struct Server {
  static let key = "100"
  static let secret = "a secret of the tests"

  let server: SessionServer
  let sessionID: String

  static func start(gracePeriod: Duration = .seconds(20)) async throws -> Server {
    var configuration = SessionServer.Configuration()
    configuration.port = 0
    configuration.apiKey = key
    configuration.apiSecret = secret
    configuration.stateDirectory = nil
    configuration.gracePeriod = gracePeriod
    let server = try await SessionServer.start(configuration)
    let credentials = try await Credentials.fetch(from: server.url)
    return Server(server: server, sessionID: credentials.sessionID)
  }

  func token(_ role: Role = .publisher, data: String = "", expiresIn: Int64 = 60) -> String {
    let now = WallClock.microseconds() / 1_000_000
    return Token(
      apiKey: Self.key, sessionID: sessionID, role: role, createTime: now - 60, expireTime: now + expiresIn,
      nonce: "1", connectionData: data
    ).signed(secret: Self.secret)
  }

  func stop() async { await server.stop() }
}

/// A session with all that it told.
final class Participant: Sendable {
  let session: Session
  private let record = Lock<[SessionEvent]>([])

  var events: [SessionEvent] { record.withLock { $0 } }

  init(_ server: Server, port: Int? = nil, _ change: (inout Session.Configuration) -> Void = { _ in }) {
    var configuration = Session.Configuration(apiURL: "http://127.0.0.1:\(port ?? server.server.port)")
    change(&configuration)
    session = Session(apiKey: Server.key, sessionID: server.sessionID, configuration: configuration)
    Task { [self] in
      for await event in session.events { record.withLock { $0.append(event) } }
    }
  }

  static func join(
    _ server: Server, _ role: Role = .publisher, data: String = "", port: Int? = nil
  ) async throws -> Participant {
    let participant = Participant(server, port: port)
    try await participant.session.connect(token: server.token(role, data: data))
    return participant
  }

  /// Small pictures: tests run on machines that have other things to do.
  static func publisher(
    tone: Int = 440, sources: [String] = ["test"], name: String = "test"
  ) throws -> Publisher {
    try Publisher(
      .init(
        name: name, videoSources: sources, audioSource: "tone:\(tone)", width: 320, height: 240,
        maximumVideoBitrate: 500_000))
  }

  /// What `pick` finds in the first event in which it finds something.
  @discardableResult
  func waitFor<Found: Sendable>(
    _ what: String, within limit: Duration = .seconds(180), _ pick: @Sendable (SessionEvent) -> Found?
  ) async throws -> Found {
    try await eventually(within: limit, what, state: { "\(self.events.map(\.name))" }) {
      self.events.contains { pick($0) != nil }
    }
    return try #require(events.lazy.compactMap(pick).first, Comment(rawValue: what))
  }

  func stream(named name: String = "test") async throws -> OTKit.Stream {
    try await waitFor("a stream") { event in
      if case .streamCreated(let stream) = event, stream.name == name { stream } else { nil }
    }
  }

  func subscriberStatistics(of streamID: String) async -> Statistics.Subscriber? {
    await session.statistics().subscribers.first { $0.streamID == streamID }
  }

  /// Receives 25 pictures more, most of which are shown, and this tone.
  func seesAndHears(
    _ streamID: String, tone: Double, within limit: Duration = .seconds(180)
  ) async throws {
    var last: Statistics.Subscriber?
    func count(_ name: String) -> Double { last?.video[name] ?? 0 }
    last = await subscriberStatistics(of: streamID)
    let (decoded, received) = (count("framesDecoded"), count("framesReceived"))
    try await eventually(
      within: limit, "25 pictures more and \(tone) Hz",
      state: { "\(String(describing: last)) \(self.events.map(\.name))" }
    ) {
      last = await self.subscriberStatistics(of: streamID)
      return count("framesDecoded") >= decoded + 25 && abs((last?.audio["toneHz"] ?? 0) - tone) < 3
    }
    let shown = (count("framesDecoded") - decoded) / max(1, count("framesReceived") - received)
    #expect(shown > 0.5, "\(String(describing: last))")
  }
}

extension SessionEvent {
  /// The case, without its values.
  var name: String { String("\(self)".prefix { $0 != "(" }) }
}
