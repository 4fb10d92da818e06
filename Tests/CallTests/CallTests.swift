import Base
import Glibc
import OpenTokProtocol
import Peer
import RTP
import SessionServer
import TestSupport
import Testing

@testable import OTKit

/// Whole calls over our own server, with real sockets, codecs and threads.
@Suite(.serialized) struct CallTests {
  @Test(.timeLimit(.minutes(10))) func twoSeeHearAndSignalEachOther() async throws {
    let server = try await Server.start()
    let a = try await Participant.join(server, data: "Ann")
    let b = try await Participant.join(server, data: "Bob")
    let (ofA, ofB) = (
      try Participant.publisher(tone: 440, name: "A"), try Participant.publisher(tone: 880, name: "B")
    )
    try await a.session.publish(ofA)
    try await b.session.publish(ofB)
    let (streamA, streamB) = (try await b.stream(named: "A"), try await a.stream(named: "B"))
    #expect(streamA.connection.data == "Ann")
    #expect(streamA.hasAudio && streamA.hasVideo)
    #expect(streamA.videoDimensions?.width == 320)
    let subscriber = try await b.session.subscribe(to: streamA)
    try await a.session.subscribe(to: streamB)
    let pictures = Lock<[Int]>([])
    subscriber.onPicture { picture in
      let brightest = picture.withPlanes { y, u, v in
        u.width == 160 && v.height == 120 ? Int(y.bytes.max() ?? 0) : 0
      }
      pictures.withLock { $0.append(picture.width * 1000 + brightest) }
    }
    try await b.seesAndHears(streamA.id, tone: 440)
    // A test pattern is not dark.
    #expect(pictures.withLock { $0 }.contains { $0 > 320_150 })
    subscriber.onPicture(nil)
    try await a.seesAndHears(streamB.id, tone: 880)
    for participant in [a, b] {
      for name in ["subscriberConnected", "firstVideoFrame", "firstAudioFrame", "publisherStreamCreated"] {
        #expect(participant.events.count { $0.name == name } == 1, "\(name)")
      }
    }

    // Muted: the other side is told, and hears nothing.
    await ofA.publishAudio(false)
    try await b.waitFor("muted") { event in
      if case .streamPropertyChanged(let stream, .hasAudio(true, false)) = event { stream.id } else { nil }
    }
    try await eventually("silence") {
      (await b.subscriberStatistics(of: streamA.id)?.audio["audioLevel"] ?? 0) < -60
    }
    await ofA.publishAudio(true)
    try await b.seesAndHears(streamA.id, tone: 440)

    // Camera off and on.
    await ofA.publishVideo(false)
    try await b.waitFor("video disabled") { event in
      if case .videoDisabled(streamA.id, .publishVideo) = event { true } else { nil }
    }
    await ofA.publishVideo(true)
    try await b.waitFor("video enabled") { event in
      if case .videoEnabled(streamA.id, .publishVideo) = event { true } else { nil }
    }
    try await b.seesAndHears(streamA.id, tone: 440)
    try await eventually("a picture that is not old") {
      let video = await b.subscriberStatistics(of: streamA.id)?.video
      return (video?["endToEndLatency"] ?? 1000) < 1000
    }

    // Signals.
    try await a.session.signal(type: "chat", data: "grüß dich ✓")
    let chat = try await b.waitFor("a signal") { event in
      if case .signal(let signal) = event { signal } else { nil }
    }
    #expect(chat.type == "chat" && chat.data == "grüß dich ✓" && !chat.isFromSelf)
    #expect(chat.from?.data == "Ann")
    try await b.session.signal(type: "reply", data: nil, to: streamA.connection)
    let reply = try await a.waitFor("the reply") { event in
      if case .signal(let signal) = event, signal.type == "reply" { signal } else { nil }
    }
    #expect(reply.data == nil && reply.from?.data == "Bob")

    // Leaving.
    try await b.session.unsubscribe(subscriber)
    #expect(b.events.contains { $0.name == "subscriberDestroyed" })
    await b.session.disconnect()
    try await a.waitFor("the subscriber's end") { event in
      if case .subscriberDestroyed(streamB.id, .clientDisconnected) = event { true } else { nil }
    }
    let left = try await a.waitFor("the connection's end") { event in
      if case .connectionDestroyed(let connection, .clientDisconnected) = event { connection } else { nil }
    }
    #expect(left.data == "Bob")
    try await b.waitFor("its own end") { $0.name == "sessionDisconnected" ? true : nil }
    #expect(b.events.last?.name == "sessionDisconnected")
    #expect(
      !(a.events + b.events).contains { ["subscriberDisconnected", "warning", "error"].contains($0.name) })
    await a.session.disconnect()
    await server.stop()
  }

  @Test(.timeLimit(.minutes(10))) func leavingWhileMediaIsMadeStartsNone() async throws {
    let server = try await Server.start()
    let a = try await Participant.join(server)
    try await a.session.publish(try Participant.publisher(name: "A"))
    let b = try await Participant.join(server)
    let stream = try await b.stream(named: "A")
    let publisher = try Participant.publisher(name: "B")
    // What they make on the network thread comes after the end.
    let isHeld = Lock(true)
    NetworkActor.perform {
      let deadline = MonotonicClock.now() + .seconds(60)
      while isHeld.withLock({ $0 }), MonotonicClock.now() < deadline { usleep(1000) }
    }
    func refusal(_ body: () async throws(OpenTokError) -> Void) async -> OpenTokError? {
      do throws(OpenTokError) { try await body() } catch { return error }
      return nil
    }
    async let publishing = refusal { () throws(OpenTokError) in try await b.session.publish(publisher) }
    async let subscribing = refusal { () throws(OpenTokError) in try await b.session.subscribe(to: stream) }
    try await eventually("both are under way") {
      let hasAudio = await b.session.audio != nil
      return publisher.streamID != nil && hasAudio
    }
    await b.session.disconnect()
    isHeld.withLock { $0 = false }
    #expect(await publishing == .notConnected)
    #expect(await subscribing == .notConnected)
    #expect(await b.session.audio == nil)
    #expect(await b.session.publications.isEmpty)
    #expect(await b.session.subscriptions.isEmpty)
    #expect(publisher.streamID == nil)
    await a.session.disconnect()
    await server.stop()
  }

  @Test(.timeLimit(.minutes(10))) func mediaSurvivesALostSocketAndNothingIsLost() async throws {
    let server = try await Server.start(gracePeriod: .seconds(120))
    let proxy = try TCPProxy(to: server.server.port)
    let a = try await Participant.join(server)
    let b = try await Participant.join(server, port: proxy.port)
    let publisher = try Participant.publisher()
    try await a.session.publish(publisher)
    let stream = try await b.stream()
    try await b.session.subscribe(to: stream)
    try await b.seesAndHears(stream.id, tone: 440)

    proxy.refuse(true)
    proxy.cut()
    try await b.waitFor("the loss") { $0.name == "sessionReconnecting" ? true : nil }
    let before = try await #require(b.subscriberStatistics(of: stream.id)).video["framesDecoded"] ?? 0
    // One tells, the other asks to be told, while the way is closed.
    try await a.session.signal(type: "during", data: "1")
    async let sent: Void = b.session.signal(type: "back", data: "2")
    try await eventually("pictures go on") {
      (await b.subscriberStatistics(of: stream.id)?.video["framesDecoded"] ?? 0) > before + 15
    }
    #expect(!b.events.contains { $0.name == "sessionReconnected" })
    proxy.refuse(false)
    try await b.waitFor("the return") { $0.name == "sessionReconnected" ? true : nil }
    try await sent
    try await b.waitFor("the signal from meanwhile") { event in
      if case .signal(let signal) = event, signal.type == "during" { true } else { nil }
    }
    try await a.waitFor("the signal that waited") { event in
      if case .signal(let signal) = event, signal.type == "back" { true } else { nil }
    }
    #expect(a.events.count { $0.name == "signal" } == 2)
    try await b.seesAndHears(stream.id, tone: 440)
    #expect(b.events.count { $0.name == "subscriberConnected" } == 1)
    #expect(!a.events.contains { $0.name == "connectionDestroyed" })
    await a.session.disconnect()
    await b.session.disconnect()
    proxy.stop()
    await server.stop()
  }

  @Test(.timeLimit(.minutes(10))) func swappingTheCameraCostsOneKeyFrame() async throws {
    let server = try await Server.start()
    let a = try await Participant.join(server)
    let b = try await Participant.join(server)
    let publisher = try Participant.publisher(sources: ["test", "noise"])
    try await a.session.publish(publisher)
    let stream = try await b.stream()
    try await b.session.subscribe(to: stream)
    try await b.seesAndHears(stream.id, tone: 440)
    let before = try await #require(a.session.statistics().publishers.first).video
    #expect(try await publisher.cycleVideo() == "noise")
    try await eventually("the other picture") {
      (await a.session.statistics().publishers.first?.video["keyFramesEncoded"] ?? 0)
        > before["keyFramesEncoded"] ?? 0
    }
    #expect(try await publisher.cycleVideo() == "test")
    try await eventually("the first picture again") {
      (await a.session.statistics().publishers.first?.video["keyFramesEncoded"] ?? 0)
        >= (before["keyFramesEncoded"] ?? 0) + 2
    }
    try await b.seesAndHears(stream.id, tone: 440)
    let after = try await #require(a.session.statistics().publishers.first).video
    // One each; on a slow machine the decoder may ask for more.
    let asked = (after["pliCount"] ?? 0) - (before["pliCount"] ?? 0)
    let made = (after["keyFramesEncoded"] ?? 0) - (before["keyFramesEncoded"] ?? 0)
    #expect(made >= 2 && made <= 3 + asked, "\(made), \(asked)")
    #expect(b.events.count { $0.name == "subscriberConnected" } == 1)
    await a.session.disconnect()
    await b.session.disconnect()
    await server.stop()
  }

  @Test(.timeLimit(.minutes(10))) func oneEncodingServesSeveral() async throws {
    let server = try await Server.start()
    let a = try await Participant.join(server)
    let publisher = try Participant.publisher()
    try await a.session.publish(publisher)
    let others = [try await Participant.join(server), try await Participant.join(server)]
    for other in others { try await other.session.subscribe(to: await other.stream()) }
    for other in others { try await other.seesAndHears(await other.stream().id, tone: 440) }
    let statistics = try await #require(a.session.statistics().publishers.first)
    #expect(statistics.subscribers.count == 2)
    let sent = statistics.subscribers.map { $0.video["framesSent"] ?? 0 }
    #expect(sent.allSatisfy { $0 >= 25 })
    #expect((statistics.video["framesSent"] ?? 0) == sent.reduce(0, +))
    #expect((statistics.video["framesEncoded"] ?? 0) < sent.reduce(0, +))
    for participant in others + [a] { await participant.session.disconnect() }
    await server.stop()
  }

  /// As the publisher decides when a path carries too little for a picture.
  @Test(.timeLimit(.minutes(10))) func aPictureThatTheNetworkTakesIsToldToBoth() async throws {
    let server = try await Server.start()
    let a = try await Participant.join(server)
    let b = try await Participant.join(server, data: "Bob")
    try await a.session.publish(try Participant.publisher(name: "A"))
    let stream = try await b.stream(named: "A")
    try await b.session.subscribe(to: stream)
    try await b.seesAndHears(stream.id, tone: 440)
    let peer = try await #require(a.session.publications[stream.id]?.subscribers.keys.first)
    for change in [.videoDisableWarning, .videoDisabled, .videoEnabled, .videoDisableWarningLifted]
      as [AudioFallback.Change]
    {
      await a.session.publisherPeer(.fallback(peer, change))
    }
    try await b.waitFor("all of it") { $0.name == "videoDisableWarningLifted" ? true : nil }
    let names = b.events.map(\.name).filter { $0.hasPrefix("video") }
    #expect(names == ["videoDisableWarning", "videoDisabled", "videoEnabled", "videoDisableWarningLifted"])
    let reasons = b.events.compactMap { event -> SessionEvent.VideoReason? in
      switch event {
      case .videoDisabled(stream.id, let reason), .videoEnabled(stream.id, let reason): reason
      default: nil
      }
    }
    #expect(reasons == [.quality, .quality])
    let told = a.events.compactMap { event -> String? in
      guard case .publisherVideo(stream.id, peer.subscriberID, let name, let change) = event else {
        return nil
      }
      return "\(change) \(name ?? "?")"
    }
    #expect(
      told == [
        "videoDisableWarning Bob", "videoDisabled Bob", "videoEnabled Bob", "videoDisableWarningLifted Bob",
      ])
    await b.session.disconnect()
    await a.session.disconnect()
    await server.stop()
  }

  @Test(.timeLimit(.minutes(10))) func aStreamIsReceivedByItsOwnPublisher() async throws {
    let server = try await Server.start()
    let a = try await Participant.join(server)
    let publisher = try Participant.publisher()
    try await a.session.publish(publisher)
    let stream = try await a.waitFor("our stream") { event in
      if case .publisherStreamCreated(let stream) = event { stream } else { nil }
    }
    try await a.session.subscribe(to: stream)
    try await a.seesAndHears(stream.id, tone: 440)
    #expect(!a.events.contains { $0.name == "streamCreated" || $0.name == "error" })
    try await a.session.unpublish(publisher)
    try await a.waitFor("the end") { $0.name == "subscriberDestroyed" ? true : nil }
    await a.session.disconnect()
    await server.stop()
  }

  @Test(.timeLimit(.minutes(10))) func aSessionLivesUntilItIsLeft() async throws {
    let server = try await Server.start()
    let a = try await Participant.join(server)
    var session: Session? = Session(
      apiKey: Server.key, sessionID: server.sessionID,
      configuration: .init(apiURL: "http://127.0.0.1:\(server.server.port)"))
    weak let observed = session
    try await session?.connect(token: server.token(data: "short"))
    try await session?.publish(Participant.publisher(name: "short"))
    let stream = try await a.stream(named: "short")
    session = nil
    #expect(observed != nil)
    await observed?.disconnect()
    try await a.waitFor("its end") { event in
      if case .streamDestroyed(let ended, .clientDisconnected) = event {
        ended == stream ? true : nil
      } else {
        nil
      }
    }
    try await eventually("it is let go") { observed == nil }
    await a.session.disconnect()
    await server.stop()
  }

  @Test func aModeratorMutesUnpublishesAndDisconnects() async throws {
    let server = try await Server.start()
    let a = try await Participant.join(server)
    let moderator = try await Participant.join(server, .moderator)
    let publisher = try Participant.publisher()
    try await a.session.publish(publisher)
    let stream = try await moderator.stream()
    try await moderator.session.forceMute(stream)
    try await a.waitFor("muted") { $0.name == "publisherMuted" ? true : nil }
    #expect(!publisher.isPublishingAudio)
    try await moderator.waitFor("the mute's effect") { event in
      if case .streamPropertyChanged(_, .hasAudio(true, false)) = event { true } else { nil }
    }
    try await moderator.session.forceUnpublish(stream)
    try await a.waitFor("unpublished") { event in
      if case .publisherStreamDestroyed(_, .forceUnpublished) = event { true } else { nil }
    }
    #expect(publisher.streamID == nil)
    try await moderator.session.forceMuteAll()
    try await a.waitFor("everybody muted") { event in
      if case .muteForced(active: true) = event { true } else { nil }
    }
    let other = try #require(await moderator.session.connection)
    let refusal = await #expect(throws: OpenTokError.self) { try await a.session.forceDisconnect(other) }
    #expect(refusal?.code == 1520)
    try await moderator.session.forceDisconnect(stream.connection)
    let error = try await a.waitFor("thrown out") { event in
      if case .sessionDisconnected(.forceDisconnected, let error) = event { error } else { nil }
    }
    #expect(error == .forceDisconnected)
    #expect(await !a.session.isConnected)
    await moderator.session.disconnect()
    await server.stop()
  }

  @Test func refusalsHaveTheirOwnErrors() async throws {
    let server = try await Server.start()
    let late = Participant(server)
    let expired = server.token(expiresIn: -312)
    let error = await #expect(throws: OpenTokError.self) { try await late.session.connect(token: expired) }
    guard case .tokenExpired(let seconds)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect((312...372).contains(seconds))
    await late.session.disconnect()
    let forger = Participant(server)
    let now = WallClock.microseconds() / 1_000_000
    let forged = Token(
      apiKey: Server.key, sessionID: server.sessionID, createTime: now, expireTime: now + 60, nonce: "1"
    ).signed(secret: "guessed")
    let refusal = await #expect(throws: OpenTokError.self) { try await forger.session.connect(token: forged) }
    #expect(refusal?.code == 1004)
    #expect(refusal?.exitCode == .refused)

    let viewer = try await Participant.join(server, .subscriber)
    await #expect(
      throws: OpenTokError.publishRefused(status: 403, reason: "the token's role may not publish")
    ) { try await viewer.session.publish(Participant.publisher()) }
    await #expect(throws: OpenTokError.signalTypeInvalid) {
      try await viewer.session.signal(type: "no blanks", data: nil)
    }
    await #expect(throws: OpenTokError.signalTooLarge) {
      try await viewer.session.signal(type: "big", data: String(repeating: "x", count: 9000))
    }
    await #expect(throws: OpenTokError.self) {
      try await viewer.session.signal(type: "x", data: "y", toConnection: "nobody")
    }
    await viewer.session.disconnect()
    await #expect(throws: OpenTokError.notConnected) {
      try await viewer.session.signal(type: "x", data: "y")
    }
    await server.stop()
  }
}
