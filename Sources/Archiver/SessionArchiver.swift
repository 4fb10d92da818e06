import Base
import OTKit
import SessionServer

/// Records one archive: a member of the session whom no one sees, who hands what it receives to an output
/// without decoding it.
actor SessionArchiver: ArchiveRecorder {
  private let request: ArchiveRequest
  private let session: Session
  private let token: String
  private let output: any ArchiveOutput
  private let report: ArchiveRecorderFactory.FailureReport
  private var subscribers: [String: Subscriber] = [:]
  /// Being subscribed to, or subscribed to.
  private var taken: Set<String> = []
  /// What is wanted of each stream, with manual streams.
  private var wanted: [String: (hasAudio: Bool, hasVideo: Bool)] = [:]
  /// Pictures that the network is too slow for.
  private var paused: Set<String> = []
  private var following: Task<Void, Never>?
  private var isOver = false

  init(
    _ request: ArchiveRequest, _ credentials: ArchiverCredentials, output: any ArchiveOutput,
    report: @escaping ArchiveRecorderFactory.FailureReport
  ) {
    self.request = request
    self.output = output
    self.report = report
    token = credentials.token
    // The server is this process, whatever its certificate says.
    session = Session(
      apiKey: credentials.apiKey, sessionID: credentials.sessionID,
      configuration: Session.Configuration(
        apiURL: credentials.apiURL, trust: TLSTrust(insecure: credentials.certificateFile != nil)))
  }

  func start() async throws(ArchiveError) {
    do throws(OpenTokError) {
      try await session.connect(token: token)
    } catch {
      throw .session(error.message)
    }
    do throws(ArchiveError) {
      try await output.begin()
    } catch {
      isOver = true
      await session.disconnect()
      throw error
    }
    following = Task { await follow() }
  }

  func stop() async throws(ArchiveError) -> ArchiveFile {
    guard !isOver else { throw .session("it has ended") }
    isOver = true
    await session.disconnect()
    await following?.value
    return try await output.finish()
  }

  func setLayout(_ layout: ArchiveLayout) async { await output.setLayout(layout) }

  func setLayoutClasses(_ classes: [String], ofStream id: String) async {
    await output.setClasses(classes, ofStream: id)
  }

  func addStream(_ id: String, hasAudio: Bool, hasVideo: Bool) async {
    guard request.streamMode == .manual else { return }
    wanted[id] = (hasAudio, hasVideo)
    guard let stream = await session.streams.first(where: { $0.id == id }) else { return }
    if taken.contains(id) { await update(stream) } else { await subscribe(to: stream) }
  }

  func removeStream(_ id: String) async {
    wanted[id] = nil
    guard let subscriber = subscribers.removeValue(forKey: id) else { return }
    taken.remove(id)
    try? await session.unsubscribe(subscriber)
  }

  // MARK: The session's events

  private func follow() async {
    for await event in session.events {
      switch event {
      case .streamCreated(let stream):
        // Not awaited: a publisher that is slow to answer must not hold up the others.
        Task { await subscribe(to: stream) }
      case .streamDestroyed(let stream, _), .publisherStreamDestroyed(let stream, _):
        forget(stream.id)
      case .subscriberDestroyed(let id, _): forget(id)
      case .streamPropertyChanged(let stream, _): await update(stream)
      case .videoDisabled(let id, .quality): await setPaused(id, true)
      case .videoEnabled(let id, .quality): await setPaused(id, false)
      case .sessionDisconnected(let reason, let error):
        await fail(.session(error?.message ?? reason.rawValue))
      default: break
      }
    }
  }

  private func forget(_ id: String) {
    subscribers[id] = nil
    taken.remove(id)
    paused.remove(id)
  }

  private func setPaused(_ id: String, _ isPaused: Bool) async {
    if isPaused { paused.insert(id) } else { paused.remove(id) }
    if let stream = await session.streams.first(where: { $0.id == id }) { await update(stream) }
  }

  private func choice(_ id: String) -> (hasAudio: Bool, hasVideo: Bool)? {
    let choice = request.streamMode == .manual ? wanted[id] : (true, true)
    return choice.map { ($0.hasAudio && request.hasAudio, $0.hasVideo && request.hasVideo) }
  }

  private func update(_ stream: OTKit.Stream) async {
    guard taken.contains(stream.id), let (hasAudio, hasVideo) = choice(stream.id) else { return }
    await output.update(
      stream.id, hasAudio: hasAudio, hasVideo: hasVideo && stream.hasVideo && !paused.contains(stream.id))
    await subscribers[stream.id]?.subscribeToVideo(hasVideo)
  }

  private func subscribe(to stream: OTKit.Stream) async {
    guard !isOver, let (hasAudio, hasVideo) = choice(stream.id), !taken.contains(stream.id) else { return }
    guard taken.count < type(of: output).maximumStreams else {
      Log.info("archive", "stream \(stream.id) is not recorded: there are too many")
      return
    }
    taken.insert(stream.id)
    do throws(ArchiveError) {
      let sink = try await output.add(stream, hasAudio: hasAudio, hasVideo: hasVideo)
      var options = Session.SubscribeOptions(subscribeToAudio: hasAudio, subscribeToVideo: hasVideo)
      options.decodes = false
      do throws(OpenTokError) {
        subscribers[stream.id] = try await session.subscribe(
          to: stream.id, options: options, renderer: nil, sink: sink)
      } catch {
        // Mostly it has ended meanwhile.
        taken.remove(stream.id)
        Log.info("archive", "stream \(stream.id) is not recorded: \(error.message)")
      }
      await update(stream)
    } catch {
      await fail(error)
    }
  }

  /// Ends a recording that cannot go on. Nothing if it has ended.
  func fail(_ error: ArchiveError) async {
    guard !isOver else { return }
    isOver = true
    await session.disconnect()
    await output.abandon()
    report(error)
  }
}
