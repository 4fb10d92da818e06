import OTKit

/// What a moderator can do, and what tests do to a participant's own signalling.
///
/// `who` is a connection's id, a stream's id, or a name (`ParticipantRoll.entries(of:)`). The server says whether
/// we may; what it refuses is an `error` event.
extension Participant {
  package var capabilities: Capabilities? {
    get async { await session.capabilities }
  }

  /// Tells who is here.
  package func tellParticipants() { emit(.participants(roll.entries)) }

  /// - Parameter who: stays as it is, with all its streams.
  package func muteAll(except who: String? = nil) async {
    let exceptions = who.map { roll.entries(of: $0) } ?? []
    if let who, exceptions.isEmpty { return emit(.refused("nobody here is called '\(who)'")) }
    let streams = exceptions.flatMap(\.streams)
    await moderate { (session) async throws(OpenTokError) in
      try await session.forceMuteAll(excluding: streams)
    }
  }

  package func liftMute() async {
    await moderate { (session) async throws(OpenTokError) in try await session.disableForceMute() }
  }

  package func mute(_ who: String) async {
    for stream in streams(of: who) {
      await moderate { (session) async throws(OpenTokError) in try await session.forceMute(stream) }
    }
  }

  package func unpublish(_ who: String) async {
    for stream in streams(of: who) {
      await moderate { (session) async throws(OpenTokError) in try await session.forceUnpublish(stream) }
    }
  }

  package func disconnect(_ who: String) async {
    for entry in others(who) {
      await moderate { (session) async throws(OpenTokError) in
        try await session.forceDisconnect(entry.connection)
      }
    }
  }

  /// The socket is lost without a goodbye, as when a network goes away, and opened again.
  package func loseSocket() async { await session.loseSocket() }

  /// Of a name that we have, too, the others are meant.
  private func others(_ who: String) -> [ParticipantRoll.Entry] {
    let entries = roll.entries(of: who).filter { !$0.isOwn }
    if entries.isEmpty { emit(.refused("nobody else here is called '\(who)'")) }
    return entries
  }

  /// Those of them that are meant: of a stream's id that one, else all.
  private func streams(of who: String) -> [OTKit.Stream] {
    let entries = others(who)
    let streams = entries.flatMap(\.streams)
    if let stream = streams.first(where: { $0.id == who }) { return [stream] }
    if streams.isEmpty, !entries.isEmpty { emit(.refused("'\(who)' publishes nothing")) }
    return streams
  }

  private func moderate(_ act: (Session) async throws(OpenTokError) -> Void) async {
    do throws(OpenTokError) {
      try await act(session)
    } catch {
      emit(.error(error))
    }
  }
}
