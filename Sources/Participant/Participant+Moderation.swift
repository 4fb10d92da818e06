import OTKit

/// What a moderator can do, by the names of streams, and what tests do to a participant's own signalling.
extension Participant {
  package func muteAll() async {
    await moderate { (session, _) async throws(OpenTokError) in try await session.forceMuteAll() }
  }

  package func muteStream(named name: String) async {
    await moderate(name) { (session, stream) async throws(OpenTokError) in try await session.forceMute(stream)
    }
  }

  package func endStream(named name: String) async {
    await moderate(name) { (session, stream) async throws(OpenTokError) in
      try await session.forceUnpublish(stream)
    }
  }

  package func disconnect(named name: String) async {
    await moderate(name) { (session, stream) async throws(OpenTokError) in
      try await session.forceDisconnect(stream.connection)
    }
  }

  /// The socket is lost without a goodbye, as when a network goes away, and opened again.
  package func loseSocket() async { await session.loseSocket() }

  private func moderate(_ act: (Session, [OTKit.Stream]) async throws(OpenTokError) -> Void) async {
    do throws(OpenTokError) {
      try await act(session, await session.streams)
    } catch {
      emit(.error(error))
    }
  }

  private func moderate(
    _ name: String, _ act: (Session, OTKit.Stream) async throws(OpenTokError) -> Void
  ) async {
    await moderate { (session, streams) async throws(OpenTokError) in
      let named = streams.filter { $0.name == name }
      if named.isEmpty { emit(.refused("nobody here is called '\(name)'")) }
      for stream in named { try await act(session, stream) }
    }
  }
}
