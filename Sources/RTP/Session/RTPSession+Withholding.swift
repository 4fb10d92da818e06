import Base

/// Pictures kept back, so that all there is of bandwidth is left to the sound; see `AudioFallback`.
extension RTPSession {
  /// Bits per second to begin with when pictures come back, at most.
  private static let resumptionBitrate = 600_000
  /// How fast more and more padding is sent to see whether it arrives, in bits per second each second.
  private static let rehearsalGrowth = 60_000.0
  private static let longestPause = 0.2

  /// Keeps pictures back or lets them through again. What waits is given up and nothing is sent again; from
  /// time to time a few small packets find out whether there is room. The first picture afterwards has to be
  /// a key frame.
  package func setWithholdingVideo(_ withholding: Bool, at now: Instant) {
    guard withholding != isWithholdingVideo else { return }
    isWithholdingVideo = withholding
    rehearsal = Rehearsal()
    congestion.forgetRehearsals()
    if withholding {
      for stream in sendStreams where stream.configuration.kind == .video { pacer.removeAll(of: stream.id) }
    } else {
      resumed = now
      congestion.resume(with: Self.resumptionBitrate, at: now)
      applyTarget(at: now)
    }
  }

  /// What sending is up against just now.
  package func sendingConditions(at now: Instant) -> SendingConditions {
    let video = sendStreams.first { $0.configuration.kind == .video }
    var available = congestion.target
    // What a few packets found out is believed when as much has arrived.
    if isWithholdingVideo, let acknowledged = congestion.acknowledged {
      available = min(available, Int(acknowledged * 1.15))
    }
    return SendingConditions(
      availableBitrate: available, loss: congestion.loss, isAnswered: congestion.isAnswered,
      canProbe: video?.configuration.transportCC == true && video?.rtxHeader != nil
        && congestion.loss < BandwidthProbe.maximumLoss,
      isHeld: pacer.heldUntil != nil || pacer.videoWait(at: now) > Self.patience,
      videoTarget: videoTarget.bitrate,
      videoBytesSent: video.map { $0.statistics.bytesSent - $0.statistics.retransmittedBytesSent } ?? 0)
  }

  /// Padding sent in place of the pictures that might come back.
  struct Rehearsal {
    /// Bits per second of everything; 0: none is under way.
    var level = 0.0
    var last: Instant?
    /// Octets that were too few for a packet.
    var rest = 0.0
  }

  /// The probe of a session whose pictures are kept back: what waits behind it is sound.
  func probeWithPadding(of stream: SendStream, rate: Int, at now: Instant) {
    let needed = Int(Double(rate) / 8 * BandwidthProbe.duration) / BandwidthProbe.paddingSize
    let count = min(max(needed, BandwidthProbe.minimumPackets), 60)
    pacer.probe(with: Array(repeating: padding(of: stream, at: now), count: count), rate: rate)
  }

  private func padding(of stream: SendStream, at now: Instant) -> Pacer.Entry {
    Pacer.Entry(
      stream: stream.id, sequenceNumber: 0, size: BandwidthProbe.paddingSize, enqueued: now,
      isRetransmission: true, isProbe: true, isPadding: true)
  }

  /// Where a probe has found room for pictures, sends as much as they would need, little by little: many
  /// networks let a few packets pass at once and no more. Stops at the first sign of a queue.
  func rehearse(at now: Instant) {
    guard isWithholdingVideo else { return }
    let elapsed = min(rehearsal.last.map { (now - $0).seconds } ?? 0, Self.longestPause)
    rehearsal.last = now
    if rehearsal.level > 0, congestion.isQueueing || congestion.target < AudioFallback.scarce {
      rehearsal = Rehearsal(last: now)
      congestion.rehearsalFailed()
    }
    guard congestion.target >= AudioFallback.scarce, !congestion.isQueueing,
      let acknowledged = congestion.acknowledged,
      let stream = sendStreams.first(where: { $0.configuration.transportCC && $0.rtxHeader != nil })
    else { return }
    let goal = Double(min(congestion.target, AudioFallback.enough * 5 / 4))
    rehearsal.level = min(
      goal, max(rehearsal.level, min(acknowledged, goal)) + Self.rehearsalGrowth * elapsed)
    rehearsal.rest += max(0, rehearsal.level - videoTarget.audioRate) / 8 * elapsed
    let size = Double(BandwidthProbe.paddingSize + CongestionController.packetOverhead)
    while rehearsal.rest >= size {
      rehearsal.rest -= size
      pacer.enqueue(padding(of: stream, at: now), .video)
    }
  }
}
