import Base
import OpenTokProtocol

/// How the session drives its signalling machine: sockets, time and answers.
extension Session {
  func handle(_ input: Input) {
    let now = MonotonicClock.now()
    switch input {
    case .socket(let origin, let event):
      origin.taken(event)
      guard origin === socketInbox else { return }
      log(event)
      switch event {
      case .opened: machine?.socketOpened(at: now)
      case .message(let bytes): machine?.received(bytes, at: now)
      case .failed(let error):
        socket = nil
        machine?.socketFailed(error, at: now)
      case .closed(let code):
        socket = nil
        machine?.socketClosed(code: code, at: now)
      }
    case .publisherPeer(let output):
      publisherPeer(output)
    case .subscriberPeer(let output):
      subscriberPeer(output)
    case .addresses(let addresses):
      addressesChanged(addresses)
    case .videoSourceFailed(let streamID):
      videoSourceFailed(streamID)
    case .wake:
      timer = nil
      machine?.advance(to: now)
    }
    act()
  }

  /// Does what the machine wants done, until it wants no more.
  func act() {
    while let action = machine?.nextAction() {
      switch action {
      case .openSocket(let attempt, let resume): openSocket(attempt: attempt, resume: resume)
      case .send(let frame):
        Log.debug("signalling", "sent \(frame.logText)")
        socket?.send(frame.encoded())
      case .closeSocket(let code):
        socket?.close(code: code)
        closing = socket
        socket = nil
      case .abortSocket:
        socket?.abort()
        socket = nil
      case .event(let event): handle(event)
      }
    }
    schedule()
  }

  private func openSocket(attempt: String, resume: Bool) {
    guard var url = socketURL else { return }
    if info?.reconnection == true {
      if resume { url = url.appendingQuery("reconnect", "true") }
      url = url.appendingQuery("attempt", attempt)
    }
    Log.info("session", "opening a socket to \(url.shown)\(resume ? ", to resume the connection" : "")")
    let received = SocketInbox()
    socketInbox = received
    socket = WebSocketClient(connectingTo: url, trust: configuration.trust) { [inbox] event in
      if let event = received.put(event) { inbox.yield(.socket(received, event)) }
    }
  }

  private func schedule() {
    guard let deadline = machine?.deadline else {
      timer?.task.cancel()
      timer = nil
      return
    }
    // Waking too early does no harm, and deadlines mostly move back with each message.
    if let timer, timer.deadline <= deadline { return }
    timer?.task.cancel()
    let task = Task { [inbox] in
      do { try await Task.sleep(for: deadline - MonotonicClock.now()) } catch { return }
      inbox.yield(.wake)
    }
    timer = (deadline, task)
  }

  // MARK: Requests

  /// Sends a message and waits for the answer's payload.
  @discardableResult
  func request(
    step: OpenTokError.Step = .request, _ message: (SignallingMachine) -> RaptorMessage,
    refused: (Int, String) -> OpenTokError
  ) async throws(OpenTokError) -> JSON {
    guard state == .connected, let text = machine.map(message),
      let id = machine?.request(text, at: MonotonicClock.now())
    else { throw .notConnected }
    let answer = await withCheckedContinuation { continuation in
      answers[id] = continuation
      act()
    }
    switch answer {
    case .success(let payload): return payload
    case .refused(let status, let reason): throw refused(status, reason)
    case .timedOut: throw .timedOut(step, seconds: SignallingMachine.answerTimeout.seconds)
    case .lost: throw .connectionLost(detail: "")
    }
  }

  /// Sends a message whose answer nobody waits for.
  func post(_ message: (SignallingMachine) -> RaptorMessage) {
    guard let text = machine.map(message) else { return }
    machine?.request(text, at: MonotonicClock.now())
    act()
  }

  // MARK: Events

  private func handle(_ event: SignallingEvent) {
    switch event {
    case .connected(let own):
      state = .connected
      ownConnection = own
      entering?.resume(returning: .success(()))
      entering = nil
      emit(.sessionConnected(sessionID: sessionID, Connection(own)))
    case .failed(let error):
      let waiting = entering
      entering = nil
      end()
      waiting?.resume(returning: .failure(error))
    case .reconnecting(let reason):
      emit(.sessionReconnecting(reason))
    case .reconnected:
      emit(.sessionReconnected)
      signallingIsBack()
    case .disconnected(let reason, let error):
      endMedia(.init(rawValue: reason))
      emit(.sessionDisconnected(.init(rawValue: reason), error))
      end()
    case .answered(let transactionID, let answer):
      answers.removeValue(forKey: transactionID)?.resume(returning: answer)
    case .connectionCreated(let connection):
      emit(.connectionCreated(Connection(connection)))
    case .connectionDestroyed(let connection, let reason):
      emit(.connectionDestroyed(Connection(connection), .init(rawValue: reason)))
    case .streamCreated(let stream):
      isOurs(stream) ? publicationCreated(stream) : emit(.streamCreated(Stream(stream)))
    case .streamDestroyed(let stream, let reason):
      if isOurs(stream) {
        publicationDestroyed(stream, .init(rawValue: reason))
      } else {
        subscriptionsDestroyed(stream, .init(rawValue: reason))
        emit(.streamDestroyed(Stream(stream), .init(rawValue: reason)))
      }
    case .streamRenamed(let stream, let oldName):
      emit(.streamPropertyChanged(Stream(stream), .name(oldName, stream.name)))
    case .channelUpdated(let stream, let old, let new):
      channelUpdated(stream, old, new)
    case .offerRequested(let peer, let from):
      Log.info("session", "an offer of stream \(peer.streamID) is asked for")
      publications[peer.streamID]?.subscribers[peer] = from
      offerRequested(peer)
    case .offer(let peer, let sdp, _):
      Log.info("session", "an offer of stream \(peer.streamID) has come")
      dump("offer received", peer, sdp)
      offerReceived(peer, sdp)
    case .answer(let peer, let sdp, _):
      Log.info("session", "an answer for stream \(peer.streamID) has come")
      dump("answer received", peer, sdp)
      answerReceived(peer, sdp)
    case .candidate(let peer, let candidate, let mid, let index):
      candidateReceived(peer, candidate, mid, index)
    case .subscriberDestroyed(let streamID, let subscriberID):
      subscriberLeft(streamID, subscriberID)
    case .subscriberChannel(let streamID, let subscriberID, let channelID, let active):
      subscriberChannelSwitched(streamID, subscriberID, channelID, active)
    case .disableWarning(let streamID, let channelID, let warning):
      disableWarningReceived(streamID, channelID, warning)
    case .signal(let type, let data, let from):
      signalReceived(type, data, from)
    case .muteRequested(let streamID, let active):
      if active { muteRequested(streamID) }
    case .muteForced(let active):
      emit(.muteForced(active: active))
    case .archiveStarted(let id, let name):
      emit(.archiveStarted(id: id, name: name))
    case .archiveStopped(let id, let name):
      emit(.archiveStopped(id: id, name: name))
    }
  }

  func isOurs(_ stream: StreamInfo) -> Bool { stream.connection.id == ownConnection?.id }

  private func signalReceived(_ type: String?, _ data: JSON?, _ from: String?) {
    let sender = from.flatMap { machine?.connections[$0] }.map { Connection($0) }
    let text: String? =
      switch data {
      case nil, .null?: nil
      case .string(let text)?: text
      case let other?: other.text
      }
    emit(
      .signal(
        Signal(type: type, data: text, from: sender, isFromSelf: from != nil && from == ownConnection?.id)))
  }

  private func channelUpdated(_ stream: StreamInfo, _ old: ChannelInfo, _ new: ChannelInfo) {
    let now = Stream(stream)
    func changed(_ change: StreamPropertyChange) { emit(.streamPropertyChanged(now, change)) }
    if old.active != new.active {
      switch new.kind {
      case .audio: changed(.hasAudio(old.active, new.active))
      case .video:
        changed(.hasVideo(old.active, new.active))
        publisherVideoSwitched(stream.id, new.active)
      case .data: break
      }
    }
    if old.width != new.width || old.height != new.height {
      changed(.videoDimensions(dimensions(old), dimensions(new)))
    }
    if old.source != new.source, new.kind == .video {
      let type = { (text: String?) in Stream.VideoType(rawValue: text ?? "camera") ?? .custom }
      changed(.videoType(type(old.source), type(new.source)))
    }
  }

  private func dimensions(_ channel: ChannelInfo) -> Stream.Dimensions? {
    guard let width = channel.width, let height = channel.height else { return nil }
    return Stream.Dimensions(width: width, height: height)
  }
}
