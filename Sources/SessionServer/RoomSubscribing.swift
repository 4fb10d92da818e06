import OpenTokProtocol

// Subscribers, and what publisher and subscriber tell each other to set up their peer connection.
extension Room {
  mutating func subscribe(_ id: String, to stream: String, _ request: RoomRequest) throws(RoomRefusal) {
    guard request.may(.subscribe) else { throw .forbidden }
    guard Self.isValidID(id) else { throw .malformed }
    guard let index = streamIndex(stream) else { throw .noStream }
    guard streams[index].subscriber(id) == nil else { throw .exists }
    let own = streams.reduce(0) { $0 + $1.subscribers.count { $0.connectionID == request.sender.id } }
    let ownOfStream = streams[index].subscribers.count { $0.connectionID == request.sender.id }
    guard own < configuration.limits.subscribersPerConnection,
      ownOfStream < configuration.limits.subscribersPerStream
    else { throw .streamLimit }
    guard !isBehind(streams[index].publisherID) else { throw .tooFast }
    let subscriber = RoomStream.Subscriber(id: id, connectionID: request.sender.id, peerID: makePeerID())
    streams[index].append(subscriber)
    succeed(request, payload: iceServers(for: request))
    let publisher = streams[index].publisherID
    // Web SDKs before 2.8 need the first to make sense of the second; the native SDK makes no offer
    // without simulcastEnabled.
    var content: JSON = ["id": .string(id)]
    if !isHidden(request.sender.id) { content["connection"] = .string(request.sender.id) }
    send(
      RaptorMessage(.created, request.message.uri, content: content), from: request.sender.id, to: publisher)
    sendGenerateOffer(subscriber, request, to: publisher)
  }

  /// A subscriber whose path is lost wants another offer: that renews the path of the same peer connection.
  mutating func askForOffer(_ id: String, of stream: String, _ request: RoomRequest) throws(RoomRefusal) {
    guard let index = streamIndex(stream) else { throw .noStream }
    guard let subscriber = streams[index].subscriber(id) else { throw .noSubscriber }
    guard subscriber.connectionID == request.sender.id else { throw .forbidden }
    guard !isBehind(streams[index].publisherID) else { throw .tooFast }
    succeed(request)
    sendGenerateOffer(subscriber, request, to: streams[index].publisherID)
  }

  private mutating func sendGenerateOffer(
    _ subscriber: RoomStream.Subscriber, _ request: RoomRequest, to publisher: String
  ) {
    send(
      RaptorMessage(
        .generateOffer, request.message.uri,
        content: ["peerId": .string(subscriber.peerID), "sourceStreamId": "P2P", "simulcastEnabled": false]),
      from: request.sender.id, to: publisher)
  }

  mutating func unsubscribe(_ id: String, from stream: String, _ request: RoomRequest) throws(RoomRefusal) {
    // The native SDK also ends its subscription to a stream that is gone: that is done already.
    guard let index = streamIndex(stream) else { return succeed(request) }
    guard let subscriber = streams[index].subscriber(id) else { throw .noSubscriber }
    guard subscriber.connectionID == request.sender.id else { throw .forbidden }
    succeed(request)
    end(subscriber, ofStreamAt: index)
  }

  /// Ends all subscriptions of a connection that leaves, so that publishers stop sending to it.
  mutating func endSubscribers(of connectionID: String) {
    for index in streams.indices {
      for subscriber in streams[index].subscribers where subscriber.connectionID == connectionID {
        end(subscriber, ofStreamAt: index)
      }
    }
  }

  private mutating func end(_ subscriber: RoomStream.Subscriber, ofStreamAt index: Int) {
    streams[index].remove(subscriber)
    guard streams[index].publisherID != subscriber.connectionID else { return }
    let uri = base.with(.subscriber(stream: streams[index].id, subscriber: subscriber.id))
    send(RaptorMessage(.deleted, uri), from: subscriber.connectionID, to: streams[index].publisherID)
  }

  /// A subscriber says what it wants of the media.
  mutating func updateSubscriber(_ id: String, of stream: String, _ request: RoomRequest) throws(RoomRefusal)
  {
    guard let index = streamIndex(stream) else { throw .noStream }
    guard let subscriber = streams[index].subscriber(id) else { throw .noSubscriber }
    guard subscriber.connectionID == request.sender.id else { throw .forbidden }
    succeed(request)
  }

  /// What a client puts among its `capabilities` that sends each subscriber what that one prefers: it is told.
  /// Other clients would take such an update for one of their own subscriptions.
  static let preferencesCapability: JSON = "subscriberPreferences"
  private static let preferences = [
    "restrictFrameRate", "preferredFrameRate", "preferredWidth", "preferredHeight",
  ]

  /// With a media router that would choose; from client to client the publisher has to.
  mutating func relayPreferences(
    of channel: String, to id: String, of stream: String, _ request: RoomRequest
  ) {
    guard let index = streamIndex(stream), let publisher = self.index(of: streams[index].publisherID),
      members[publisher].followsPreferences, !isBehind(members[publisher].id),
      streams[index].info.channels.contains(where: { $0.id == channel })
    else { return }
    var content: JSON = [:]
    for key in Self.preferences {
      guard let value = request.message.content[key] else { continue }
      let isNumber = value.doubleValue.map { (0...10_000).contains($0) } ?? false
      if isNumber || value.boolValue != nil { content[key] = value }
    }
    guard content.objectValue?.isEmpty == false else { return }
    let uri = request.message.uri
    send(RaptorMessage(.update, uri, content: content), from: request.sender.id, to: members[publisher].id)
  }

  /// A publisher says that a subscriber's picture goes or comes back for lack of bandwidth (`active`), or may
  /// go soon (`disableWarning`): the subscriber hears it as clients expect it of a server.
  mutating func relayQuality(
    of channel: String, to id: String, of stream: String, _ request: RoomRequest
  ) throws(RoomRefusal) {
    guard let index = streamIndex(stream) else { throw .noStream }
    guard let subscriber = streams[index].subscriber(id) else { throw .noSubscriber }
    guard streams[index].publisherID == request.sender.id else { throw .forbidden }
    guard streams[index].info.channels.contains(where: { $0.id == channel }) else { throw .noChannel }
    guard !isBehind(subscriber.connectionID) else { throw .tooFast }
    succeed(request)
    let content = request.message.content
    let messages = [
      content["active"]?.boolValue.map {
        RaptorMessage(.update, request.message.uri, content: ["active": .bool($0)])
      },
      content["disableWarning"]?.boolValue.map {
        RaptorMessage(
          .updated, base.with(.channel(stream: stream, channel: channel)),
          content: ["disableWarning": .bool($0)])
      },
    ]
    for message in messages.compactMap(\.self) {
      send(message, from: configuration.symphonyAddress, to: subscriber.connectionID)
    }
  }

  /// An offer, answer or candidate: to the other side of the subscription, with the names of the peer
  /// connection added, which the native SDK and old web SDKs leave out.
  mutating func relay(_ id: String, of stream: String, _ request: RoomRequest) throws(RoomRefusal) {
    guard let index = streamIndex(stream) else { throw .noStream }
    var subscriber = streams[index].subscriber(id)
    if subscriber == nil, request.message.method == .candidate {
      // Web SDK 2.7 sends the candidates for a second subscription of a connection under the name of the
      // first.
      subscriber = streams[index].successor(of: id)
    }
    guard let subscriber else { throw .noSubscriber }
    let publisher = streams[index].publisherID
    let recipient: String
    switch request.sender.id {
    case publisher: recipient = subscriber.connectionID
    case subscriber.connectionID: recipient = publisher
    default: throw .forbidden
    }
    var content = request.message.content
    let isCandidate = request.message.method == .candidate
    let limit = isCandidate ? RoomConfiguration.maximumCandidate : RoomConfiguration.maximumDescription
    guard content.text.utf8.count <= limit else { throw .tooLarge }
    guard !isBehind(recipient) else { throw .tooFast }
    content["peerId"] = .string(subscriber.peerID)
    content["sourceStreamId"] = "P2P"
    succeed(request)
    let uri = base.with(.subscriber(stream: stream, subscriber: subscriber.id))
    send(RaptorMessage(request.message.method, uri, content: content), from: request.sender.id, to: recipient)
  }
}
