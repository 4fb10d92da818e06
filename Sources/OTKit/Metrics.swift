import Base
import MediaIO
import Peer
import RTP

// What the modules below count, as metrics.

extension Metrics {
  init(_ outbound: OutboundRTPStatistics) {
    self = [
      "packetsSent": Double(outbound.packetsSent), "bytesSent": Double(outbound.bytesSent),
      "headerBytesSent": Double(outbound.headerBytesSent),
      "retransmittedPacketsSent": Double(outbound.retransmittedPacketsSent),
      "retransmittedBytesSent": Double(outbound.retransmittedBytesSent),
      "nackCount": Double(outbound.nackCount),
      "totalPacketSendDelay": outbound.totalPacketSendDelay,
    ]
    guard outbound.kind == .video else { return }
    self["pliCount"] = Double(outbound.pliCount)
    self["firCount"] = Double(outbound.firCount)
    self["framesSent"] = Double(outbound.framesSent)
    self["keyFramesSent"] = Double(outbound.keyFramesSent)
    self["framesDropped"] = Double(outbound.framesDropped)
  }

  init(_ remote: RemoteInboundRTPStatistics) {
    self = [
      "packetsLost": Double(remote.packetsLost), "fractionLost": remote.fractionLost,
      "jitter": remote.jitter,
    ]
    set("roundTripTime", remote.roundTripTime)
  }

  init(_ inbound: InboundRTPStatistics) {
    self = [
      "packetsReceived": Double(inbound.packetsReceived), "bytesReceived": Double(inbound.bytesReceived),
      "headerBytesReceived": Double(inbound.headerBytesReceived),
      "packetsLost": Double(inbound.packetsLost), "jitter": inbound.jitter,
      "nackCount": Double(inbound.nackCount),
      "retransmittedPacketsReceived": Double(inbound.retransmittedPacketsReceived),
      "packetsDuplicated": Double(inbound.packetsDuplicated),
      "fecPacketsReceived": Double(inbound.fecPacketsReceived),
      "fecPacketsDiscarded": Double(inbound.fecPacketsDiscarded),
    ]
    guard inbound.kind == .video else { return }
    self["pliCount"] = Double(inbound.pliCount)
    self["firCount"] = Double(inbound.firCount)
    self["framesAssembledFromMultiplePackets"] = Double(inbound.framesAssembledFromMultiplePackets)
    self["jitterBufferDelay"] = inbound.jitterBufferDelay
    self["jitterBufferTargetDelay"] = inbound.jitterBufferTargetDelay
    self["jitterBufferEmittedCount"] = Double(inbound.jitterBufferEmittedCount)
  }

  init(_ pipeline: VideoPublishPipeline.Statistics) {
    self = [
      "frameWidth": Double(pipeline.frameWidth), "frameHeight": Double(pipeline.frameHeight),
      "framesPerSecond": Double(pipeline.framesPerSecond),
      "framesCaptured": Double(pipeline.framesCaptured),
      "framesEncoded": Double(pipeline.framesEncoded),
      "keyFramesEncoded": Double(pipeline.keyFramesEncoded),
      "totalEncodeTime": pipeline.totalEncodeTime, "targetBitrate": Double(pipeline.targetBitrate),
      "bytesEncoded": Double(pipeline.bytesEncoded),
      "captureFramesDropped": Double(pipeline.captureFramesDropped),
    ]
  }

  init(_ pipeline: VideoSubscribePipeline.Statistics) {
    self = [
      "frameWidth": Double(pipeline.frameWidth), "frameHeight": Double(pipeline.frameHeight),
      "framesPerSecond": Double(pipeline.framesPerSecond),
      "framesReceived": Double(pipeline.framesReceived),
      "framesDecoded": Double(pipeline.framesDecoded),
      "keyFramesDecoded": Double(pipeline.keyFramesDecoded),
      "framesRendered": Double(pipeline.framesRendered), "framesDropped": Double(pipeline.framesDropped),
      "framesCorrupted": Double(pipeline.framesCorrupted), "totalDecodeTime": pipeline.totalDecodeTime,
      "freezeCount": Double(pipeline.freezeCount), "totalFreezesDuration": pipeline.totalFreezesDuration,
      "totalInterFrameDelay": pipeline.totalInterFrameDelay,
      "totalSquaredInterFrameDelay": pipeline.totalSquaredInterFrameDelay,
    ]
    if pipeline.framesRendered > 0 {
      self["brightness"] = pipeline.brightness
      self["stillDuration"] = pipeline.stillDuration
    }
    guard let pattern = pipeline.testPattern else { return }
    self["endToEndLatency"] = pattern.endToEndLatency
    self["framesMissing"] = Double(pattern.framesMissing)
    self["framesRepeated"] = Double(pattern.framesRepeated)
    self["framesUnreadable"] = Double(pattern.framesUnreadable)
    guard let quality = pattern.quality else { return }
    self["psnr"] = quality.psnr
    self["ssim"] = quality.ssim
  }

  init(_ engine: AudioEngine.Statistics) {
    self = [
      "packetsEncoded": Double(engine.packetsEncoded), "bytesEncoded": Double(engine.bytesEncoded),
      "totalEncodeTime": engine.totalEncodeTime, "audioLevel": engine.audioLevel,
      "totalAudioEnergy": engine.totalAudioEnergy, "totalSamplesDuration": engine.totalSamplesDuration,
    ]
    guard let device = engine.capture else { return }
    self["captureDelay"] = device.delay
    self["captureUnderruns"] = Double(device.underruns + device.xruns)
    self["droppedSamplesDuration"] = device.dropped
  }

  /// Of the loudspeaker.
  init(playout device: AudioDeviceStatistics) {
    self = [
      "playoutDelay": device.delay, "synthesizedSamplesDuration": device.missing,
      "synthesizedSamplesEvents": Double(device.underruns), "deviceUnderruns": Double(device.xruns),
      "droppedSamplesDuration": device.dropped,
    ]
  }

  init(_ receiver: AudioReceiver.Statistics) {
    let buffer = receiver.jitterBuffer
    self = [
      "jitterBufferDelay": buffer.jitterBufferDelay,
      "jitterBufferTargetDelay": buffer.jitterBufferTargetDelay,
      "jitterBufferMinimumDelay": buffer.jitterBufferMinimumDelay,
      "jitterBufferEmittedCount": Double(buffer.jitterBufferEmittedCount),
      "totalSamplesReceived": Double(buffer.totalSamplesReceived),
      "concealedSamples": Double(buffer.concealedSamples),
      "silentConcealedSamples": Double(buffer.silentConcealedSamples),
      "concealmentEvents": Double(buffer.concealmentEvents),
      "insertedSamplesForDeceleration": Double(buffer.insertedSamplesForDeceleration),
      "removedSamplesForAcceleration": Double(buffer.removedSamplesForAcceleration),
      "framesRecovered": Double(buffer.framesRecovered),
      "packetsDuplicated": Double(buffer.packetsDuplicated),
      "packetsDiscarded": Double(receiver.packetsDiscarded),
      "audioLevel": receiver.audioLevel, "totalAudioEnergy": receiver.totalAudioEnergy,
      "totalSamplesDuration": receiver.totalSamplesDuration,
    ]
  }

  /// Of the path.
  init(_ peer: PeerStatistics) {
    self = [
      "packetsSent": Double(peer.packetsSent), "bytesSent": Double(peer.bytesSent),
      "packetsReceived": Double(peer.packetsReceived), "bytesReceived": Double(peer.bytesReceived),
      "packetsDropped": Double(peer.dropped.total),
    ]
    guard let rtp = peer.rtp else { return }
    self["availableOutgoingBitrate"] = Double(rtp.availableOutgoingBitrate)
    set("roundTripTime", rtp.currentRoundTripTime)
  }
}

extension Statistics.Peer {
  /// A subscriber of ours.
  init(subscriberID: String?, _ statistics: PeerStatistics) {
    self.subscriberID = subscriberID
    transport = Metrics(statistics)
    localCandidate = statistics.localCandidate
    remoteCandidate = statistics.remoteCandidate
    for outbound in statistics.rtp?.outbound ?? [] {
      var metrics = Metrics(outbound)
      if let remote = statistics.rtp?.remoteInbound.first(where: { $0.stream == outbound.stream }) {
        metrics.merge(Metrics(remote)) { $1 }
      }
      if outbound.kind == .audio { audio = metrics } else { video = metrics }
    }
  }
}

extension Statistics.Publisher {
  /// Sums of what belongs to single paths; rates and times make no sense added.
  mutating func add(_ peer: Statistics.Peer) {
    audio.add(peer.audio.filter { Self.summed.contains($0.key) })
    video.add(peer.video.filter { Self.summed.contains($0.key) })
  }

  /// What the worst of the paths allows.
  mutating func adopt(_ peers: [Statistics.Peer]) {
    video.set("availableOutgoingBitrate", peers.compactMap { $0.transport["availableOutgoingBitrate"] }.min())
    for (path, audioValue, videoValue) in Self.worst.map({ name in
      (name, peers.compactMap { $0.audio[name] }.max(), peers.compactMap { $0.video[name] }.max())
    }) {
      audio.set(path, audioValue)
      video.set(path, videoValue)
    }
  }

  /// Mean opinion scores of the last seconds, each subscriber's and the worst of them.
  mutating func judge(_ quality: StreamQuality?) {
    for index in subscribers.indices {
      let monitor = quality?.monitors[subscribers[index].subscriberID ?? ""]
      subscribers[index].audio.set("mos", monitor?.audio)
      subscribers[index].video.set("mos", monitor?.video)
    }
    audio.set("mos", quality?.audioOpinion)
    video.set("mos", quality?.videoOpinion)
  }

  private static let worst = ["roundTripTime", "fractionLost", "jitter"]
  private static let summed: Set = [
    "packetsSent", "bytesSent", "headerBytesSent", "retransmittedPacketsSent", "retransmittedBytesSent",
    "nackCount", "pliCount", "firCount", "framesSent", "keyFramesSent", "packetsLost", "framesDropped",
  ]
}

extension Statistics.Subscriber {
  init(
    streamID: String, pipeline: VideoSubscribePipeline.Statistics, receiver: AudioReceiver.Statistics,
    offset: Double?, toneHz: Double?, peer: PeerStatistics?
  ) {
    self.streamID = streamID
    audio = Metrics(receiver)
    video = Metrics(pipeline)
    for inbound in peer?.rtp?.inbound ?? [] {
      if inbound.kind == .audio {
        audio.merge(Metrics(inbound)) { own, _ in own }
      } else {
        video.merge(Metrics(inbound)) { own, _ in own }
      }
    }
    if let peer {
      transport = Metrics(peer)
      localCandidate = peer.localCandidate
      remoteCandidate = peer.remoteCandidate
    }
    let roundTripTime = transport["roundTripTime"]
    audio.set("roundTripTime", roundTripTime)
    video.set("roundTripTime", roundTripTime)
    audio.set("toneHz", toneHz)
    video.set("avOffset", offset)
    audio.set("mos", VoiceQuality.meanOpinionScore(audio, roundTripTime: roundTripTime))
  }

  /// Mean opinion scores of the last seconds in place of those of the whole time.
  mutating func judge(_ quality: StreamQuality?) {
    audio.set("mos", quality?.audioOpinion)
    video.set("mos", quality?.videoOpinion)
  }
}
