import Base
import OTKit
import OpenTokProtocol
import SessionServer
import TestSupport
import Testing

@testable import Participant

/// What was seen and done, from any thread.
private final class Record: Sendable {
  let events = Lock<[ParticipantEvent]>([])
  let renewals = Lock(0)
  let result = Lock<Result<Void, OpenTokError>?>(nil)
  /// Connections that the server has given up.
  let forgotten = Lock(0)

  var names: [String] { events.withLock { $0.map(\.name) } }
  /// For which signalling was lost.
  var reasons: [SessionEvent.ReconnectionReason] {
    events.withLock { events in
      events.compactMap { if case .session(.sessionReconnecting(let reason)) = $0 { reason } else { nil } }
    }
  }

  func count(_ name: String) -> Int { names.count { $0 == name } }
}

@Suite(.serialized) struct RejoiningTests {
  private func server(_ record: Record) async throws -> SessionServer {
    var configuration = SessionServer.Configuration()
    configuration.port = 0
    configuration.stateDirectory = nil
    configuration.gracePeriod = .milliseconds(100)
    return try await SessionServer.start(configuration) { event in
      if case .room(.connectionDestroyed) = event { record.forgotten.withLock { $0 += 1 } }
    }
  }

  /// - Parameter age: how much later than it is the participant believes it to be when it comes back.
  private func participant(
    _ server: SessionServer, _ proxy: TCPProxy, _ record: Record, age: Int64 = 0,
    limit: Duration = .seconds(600)
  ) async throws -> Participant {
    let fetch: Participant.Renewal = { () async throws(OpenTokError) -> Credentials in
      var credentials = try await Credentials.fetch(from: server.url)
      credentials.apiURL = "http://127.0.0.1:\(proxy.port)"
      return credentials
    }
    let publisher = try Publisher(
      .init(
        name: "guest", videoSources: ["black", "noise", "test"], audioSource: "silence", width: 160,
        height: 120))
    var options = Participant.Options()
    options.reconnectionLimit = limit
    return Participant(
      credentials: try await fetch(), configuration: .init(), publisher: publisher, options: options,
      renew: { () async throws(OpenTokError) -> Credentials in
        record.renewals.withLock { $0 += 1 }
        return try await fetch()
      }, seconds: { WallClock.microseconds() / 1_000_000 + age }, renderers: { _ in nil }
    ) { event in record.events.withLock { $0.append(event) } }
  }

  private func stay(_ guest: Participant, _ record: Record) {
    Task {
      do throws(OpenTokError) {
        try await guest.run()
        record.result.withLock { $0 = .success(()) }
      } catch {
        record.result.withLock { $0 = .failure(error) }
      }
    }
  }

  @Test(.timeLimit(.minutes(10)), arguments: [(0, 0), (100 * 24 * 3600, 1)] as [(Int64, Int)])
  func aForgottenConnectionIsMadeAnew(_ age: Int64, _ renewals: Int) async throws {
    let record = Record()
    let server = try await server(record)
    let proxy = try TCPProxy(to: server.port)
    let guest = try await participant(server, proxy, record, age: age)
    stay(guest, record)
    try await eventually("published", state: { "\(record.names)" }) {
      record.count("publisherStreamCreated") == 1
    }
    let camera = try await guest.publisher?.cycleVideo()
    #expect(camera == "noise")
    // Away for longer than the server keeps a connection.
    proxy.refuse(true)
    proxy.cut()
    try await eventually("forgotten") { record.forgotten.withLock { $0 } == 1 }
    proxy.refuse(false)
    try await eventually("published again", state: { "\(record.names)" }) {
      record.count("publisherStreamCreated") == 2
    }
    #expect(record.reasons == [.connectionClosed, .connectionForgotten])
    #expect(record.count("sessionReconnected") == 0)
    #expect(record.count("sessionDisconnected") == 1)
    #expect(record.count("sessionConnected") == 2)
    #expect(record.renewals.withLock { $0 } == renewals)
    #expect(record.result.withLock { $0 == nil })
    // From the camera that was chosen, to the next one.
    let next = try await guest.publisher?.cycleVideo()
    #expect(next == "test")
    await guest.leave()
    try await eventually("left") { record.result.withLock { $0 != nil } }
    #expect(throws: Never.self) { try record.result.withLock { $0 }?.get() }
    proxy.stop()
    await server.stop()
  }

  @Test(.timeLimit(.minutes(10))) func aServerThatStaysAwayEndsTheStay() async throws {
    let record = Record()
    let server = try await server(record)
    let proxy = try TCPProxy(to: server.port)
    let guest = try await participant(server, proxy, record, limit: .seconds(2))
    stay(guest, record)
    try await eventually("published", state: { "\(record.names)" }) {
      record.count("publisherStreamCreated") == 1
    }
    proxy.refuse(true)
    proxy.cut()
    try await eventually("given up", state: { "\(record.names)" }) { record.result.withLock { $0 != nil } }
    guard case .failure(.connectionLost)? = record.result.withLock({ $0 }) else {
      Issue.record("\(record.names)")
      return
    }
    #expect(record.reasons.first == .connectionClosed && record.count("sessionConnected") == 1)
    #expect(record.count("sessionDisconnected") == 1 && record.count("error") == 1)
    proxy.stop()
    await server.stop()
  }
}
