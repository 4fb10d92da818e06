import Base
import OpenTokProtocol

/// One end of a stream's media: which peer connection a description or a candidate belongs to.
package struct PeerAddress: Hashable, Sendable {
  package var streamID: String
  /// Nil on a publisher's leg to a media server (routed sessions).
  package var subscriberID: String?
  /// Chosen by the server; echoed. Native clients leave it out.
  package var peerID: String?
  /// `P2P` or `MANTIS`; echoed.
  package var sourceStreamID: String?

  package init(streamID: String, subscriberID: String?, peerID: String?, sourceStreamID: String?) {
    self.streamID = streamID
    self.subscriberID = subscriberID
    self.peerID = peerID
    self.sourceStreamID = sourceStreamID
  }

  /// What is signalled about; the other two only accompany it.
  package var resource: RaptorURI.Resource {
    subscriberID.map { .subscriber(stream: streamID, subscriber: $0) } ?? .stream(streamID)
  }

  init(_ resource: RaptorURI.Resource, _ content: JSON) throws(NoPeer) {
    let peerID = content["peerId"]?.stringValue
    let source = content["sourceStreamId"]?.stringValue
    switch resource {
    case .stream(let stream):
      self.init(streamID: stream, subscriberID: nil, peerID: peerID, sourceStreamID: source)
    case .subscriber(let stream, let subscriber):
      self.init(streamID: stream, subscriberID: subscriber, peerID: peerID, sourceStreamID: source)
    default:
      throw NoPeer()
    }
  }

  struct NoPeer: Error {}

  /// `content` with `peerId` and `sourceStreamId` as they came.
  func content(_ content: JSON) -> JSON {
    var content = content
    if let peerID { content["peerId"] = .string(peerID) }
    if let sourceStreamID { content["sourceStreamId"] = .string(sourceStreamID) }
    return content
  }
}

/// What the signalling machine tells its owner.
package enum SignallingEvent: Equatable, Sendable {
  /// In the session. Connections (ours too), streams and archives that are there follow as events.
  case connected(ConnectionInfo)
  /// The socket is lost and being opened again.
  case reconnecting(SessionEvent.ReconnectionReason)
  case reconnected
  /// The last event of a session that had been entered. A reason of `RaptorReason`.
  case disconnected(reason: String, OpenTokError?)
  /// The last event of a session that was never entered.
  case failed(OpenTokError)

  /// The answer to a request.
  case answered(transactionID: String, SignallingMachine.Answer)

  case connectionCreated(ConnectionInfo)
  case connectionDestroyed(ConnectionInfo, reason: String)
  /// Our own streams too.
  case streamCreated(StreamInfo)
  case streamDestroyed(StreamInfo, reason: String)
  case streamRenamed(StreamInfo, oldName: String)
  case channelUpdated(StreamInfo, from: ChannelInfo, to: ChannelInfo)

  /// Somebody subscribes to a stream of ours: make an offer.
  case offerRequested(PeerAddress, from: String)
  case offer(PeerAddress, sdp: String, from: String)
  case answer(PeerAddress, sdp: String, from: String)
  case candidate(PeerAddress, candidate: String, sdpMid: String?, sdpMLineIndex: Int?)
  /// Somebody no longer subscribes to a stream of ours.
  case subscriberDestroyed(streamID: String, subscriberID: String)
  /// The server switches a subscriber's channel for lack of bandwidth.
  case subscriberChannel(streamID: String, subscriberID: String, channelID: String, active: Bool)
  /// That may happen soon to a stream's channel, or not any more.
  case disableWarning(streamID: String, channelID: String, Bool)

  /// `from` is nil if the server sent it.
  case signal(type: String?, data: JSON?, from: String?)
  /// Our stream is to be muted (or unmuted) by a moderator.
  case muteRequested(streamID: String, active: Bool)
  case muteForced(active: Bool)
  case archiveStarted(id: String, name: String)
  case archiveStopped(id: String, name: String)
}
