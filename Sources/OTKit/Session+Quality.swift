import Base

/// What is judged of one stream: by each of its subscribers if it is ours, else by us.
struct StreamQuality {
  /// By subscriber; under no name if we are.
  var monitors: [String: QualityMonitor] = [:]
  private var audio = StableScore()
  private var video = StableScore()

  var score: QualityScore { QualityScore(audio: audio.value, video: video.value) }
  /// The worst of what they judge.
  var audioOpinion: Double? { monitors.values.compactMap(\.audio).min() }
  var videoOpinion: Double? { monitors.values.compactMap(\.video).min() }

  /// - Returns: the score before, if it has changed.
  mutating func add(_ samples: [String: QualityMonitor.Sample], at now: Instant) -> QualityScore? {
    let old = score
    monitors = monitors.filter { samples[$0.key] != nil }
    for (name, sample) in samples { monitors[name, default: QualityMonitor()].add(sample, at: now) }
    let audioChanged = audio.update(audioOpinion, at: now)
    let videoChanged = video.update(videoOpinion, at: now)
    return audioChanged || videoChanged ? old : nil
  }
}

extension Session {
  private static let qualityInterval = Duration.seconds(1)

  /// Goes on as long as there are streams.
  func watchQuality() {
    guard qualityTask == nil else { return }
    qualityTask = Task { [weak self] in
      while (try? await Task.sleep(for: Self.qualityInterval)) != nil {
        guard await self?.updateQuality() == true else { return }
      }
    }
  }

  private func updateQuality() async -> Bool {
    guard state == .connected, !publications.isEmpty || !subscriptions.isEmpty else {
      qualityTask = nil
      (publishedQuality, subscribedQuality) = ([:], [:])
      return false
    }
    let statistics = await statistics(withTones: false)
    let now = MonotonicClock.now()
    for publisher in statistics.publishers {
      guard let publication = publications[publisher.streamID] else { continue }
      var samples: [String: QualityMonitor.Sample] = [:]
      for peer in publisher.subscribers {
        samples[peer.subscriberID ?? ""] = QualityMonitor.Sample(
          peer, of: publisher, picture: publication.publisher.isPublishingVideo)
      }
      note(&publishedQuality, publisher.streamID, samples, at: now)
    }
    for subscriber in statistics.subscribers {
      guard
        let subscription = subscriptions.values.first(where: {
          $0.subscriber.streamID == subscriber.streamID
        }), let stream = machine?.streams[subscriber.streamID]
      else { continue }
      let isOn = stream.hasVideo && subscription.wantsVideo
      let sample = QualityMonitor.Sample(
        subscriber, picture: !isOn ? .off : subscription.isFallenBack ? .paused : .on)
      note(&subscribedQuality, subscriber.streamID, ["": sample], at: now)
    }
    publishedQuality = publishedQuality.filter { publications[$0.key] != nil }
    subscribedQuality = subscribedQuality.filter { id, _ in
      subscriptions.values.contains { $0.subscriber.streamID == id }
    }
    return true
  }

  private func note(
    _ qualities: inout [String: StreamQuality], _ streamID: String,
    _ samples: [String: QualityMonitor.Sample], at now: Instant
  ) {
    var quality = qualities[streamID] ?? StreamQuality()
    let old = quality.add(samples, at: now)
    qualities[streamID] = quality
    if let old { emit(.qualityScoreChanged(streamID: streamID, old: old, new: quality.score)) }
  }
}

extension QualityMonitor.Sample {
  /// What we receive.
  init(_ subscriber: Statistics.Subscriber, picture: QualityMonitor.Picture) {
    due = subscriber.audio["totalSamplesReceived"] ?? 0
    missing = VoiceQuality.madeUp(subscriber.audio)
    bufferDelay = subscriber.audio["jitterBufferDelay"] ?? 0
    buffered = subscriber.audio["jitterBufferEmittedCount"] ?? 0
    roundTripTime = subscriber.transport["roundTripTime"]
    videoBytes = subscriber.video["bytesReceived"] ?? 0
    pixels = (subscriber.video["frameWidth"] ?? 0) * (subscriber.video["frameHeight"] ?? 0)
    self.picture = picture
  }

  /// What a subscriber gets of us, as far as it tells.
  init(_ peer: Statistics.Peer, of publisher: Statistics.Publisher, picture isOn: Bool) {
    due = peer.audio["packetsSent"] ?? 0
    missing = peer.audio["packetsLost"] ?? 0
    roundTripTime = peer.transport["roundTripTime"]
    videoBytes = (peer.video["bytesSent"] ?? 0) - (peer.video["retransmittedBytesSent"] ?? 0)
    pixels = (publisher.video["frameWidth"] ?? 0) * (publisher.video["frameHeight"] ?? 0)
    picture = !isOn ? .off : peer.isVideoDisabled ? .paused : .on
  }
}
