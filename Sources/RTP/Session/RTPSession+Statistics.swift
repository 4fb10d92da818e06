import Base

extension RTPSession {
  /// All counters since the start, named as in W3C webrtc-stats.
  package func statistics(at now: Instant) -> RTPStatistics {
    var result = RTPStatistics()
    for stream in receiveStreams {
      var inbound = stream.statistics
      if let reception = stream.reception {
        inbound.packetsLost += reception.packetsLost
        inbound.jitter = reception.jitter / Double(reception.clockRate)
      }
      if let video = stream.video?.counters {
        inbound.framesReceived = video.framesReceived
        inbound.keyFramesReceived = video.keyFramesReceived
        inbound.framesDropped = video.framesDropped
        inbound.framesAssembledFromMultiplePackets = video.framesAssembledFromMultiplePackets
        inbound.packetsDuplicated = video.packetsDuplicated
        inbound.jitterBufferDelay = video.jitterBufferDelay
        inbound.jitterBufferTargetDelay = video.jitterBufferTargetDelay
        inbound.jitterBufferEmittedCount = video.jitterBufferEmittedCount
      }
      result.inbound.append(inbound)
    }
    result.outbound = sendStreams.map(\.statistics)
    result.remoteInbound = sendStreams.compactMap(\.remote)
    result.availableOutgoingBitrate = congestion.target
    result.currentRoundTripTime = (reportedRoundTripTime.smoothed ?? roundTripTime.smoothed)?.seconds
    result.packetsMalformed = packetsMalformed
    result.packetsUnknown = packetsUnknown
    return result
  }

  /// After so long without pictures (a camera that is off sends one a second) the sound waits for none.
  private static let pictureSilence = Duration.milliseconds(2500)

  /// The sound that a stream plays now, for lip sync.
  package func updateAudioPlayout(_ id: StreamID, _ playout: AudioPlayoutPosition) {
    guard let audio = receiveStream(id),
      let captured = audio.senderClock.captureTime(of: playout.timestamp, clockRate: 48_000)
    else { return }
    let delay = playout.delay.seconds
    let sound = LipSync.Sound(
      transit: playout.at.seconds - captured - delay, delay: delay,
      neededDelay: playout.neededDelay.seconds)
    for stream in receiveStreams {
      guard stream.video != nil else { continue }
      if let arrival = stream.lastPacket, playout.at - arrival > Self.pictureSilence {
        if lipSync.picturesEnded() { events.append(.audioMinimumDelay(id, .zero)) }
        continue
      }
      guard let video = stream.video, let last = stream.timestamps.last,
        let arrival = video.timing.idealArrival(timestamp: last),
        let taken = stream.senderClock.captureTime(of: last, clockRate: 90_000)
      else { continue }
      let picture = LipSync.Picture(
        transit: arrival.seconds - taken, neededDelay: video.timing.jitterDelay)
      let hasChanged = lipSync.update(sound, picture, at: playout.at)
      video.timing.synchronizationDelay = lipSync.videoDelay
      if hasChanged { events.append(.audioMinimumDelay(id, .seconds(lipSync.audioDelay))) }
    }
  }
}
