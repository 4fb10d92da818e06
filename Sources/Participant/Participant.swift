import Base
import MediaIO
import OTKit

/// Somebody in a session: what `otchat connect` does without its terminal and its files.
///
/// Connects, publishes, subscribes by a policy, sends what it was told to send, and ends when it is asked
/// to, when its time is up, when an awaited event has come, or when the session ends.
package actor Participant {
  package struct Options: Sendable {
    package var subscribe = SubscriptionPolicy.first
    package var subscriberAudio = true
    /// False: what is received is counted and neither decoded nor heard.
    package var decodes = true
    /// Sent once connected.
    package var signals: [(type: String, data: String)] = []
    /// The connection that `signals` go to; nil: everybody.
    package var signalsTo: String?
    /// What asking for the credentials took, if somebody was asked.
    package var credentialsTime: Duration?
    /// After being connected.
    package var duration: Duration?
    /// An event's name.
    package var until: String?
    /// Between `stats` events.
    package var statisticsInterval: Duration?
    /// Where what is received is recorded.
    package var recordings: RecordingDirectory?
    /// How long a lost session is looked for, and entered anew if need be, before the stay ends.
    package var reconnectionLimit: Duration = .seconds(600)
    /// Ends the stay early when all are decided.
    package var expectations: [Expectation] = []

    package init() {}
  }

  /// Gives the place to draw to: our own picture for nil, else that of a stream.
  package typealias Renewal = @Sendable () async throws(OpenTokError) -> Credentials
  package typealias Renderers = @Sendable (_ streamID: String?) -> (any VideoSink)?

  var session: Session
  var credentials: Credentials
  let configuration: Session.Configuration
  /// Asks the app server for credentials again.
  let renew: Renewal?
  /// Since the Unix epoch.
  let seconds: @Sendable () -> Int64
  package nonisolated let publisher: Publisher?
  let options: Options
  private let renderers: Renderers
  private let observer: @Sendable (ParticipantEvent) -> Void

  var plan: SubscriptionPlan
  var roll = ParticipantRoll()
  var subscribers: [String: Subscriber] = [:]
  var subscriberAudio: Bool
  /// Those that have not finished, and by stream what they record.
  var recorders: [(recorder: StreamRecorder, streamID: String)] = []
  private(set) var ending: Result<Void, OpenTokError>?
  package private(set) var hasEntered = false
  var rejoining: RejoiningPlan
  /// What the last attempt to enter anew was at.
  var rejoiningStage = OpenTokError.Stage.signalling
  /// How the session ended, where it can be entered anew.
  var loss: OpenTokError?
  private var monitor: ExpectationMonitor
  /// What came of `Options.expectations`; there when `run` has returned.
  package private(set) var expectationResults: [ExpectationMonitor.Result] = []
  /// Why the session could not be entered, or not again.
  package internal(set) var connectFailure: ConnectFailure?
  /// How the session ended, if it did. While it is being entered, `connect` tells better why.
  private var sessionEnding: Result<Void, OpenTokError>?
  private var waiting: CheckedContinuation<Void, Never>?
  private var waitingForEntry: [CheckedContinuation<Void, Never>] = []

  /// - Parameters:
  ///   - renew: for when the session has to be entered anew and the token has expired.
  ///   - observer: gets every event, in order; must not block.
  package init(
    credentials: Credentials, configuration: Session.Configuration, publisher: Publisher?, options: Options,
    renew: Renewal? = nil,
    seconds: @escaping @Sendable () -> Int64 = { WallClock.microseconds() / 1_000_000 },
    renderers: @escaping Renderers,
    observer: @escaping @Sendable (ParticipantEvent) -> Void
  ) {
    var configuration = configuration
    configuration.reconnectionLimit = options.reconnectionLimit
    rejoining = RejoiningPlan(limit: options.reconnectionLimit)
    session = Session(credentials, configuration: configuration)
    self.credentials = credentials
    self.configuration = configuration
    self.renew = renew
    self.seconds = seconds
    self.publisher = publisher
    self.options = options
    self.renderers = renderers
    self.observer = observer
    plan = SubscriptionPlan(options.subscribe)
    monitor = ExpectationMonitor(options.expectations)
    subscriberAudio = options.subscriberAudio
  }

  /// The whole stay. Returns when it was ended as asked.
  ///
  /// - Throws: why the session could not be entered, or why it ended unasked.
  package func run() async throws(OpenTokError) {
    if let renderer = renderers(nil) { await publisher?.setRenderer(renderer) }
    let events = Task { await follow() }
    do throws(OpenTokError) {
      try await enter()
      let timers = startTimers()
      await untilEnded()
      for timer in timers { timer.cancel() }
    } catch {
      finish(.failure(error))
      // A session that was never entered has no last event.
      if await !session.isConnected { events.cancel() }
    }
    if await session.isConnected {
      let last = await statistics()
      if options.statisticsInterval != nil { emit(.stats(last)) }
      sample(last)
    }
    await session.disconnect()
    await events.value
    await finishRecordings()
    expectationResults = monitor.end(at: MonotonicClock.now())
    for result in expectationResults { observer(.expectation(result)) }
    try ending?.get()
  }

  /// Returns when the session has been entered, or when it never will be.
  package func untilEntered() async {
    guard !hasEntered, ending == nil else { return }
    await withCheckedContinuation { waitingForEntry.append($0) }
  }

  private func stopWaitingForEntry() {
    for continuation in waitingForEntry { continuation.resume() }
    waitingForEntry = []
  }

  /// Ends the stay, as asked. Any time; the second call does nothing.
  package func leave() { finish(.success(())) }

  func emit(_ event: ParticipantEvent) {
    assert(ParticipantEvent.names.contains(event.name))
    observer(event)
    if event.name == options.until { leave() }
    guard !options.expectations.isEmpty else { return }
    monitor.received(event, at: MonotonicClock.now())
    if monitor.isDecided { leave() }
  }

  private func sample(_ statistics: ParticipantStatistics) {
    guard !options.expectations.isEmpty else { return }
    monitor.sampled(.object(statistics.json), at: MonotonicClock.now())
    if monitor.isDecided { leave() }
  }

  // MARK: Entering

  private func enter() async throws(OpenTokError) {
    guard ending == nil else { return }
    let entering = Task { [token = credentials.token] () async -> Result<Void, OpenTokError> in
      do throws(OpenTokError) {
        try await session.connect(token: token)
        return .success(())
      } catch {
        return .failure(error)
      }
    }
    self.entering = entering
    var clock = StageClock(at: MonotonicClock.now() - (options.credentialsTime ?? .zero))
    if options.credentialsTime != nil { clock.ended(.credentials, at: MonotonicClock.now()) }
    let entered = await entering.value
    self.entering = nil
    // Asked to leave meanwhile: that it did not get in is no fault then.
    guard ending == nil else { return }
    if case .failure(let error) = entered { failedToConnect(error, clock, in: .signalling) }
    try entered.get()
    hasEntered = true
    stopWaitingForEntry()
    if let sessionEnding { finish(sessionEnding) }
    if let publisher { try await publish(publisher, in: session) }
    for signal in options.signals { await send(type: signal.type, data: signal.data, to: options.signalsTo) }
  }

  func failedToConnect(_ error: OpenTokError, _ clock: StageClock, in stage: OpenTokError.Stage) {
    let failure = ConnectFailure(error, clock.failed(in: stage, at: MonotonicClock.now()))
    connectFailure = failure
    emit(.connectFailed(failure))
  }

  var entering: Task<Result<Void, OpenTokError>, Never>?

  private func startTimers() -> [Task<Void, Never>] {
    var timers: [Task<Void, Never>] = []
    if let duration = options.duration {
      timers.append(
        Task {
          guard (try? await Task.sleep(for: duration)) != nil else { return }
          leave()
        })
    }
    if !options.expectations.isEmpty {
      timers.append(
        Task {
          while (try? await Task.sleep(for: .seconds(1))) != nil { sample(await statistics()) }
        })
    }
    if let interval = options.statisticsInterval {
      timers.append(
        Task {
          while (try? await Task.sleep(for: interval)) != nil { emit(.stats(await statistics())) }
        })
    }
    return timers
  }

  // MARK: Ending

  private func finish(_ result: Result<Void, OpenTokError>) {
    guard ending == nil else { return }
    ending = result
    entering?.cancel()
    stopWaitingForEntry()
    waiting?.resume()
    waiting = nil
  }

  /// A session that is lost meanwhile is no reason to leave: it is entered anew.
  func publish(_ publisher: Publisher, in session: Session) async throws(OpenTokError) {
    do throws(OpenTokError) {
      try await session.publish(publisher)
    } catch {
      guard error == .notConnected || RejoiningPlan.isLoss(error) else { throw error }
    }
  }

  private func untilEnded() async {
    guard ending == nil else { return }
    await withCheckedContinuation { waiting = $0 }
  }

  // MARK: The session's events

  private func follow() async {
    repeat { await followSession() } while await rejoin()
    sessionEnded(.success(()))
  }

  private func followSession() async {
    for await event in session.events {
      _ = roll.update(event)
      emit(.session(event))
      switch event {
      case .streamCreated(let stream):
        carryOut(plan.streamCreated(stream.id, name: stream.name, isOwn: false))
      case .publisherStreamCreated(let stream):
        carryOut(plan.streamCreated(stream.id, name: stream.name, isOwn: true))
      case .streamDestroyed(let stream, _), .publisherStreamDestroyed(let stream, _):
        subscribers[stream.id] = nil
        carryOut(plan.streamDestroyed(stream.id))
      case .subscriberDestroyed(let id, _):
        // Given up, if it was not we who ended it.
        if subscribers.removeValue(forKey: id) != nil { carryOut(plan.failed(id)) }
      case .publisherMuted: emit(.micChanged(false))
      case .sessionConnected: rejoining.entered(at: MonotonicClock.now())
      case .sessionReconnected: rejoining.reconnected()
      case .sessionReconnecting: rejoining.lost(at: MonotonicClock.now())
      case .sessionDisconnected(_, let error?) where hasEntered && RejoiningPlan.isLoss(error):
        rejoining.lost(at: MonotonicClock.now())
        loss = error
      case .sessionDisconnected(_, let error):
        sessionEnded(error.map { .failure($0) } ?? .success(()))
      default: break
      }
    }
  }

  func sessionEnded(_ result: Result<Void, OpenTokError>) {
    sessionEnding = sessionEnding ?? result
    if hasEntered { finish(result) }
  }

  func carryOut(_ actions: [SubscriptionPlan.Action]) {
    for action in actions {
      // Not awaited here: a server that is slow to answer must not hold up the events that follow.
      Task {
        switch action {
        case .subscribe(let id): await subscribe(to: id)
        case .unsubscribe(let id): await unsubscribe(from: id)
        }
      }
    }
  }

  private func subscribe(to id: String) async {
    var wishes = Session.SubscribeOptions(subscribeToAudio: subscriberAudio)
    wishes.decodes = options.decodes
    do throws(OpenTokError) {
      subscribers[id] = try await session.subscribe(
        to: id, options: wishes, renderer: renderers(id), sink: await makeRecorder(id))
    } catch {
      // Streams end while one is about to subscribe to them.
      if error != .streamNotFound, error != .notConnected { emit(.error(error)) }
      carryOut(plan.failed(id))
    }
  }

  private func unsubscribe(from id: String) async {
    guard let subscriber = subscribers.removeValue(forKey: id) else { return }
    do throws(OpenTokError) {
      try await session.unsubscribe(subscriber)
    } catch {
      if error != .notConnected { emit(.error(error)) }
    }
  }
}
