import Base

/// Puts packets of sound in order and decides, whenever the audio thread needs more samples, what to
/// decode next, so that the delay is as small as the network's jitter allows.
///
/// A packet that is missing when its turn comes is recovered from the next one's FEC or concealed, and
/// time goes on. When nothing at all is there, the sound is concealed and time waits: late packets are
/// still played, and the delay has grown by what was missing. It shrinks again in pauses, and else by
/// leaving out single packets at a bounded rate. Used by one thread.
package struct AudioJitterBuffer {
  /// What the audio thread plays next. Samples are at 48 kHz, a channel.
  package enum Output: Equatable, Sendable {
    /// Decode and play.
    case packet([UInt8], samples: Int)
    /// The packet before this one is lost: decode the FEC in it for as many samples. It stays buffered.
    case recoverFromNext([UInt8], samples: Int)
    /// Let the decoder make up what is missing.
    case conceal(samples: Int)
    /// Nothing to hear: before the start, in a pause of the sender, after a long loss.
    case silence(samples: Int)
    /// Decode for the decoder's state, but do not play: fade from what was played into what follows.
    case skip([UInt8], samples: Int)
  }

  private static let tick = 480
  private static let maximumPackets = 250
  /// Concealed sound fades; after so much of it there is silence.
  private static let maximumConcealment = 48_000 / 5
  /// A jump of the timestamps by more is a new beginning.
  private static let maximumJump: Int64 = 48_000 * 5
  /// Seconds of delay too many that are bridged by leaving everything out at once.
  private static let excessiveDelay = 0.5

  /// In order of timestamps.
  private var packets: [ReceivedAudioPacket] = []
  private var estimator = AudioDelayEstimator()
  private var hasStarted = false
  /// The first sample that has not been handed out; the place does not move while `stalled` grows.
  private var nextTimestamp: Int64 = 0
  private var lastSequenceNumber: Int64 = 0
  private var lastSamples = 960
  private var isPaused = false
  private var pausedSamples = 0
  /// Samples concealed while nothing was there.
  private var stalled = 0
  private var isConcealing = false
  private var lastSkip: Instant?
  private var lastInsertion: Instant?

  /// Asked for by lip sync.
  package var minimumDelay = Duration.zero
  package private(set) var statistics = AudioJitterBufferStatistics()

  package init() {}

  /// The delay aimed at: from a packet's earliest arrival to its playout.
  package var targetDelay: Duration { .seconds(max(estimator.target, minimumDelay.seconds)) }

  /// The timestamp of the first sample that `next` has not handed out; nil before the first packet.
  package var playoutTimestamp: Int64? { hasStarted ? nextTimestamp + Int64(pausedSamples) : nil }

  /// The delay now of the sample at `playoutTimestamp`; nil before the start.
  package func currentDelay(at now: Instant) -> Duration? {
    guard hasStarted else { return nil }
    return estimator.delay(of: nextTimestamp + Int64(pausedSamples), at: now).map { .seconds($0) }
  }

  // MARK: In

  package mutating func insert(_ packet: ReceivedAudioPacket) {
    // Extended numbers never get near the ends of their type: no sum below can overflow.
    let plausible: ClosedRange<Int64> = 0...1 << 60
    guard OpusPacket.samples(packet.bytes) != nil, plausible.contains(packet.timestamp),
      plausible.contains(packet.sequenceNumber)
    else {
      statistics.packetsDiscarded += 1
      return
    }
    let reference = packets.last?.timestamp ?? (hasStarted ? nextTimestamp : packet.timestamp)
    if abs(packet.timestamp &- reference) > Self.maximumJump, !isPaused || packet.timestamp < reference {
      // Another source, or one that begins anew.
      packets.removeAll()
      estimator = AudioDelayEstimator()
      hasStarted = false
      isPaused = false
      stalled = 0
    }
    if packets.contains(where: { $0.sequenceNumber == packet.sequenceNumber }) {
      statistics.packetsDuplicated += 1
      return
    }
    estimator.packetArrived(timestamp: packet.timestamp, at: packet.arrival)
    if hasStarted, packet.timestamp < nextTimestamp {
      statistics.packetsDiscarded += 1
      return
    }
    var index = packets.count
    while index > 0, packets[index - 1].timestamp > packet.timestamp { index -= 1 }
    packets.insert(packet, at: index)
    if packets.count > Self.maximumPackets {
      packets.removeFirst()
      statistics.packetsDiscarded += 1
    }
  }

  // MARK: Out

  /// The next piece of sound, for the moment it is asked for.
  package mutating func next(at now: Instant) -> Output {
    guard start(at: now) else { return .silence(samples: Self.tick) }
    shed(at: now)
    guard let first = packets.first else { return isPaused ? pause() : stall() }
    let gap = Int(clamping: first.timestamp &- nextTimestamp)
    if gap > 0 {
      if isPaused || first.sequenceNumber == lastSequenceNumber + 1 {
        // The sender had nothing to say in between: the pause is as long as suits the delay.
        let delay = estimator.delay(of: first.timestamp, at: now) ?? 0
        if delay < targetDelay.seconds, delay > -2 { return pause() }
      } else if gap > stalled {
        return bridge(gap, to: first)
      }
    }
    if gap == 0, shouldInsert(first, at: now) { return insertConcealment(at: now) }
    return play(gap, at: now)
  }

  private mutating func start(at now: Instant) -> Bool {
    if hasStarted { return true }
    guard var first = packets.first else { return false }
    let delay = estimator.delay(of: first.timestamp, at: now) ?? 0
    guard delay >= targetDelay.seconds else { return false }
    // What came before anybody listened is not caught up on.
    while packets.count > 1, estimator.delay(of: packets[1].timestamp, at: now) ?? 0 >= targetDelay.seconds {
      packets.removeFirst()
      statistics.packetsDiscarded += 1
      first = packets[0]
    }
    hasStarted = true
    nextTimestamp = first.timestamp
    lastSequenceNumber = first.sequenceNumber - 1
    pausedSamples = 0
    return true
  }

  private mutating func play(_ gap: Int, at now: Instant) -> Output {
    let packet = packets.removeFirst()
    let samples = OpusPacket.samples(packet.bytes) ?? lastSamples
    nextTimestamp = packet.timestamp + Int64(samples)
    lastSequenceNumber = packet.sequenceNumber
    lastSamples = samples
    // What was made up while nothing was there has delayed the rest, as far as nothing was lost.
    statistics.insertedSamplesForDeceleration += max(0, stalled - gap)
    stalled = 0
    isPaused = OpusPacket.isDiscontinuous(packet.bytes)
    pausedSamples = 0
    isConcealing = false
    if shouldSkip(packet, at: now) {
      lastSkip = now
      statistics.removedSamplesForAcceleration += samples
      return .skip(packet.bytes, samples: samples)
    }
    statistics.totalSamplesReceived += samples
    statistics.jitterBufferEmittedCount += samples
    statistics.jitterBufferDelay += max(0, (now - packet.arrival).seconds) * Double(samples)
    statistics.jitterBufferTargetDelay += targetDelay.seconds * Double(samples)
    statistics.jitterBufferMinimumDelay += estimator.target * Double(samples)
    return .packet(packet.bytes, samples: samples)
  }

  /// Fills a hole before the first packet that is there.
  private mutating func bridge(_ gap: Int, to first: ReceivedAudioPacket) -> Output {
    // What was concealed while nothing was there has filled a part of the hole already.
    let rest = gap - stalled
    nextTimestamp += Int64(stalled)
    stalled = 0
    let samples = min(rest, lastSamples)
    nextTimestamp += Int64(samples)
    if samples == rest, samples >= Self.tick, OpusPacket.hasFEC(first.bytes) {
      statistics.fecPacketsReceived += 1
      statistics.totalSamplesReceived += samples
      isConcealing = false
      return .recoverFromNext(first.bytes, samples: samples)
    }
    countConcealment(samples)
    return .conceal(samples: samples)
  }

  private mutating func stall() -> Output {
    let isSilent = stalled >= Self.maximumConcealment
    stalled += Self.tick
    countConcealment(Self.tick)
    if isSilent {
      statistics.silentConcealedSamples += Self.tick
      return .silence(samples: Self.tick)
    }
    return .conceal(samples: Self.tick)
  }

  private mutating func pause() -> Output {
    isPaused = true
    pausedSamples = min(pausedSamples + Self.tick, 1 << 40)
    statistics.totalSamplesReceived += Self.tick
    return .silence(samples: Self.tick)
  }

  private mutating func countConcealment(_ samples: Int) {
    if !isConcealing { statistics.concealmentEvents += 1 }
    isConcealing = true
    statistics.concealedSamples += samples
    statistics.totalSamplesReceived += samples
  }

  // MARK: Keeping the delay

  /// Throws away what time has gone past, and after a long hold-up what is far too late.
  private mutating func shed(at now: Instant) {
    while let first = packets.first, first.timestamp < nextTimestamp {
      packets.removeFirst()
      statistics.packetsDiscarded += 1
    }
    while let first = packets.first, packets.count > 1,
      let delay = estimator.delay(of: first.timestamp, at: now),
      delay > targetDelay.seconds + Self.excessiveDelay
    {
      packets.removeFirst()
      statistics.packetsDiscarded += 1
      nextTimestamp = packets[0].timestamp
      lastSequenceNumber = packets[0].sequenceNumber - 1
      stalled = 0
    }
  }

  /// Whether to leave this packet out because the delay is too long.
  private func shouldSkip(_ packet: ReceivedAudioPacket, at now: Instant) -> Bool {
    guard !packets.isEmpty, let delay = estimator.delay(of: packet.timestamp, at: now) else { return false }
    let duration = Double(lastSamples) / 48_000
    let excess = delay - targetDelay.seconds - duration
    guard excess > 0 else { return false }
    if OpusPacket.isDiscontinuous(packet.bytes) { return true }
    guard excess > 0.010 else { return false }
    let interval: Duration = excess > 0.15 ? .milliseconds(120) : .milliseconds(400)
    return lastSkip.map { now - $0 >= interval } ?? true
  }

  /// Whether to delay the sound further, for the picture's sake.
  private func shouldInsert(_ packet: ReceivedAudioPacket, at now: Instant) -> Bool {
    guard let delay = estimator.delay(of: packet.timestamp, at: now),
      delay < minimumDelay.seconds - 0.015
    else { return false }
    return lastInsertion.map { now - $0 >= .milliseconds(120) } ?? true
  }

  private mutating func insertConcealment(at now: Instant) -> Output {
    lastInsertion = now
    statistics.insertedSamplesForDeceleration += Self.tick
    statistics.totalSamplesReceived += Self.tick
    return .conceal(samples: Self.tick)
  }
}

/// Counters of a jitter buffer, named as in W3C webrtc-stats; samples are a channel's at 48 kHz.
package struct AudioJitterBufferStatistics: Equatable, Sendable {
  /// Sum over the samples played of the time their packet waited, in seconds.
  package var jitterBufferDelay = 0.0
  package var jitterBufferTargetDelay = 0.0
  /// What the target would have been without lip sync.
  package var jitterBufferMinimumDelay = 0.0
  package var jitterBufferEmittedCount = 0
  package var totalSamplesReceived = 0
  package var concealedSamples = 0
  package var silentConcealedSamples = 0
  package var concealmentEvents = 0
  package var insertedSamplesForDeceleration = 0
  package var removedSamplesForAcceleration = 0
  /// Packets used to recover the one before them: in-band FEC.
  package var fecPacketsReceived = 0
  /// Too late, or no Opus.
  package var packetsDiscarded = 0
  package var packetsDuplicated = 0

  package init() {}
}
