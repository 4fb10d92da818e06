import Base
import OpenTokProtocol
import TestSupport
import Testing

@testable import OTKit

/// The server's half of recorded sessions, played to a machine in the place of the recorded client.
@Suite struct SignallingTraceTests {
  static let names = ((try? Trace.names()) ?? []).filter { !$0.hasSuffix("refused") }

  /// What a client in the place of `socket`'s sees and does.
  struct Replay {
    var machine: SignallingMachine
    var events: [SignallingEvent] = []
    var acknowledged: [String] = []
    /// Transactions of the server's messages.
    var delivered: [String] = []
  }

  static func replay(_ name: String, socket: Int) throws -> Replay {
    let trace = try Trace(name: name)
    var replay: Replay?
    var transactions: [String: String] = [:]
    for line in trace.lines where line.socket == socket {
      let now = Instant(nanoseconds: Int64(line.time * 1e9))
      switch line.content {
      case .http:
        break
      case .open:
        replay?.machine.socketOpened(at: now)
      case .close(let code):
        guard !line.isFromClient else { break }
        replay?.machine.socketClosed(code: code, at: now)
      case .frame(let recorded):
        var frame = try RumorFrame(decoding: recorded.bytes)
        if line.isFromClient {
          if frame.kind == .connect, replay == nil {
            let id = try #require(frame.headers["uniqueId"])
            var machine = try SignallingMachine(
              configuration(trace, connectionID: id), generator: SeededGenerator(seed: 1))
            machine.start(at: now)
            machine.socketOpened(at: now)
            replay = Replay(machine: machine)
          }
          if frame.headers["X-TB-TOKEN-AUTH"] != nil, case .joining(let ours, _)? = replay?.machine.state {
            transactions[frame.transactionID ?? ""] = ours
          }
        } else {
          if frame.kind == .status, let id = frame.transactionID {
            frame.headers["TRANSACTION-ID"] = transactions[id] ?? id
          }
          if frame.kind == .message, let id = frame.transactionID { replay?.delivered.append(id) }
          replay?.machine.received(frame, at: now)
        }
      }
      while let action = replay?.machine.nextAction() {
        if let event = action.event { replay?.events.append(event) }
        if let frame = action.frame, frame.kind == .status, let id = frame.transactionID {
          replay?.acknowledged.append(id)
        }
      }
    }
    return try #require(replay)
  }

  private static func configuration(
    _ trace: Trace, connectionID: String
  ) throws -> SignallingMachine.Configuration {
    for line in trace.lines {
      guard case .http(let exchange) = line.content, exchange.method == "GET" else { continue }
      let info = try SessionInfo(JSON(parsing: exchange.body))
      return .init(
        apiKey: info.partnerID, sessionID: info.sessionID, token: "T1==", connectionID: connectionID,
        symphonyAddress: info.symphonyAddress, reconnection: info.reconnection)
    }
    throw SessionInfoError.malformed(missing: "session")
  }

  @Test(arguments: names, [0, 1]) func everyMessageIsUnderstoodAndAcknowledged(
    _ name: String, _ socket: Int
  ) throws {
    let replay = try Self.replay(name, socket: socket)
    // The oldest client asks for the session's state once more; we never do.
    #expect(replay.machine.ignoredFrames == (name.hasPrefix("web-2.7.6") ? 1 : 0))
    #expect(!replay.delivered.isEmpty)
    #expect(replay.acknowledged == replay.delivered)
    guard case .connected? = replay.events.first else {
      Issue.record("\(replay.events)")
      return
    }
  }

  @Test func aPublisherAndASubscriberSeeEachOther() throws {
    let events = try Self.replay("web-2.28.0-publish-subscribe", socket: 1).events
    let created = events.compactMap { if case .streamCreated(let stream) = $0 { stream } else { nil } }
    #expect(created.map(\.name) == ["stream A", "stream B"])
    #expect(created.map(\.hasVideo) == [true, false])
    #expect(created.map(\.connection.data) == ["name=publisher", "name=moderator"])
    let offers = events.filter { if case .offer = $0 { true } else { false } }
    #expect(offers.count == 2)
    let candidates = events.filter { if case .candidate = $0 { true } else { false } }
    #expect(candidates.count > 4)
    #expect(events.contains(.streamDestroyed(created[0], reason: "clientDisconnected")))
    #expect(
      events.contains(.connectionDestroyed(created[0].connection, reason: "clientDisconnected")))
  }

  @Test func mutingIsPassedOn() throws {
    let events = try Self.replay("web-2.28.0-video-and-mute", socket: 0).events
    let mutes = events.compactMap { if case .muteForced(let active) = $0 { active } else { nil } }
    #expect(mutes == [true, false])
    let requests = events.compactMap { if case .muteRequested(_, let active) = $0 { active } else { nil } }
    #expect(requests == [true, true])
    let video = events.compactMap { event in
      if case .channelUpdated(let stream, _, let to) = event, to.kind == .video {
        stream.hasVideo
      } else {
        nil
      }
    }
    #expect(video == [false, true])
  }

  @Test func aModeratorThrowsOut() throws {
    let events = try Self.replay("web-2.28.0-moderation", socket: 0).events
    #expect(events.last == .disconnected(reason: "forceDisconnected", .forceDisconnected))
    let ends = events.compactMap { if case .streamDestroyed(_, let reason) = $0 { reason } else { nil } }
    #expect(ends == ["forceUnpublished", "forceDisconnected"])
  }

  @Test func signalsComeAsTheyWereSent() throws {
    let signals = try Self.replay("web-2.28.0-signals", socket: 0).events.compactMap { event in
      if case .signal(let type, let data, let from) = event {
        "\(type ?? "-") \(data?.stringValue ?? "-") \(from == nil ? "server" : "client")"
      } else {
        nil
      }
    }
    #expect(
      signals == [
        "msg hello all client", "msg to one client", "chat ü“\\\"✓😀\n</x> client", "- without type client",
        "empty - client", "rest from the server server",
      ])
  }
}
