import Peer

extension Session {
  /// How the media has been doing since it began. Costs a hop to the network thread; once a second is fine.
  public func statistics() async -> Statistics { await statistics(withTones: true) }

  /// - Parameter withTones: whether the frequencies that are heard are looked for, which costs more than all the rest.
  func statistics(withTones: Bool) async -> Statistics {
    var result = Statistics()
    for (streamID, publication) in publications.sorted(by: { $0.key < $1.key }) {
      var publisher = await publication.peers.statistics()
      publisher.streamID = streamID
      if let pipeline = publication.pipeline {
        publisher.video.merge(Metrics(pipeline.statistics)) { $1 }
      }
      if publication.hasSpeaker, let engine = audio?.engine {
        publisher.audio.merge(Metrics(engine.statistics)) { $1 }
        publisher.audio["targetBitrate"] = Double(configuration.audio.bitrate)
      }
      publisher.judge(publishedQuality[streamID])
      result.publishers.append(publisher)
    }
    for (_, subscription) in subscriptions.sorted(by: { $0.key < $1.key }) {
      let subscriber = subscription.subscriber
      let receiver = subscriber.receiver
      var received = Statistics.Subscriber(
        streamID: subscriber.streamID, pipeline: subscriber.pipeline.statistics,
        receiver: receiver.statistics, offset: subscriber.offset.milliseconds,
        toneHz: withTones ? receiver.toneHz : nil,
        peer: await subscription.peer.statistics())
      received.judge(subscribedQuality[subscriber.streamID])
      result.subscribers.append(received)
    }
    if let playout = audio?.engine.statistics.playout { result.playout = Metrics(playout: playout) }
    return result
  }
}
