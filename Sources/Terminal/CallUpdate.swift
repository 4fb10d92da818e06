import Base

/// What happens to a call, as far as its user sees it.
package enum CallEvent: Equatable, Sendable {
  case connection(CallConnection)
  case subscriberAdded(CallSubscriber)
  /// The name, audio or video changed. Says nothing about streams that are not received.
  case subscriberChanged(CallSubscriber)
  case subscriberRemoved(streamID: String)
  /// The streams of which nothing comes any more.
  case silent(Set<String>)
  /// The streams whose picture is off for lack of bandwidth, and how many do not get ours for the same reason.
  case picturesPaused(Set<String>, ofOwn: Int)
  /// How many streams of others there are, received or not.
  case others(Int)
  case selected(streamID: String)
  case publishing(Bool)
  case microphone(Bool)
  case subscriberAudio(Bool)
  case camera(Bool)
  case shareURL(String?)
  /// Whether the session ends for all when we leave.
  case hosting(Bool)
  case statistics(CallStatistics)
  /// - Parameter clock: the time of day, as it is shown; empty: not at all.
  case chat(from: String, text: String, isOwn: Bool, clock: String = "")
  /// One line that is shown for a few seconds.
  case notice(String)
  case archiving(Bool)
  /// Everybody in the session, those who only watch too.
  case participants([CallParticipant])
  case moderation(CallModeration)
  case key(Key)
  /// The space bar may have been let go.
  case talkDeadline
  /// Time goes on.
  case tick
}

extension CallState {
  /// - Returns: what the user asked for by a key.
  package mutating func update(_ event: CallEvent, at now: Instant) -> [CallCommand] {
    self.now = max(self.now, now)
    notices.removeAll { $0.until <= self.now }
    switch event {
    case .connection(let connection): self.connection = connection
    case .subscriberAdded(let subscriber): add(subscriber)
    case .subscriberChanged(let subscriber): change(subscriber)
    case .subscriberRemoved(let streamID): remove(streamID)
    case .silent(let streams): silent = streams
    case .picturesPaused(let streams, let count): (paused, pausedOwn) = (streams, count)
    case .others(let count):
      others = count
      hadCompany = hadCompany || count > 0
    case .selected(let streamID):
      if subscribers.contains(where: { $0.streamID == streamID }) { selected = streamID }
    case .publishing(let on): isPublishing = on
    case .microphone(let on): microphoneOn = on
    case .subscriberAudio(let on): subscriberAudioOn = on
    case .camera(let on): cameraOn = on
    case .shareURL(let url): shareURL = url
    case .hosting(let on): isHosting = on
    case .statistics(let statistics): take(statistics)
    case .chat(let from, let text, let isOwn, let clock):
      chat.append(ChatLine(from: from, text: text, isOwn: isOwn, clock: clock, time: self.now))
      chat.removeFirst(max(0, chat.count - Self.chatLimit))
      // What is being read stays in its place.
      chatOffset = chatOffset.map { min($0 + 1, chat.count - 1) }
    case .notice(let text): note(text)
    case .archiving(let on): isArchiving = on
    case .participants(let participants): take(participants)
    case .moderation(let moderation): roster.moderation = moderation
    case .key(let key): return press(key)
    case .talkDeadline:
      return talk?.advance(to: now) == true ? [.microphone(.off)] : []
    case .tick: break
    }
    return []
  }

  private mutating func take(_ statistics: CallStatistics) {
    self.statistics = statistics
    history.append(statistics)
    let heard = subscribers.filter(\.hasAudio).map(\.streamID)
    speaker.update(statistics.received.filter { heard.contains($0.key) }.compactMapValues(\.audioLevel))
  }

  mutating func note(_ text: String) {
    notices.append(Notice(text: text, until: now + Self.noticeVisible))
    notices.removeFirst(max(0, notices.count - Self.noticeLimit))
  }

  private mutating func add(_ subscriber: CallSubscriber) {
    if change(subscriber) { return }
    subscribers.append(subscriber)
    if selected == nil { selected = subscriber.streamID }
  }

  /// False if it is not received.
  @discardableResult
  private mutating func change(_ subscriber: CallSubscriber) -> Bool {
    guard let index = subscribers.firstIndex(where: { $0.streamID == subscriber.streamID }) else {
      return false
    }
    subscribers[index] = subscriber
    return true
  }

  private mutating func remove(_ streamID: String) {
    guard let index = subscribers.firstIndex(where: { $0.streamID == streamID }) else { return }
    subscribers.remove(at: index)
    statistics?.received[streamID] = nil
    if subscribers.count < 2 { isEnlarged = false }
    guard selected == streamID else { return }
    selected = subscribers.isEmpty ? nil : subscribers[index % subscribers.count].streamID
  }

  private mutating func press(_ key: Key) -> [CallCommand] {
    if key == .control("c") { return [.interrupt] }
    if input != nil { return type(key) }
    if read(back: key) { return [] }
    if overlay == .participants, let commands = pressInRoster(key) { return commands }
    if let overlay, overlay == .help || key == .escape {
      self.overlay = nil
      if overlay == .help, key == .character("?") || key == .escape { return [] }
    }
    switch key {
    case .character(" ") where talk != nil:
      return talk?.pressed(at: now) == true ? [.microphone(.on)] : []
    case .character("m"): return [.microphone(.toggle)]
    case .character("s"): return [.subscriberAudio(.toggle)]
    case .character("c"): return [.swapCamera]
    case .character("v"): return [.camera(.toggle)]
    case .character("a"): return [.archive(.toggle)]
    case .character("w"): return [.viewArchive]
    case .character("q"): return [.quit]
    case .character("t"): input = LineEditor()
    case .character("f"):
      filter = filter.next
      note("filter: \(filter.rawValue)")
    case .character("i"): overlay = overlay == .statistics ? nil : .statistics
    case .character("p"): overlay = .participants
    case .character("?"): overlay = .help
    case .tab: return next(1)
    case .backTab: return next(-1)
    case .enter: isEnlarged = !isEnlarged && subscribers.count > 1
    case .escape: isEnlarged = false
    default: break
    }
    return []
  }

  private mutating func type(_ key: Key) -> [CallCommand] {
    if read(back: key) { return [] }
    switch input?.handle(key) {
    case .submitted(let text):
      (input, chatOffset) = (nil, nil)
      return text.isEmpty ? [] : [.say(text)]
    case .cancelled: (input, chatOffset) = (nil, nil)
    case .editing, nil: break
    }
    return []
  }

  /// Scrolls the chat. True if the key was for that.
  private mutating func read(back key: Key) -> Bool {
    switch key {
    case .pageUp: chatOffset = min((chatOffset ?? 0) + Self.chatPage, max(0, chat.count - 1))
    case .pageDown:
      guard let offset = chatOffset else { return false }
      chatOffset = offset > Self.chatPage ? offset - Self.chatPage : nil
    case .escape where chatOffset != nil && input == nil: chatOffset = nil
    default: return false
    }
    return true
  }

  private mutating func next(_ step: Int) -> [CallCommand] {
    guard subscribers.count > 1 else { return [.nextSubscriber] }
    let index = subscribers.firstIndex { $0.streamID == selected } ?? 0
    selected = subscribers[(index + step + subscribers.count) % subscribers.count].streamID
    return []
  }
}
