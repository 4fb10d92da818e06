import Base

/// Which sound is just being heard.
package struct AudioPlayoutPosition: Sendable, Equatable {
  /// Extended RTP timestamp.
  package var timestamp: Int64
  package var at: Instant
  /// Since the earliest arrival that sound of this timestamp could have had: as it is, and as the jitter
  /// buffer would have it if it was not for lip sync.
  package var delay: Duration
  package var neededDelay: Duration
}

/// Puts frames of sound in order and decides, whenever the audio thread needs more samples, what to decode
/// next, so that the delay is as small as the network allows.
///
/// A frame that is missing when its turn comes is recovered from the next one's FEC or concealed, and time
/// goes on. When nothing at all is there, the sound is concealed and time waits: late packets are still
/// played, and the delay has grown by what was missing. The delay follows its target by stretching what
/// was decoded, of which `stretch` asks single periods, and at once in pauses. A sender whose clock runs
/// fast or slow is followed in the same way. Used by one thread.
package struct AudioJitterBuffer {
  /// What the audio thread plays next. Samples are at 48 kHz, a channel.
  package enum Output: Equatable, Sendable {
    /// Decode and play.
    case packet([UInt8], samples: Int)
    /// The packet before this one is lost: decode the FEC in it for as many samples. It stays buffered.
    case recoverFromNext([UInt8], samples: Int)
    /// Let the decoder make up what is missing.
    case conceal(samples: Int)
    /// A pause of the sender: let the decoder go on with the noise of its room.
    case comfortNoise(samples: Int)
    /// Nothing to hear: before the start, after a long loss or a long pause.
    case silence(samples: Int)
  }

  /// A wish to play faster or slower.
  package typealias Stretch = AudioStretching.Request

  private static let tick = 480
  private static let maximumPackets = 250
  /// Concealed sound fades; after so much of it there is silence.
  private static let maximumConcealment = 48_000 / 5
  /// In a pause, senders say every 400 ms that they are still there.
  private static let maximumComfortNoise = 48_000 * 2
  /// A jump of the timestamps by more is a new beginning.
  private static let maximumJump: Int64 = 48_000 * 5
  /// So many late packets in a row, and none in time, are one too.
  private static let maximumLate = 25
  /// Seconds of delay too many that are bridged by leaving everything out at once.
  private static let excessiveDelay = 0.5
  private static let maximumLost = 64

  /// In order of timestamps, each once.
  private var packets: [ReceivedAudioPacket] = []
  private var estimator = AudioDelayEstimator()
  private var stretching = AudioStretching()
  private var hasStarted = false
  /// The first sample that has not been handed out; the place does not move while `stalled` grows.
  private var nextTimestamp: Int64 = 0
  private var lastSequenceNumber: Int64 = 0
  private var lastSamples = 960
  /// Timestamps of frames that were concealed: should one still come, the delay was too small for it.
  private var lost: [Int64] = []
  private var lateInARow = 0
  private var isPaused = false
  private var pausedSamples = 0
  /// Samples concealed while nothing was there.
  private var stalled = 0
  private var isConcealing = false

  /// Asked for by lip sync.
  package var minimumDelay = Duration.zero
  package private(set) var statistics = AudioJitterBufferStatistics()

  package init() {}

  /// The delay aimed at: from a packet's earliest arrival to its playout.
  package var targetDelay: Duration { .seconds(target) }

  private var target: Double { max(estimator.target, minimumDelay.seconds) }

  /// The timestamp of the first sample that `next` has not handed out; nil before the first packet.
  package var playoutTimestamp: Int64? { hasStarted ? nextTimestamp + Int64(pausedSamples) : nil }

  /// The delay now of the sample at `playoutTimestamp`; nil before the start.
  package func currentDelay(at now: Instant) -> Duration? {
    guard hasStarted else { return nil }
    return estimator.delay(of: nextTimestamp + Int64(pausedSamples), at: now).map { .seconds($0) }
  }

  /// What is heard from `now` on; nil before the start, and while nothing has come for so long that there is
  /// silence: that place in the sound says nothing about the delay.
  ///
  /// - Parameter waiting: samples a channel that were handed out and have not been heard.
  package func position(waiting: Int, at now: Instant) -> AudioPlayoutPosition? {
    guard hasStarted, stalled < Self.maximumConcealment else { return nil }
    let timestamp = nextTimestamp + Int64(pausedSamples) - Int64(waiting)
    guard let delay = estimator.delay(of: timestamp, at: now), abs(delay) < 100 else { return nil }
    return AudioPlayoutPosition(
      timestamp: timestamp, at: now, delay: .seconds(delay), neededDelay: .seconds(estimator.target))
  }

  // MARK: In

  package mutating func insert(_ packet: ReceivedAudioPacket) {
    // Extended numbers never get near the ends of their type: no sum below can overflow.
    let plausible: ClosedRange<Int64> = -(1 << 60)...1 << 60
    guard let samples = OpusPacket.samples(packet.bytes), plausible.contains(packet.timestamp),
      plausible.contains(packet.sequenceNumber)
    else {
      statistics.packetsDiscarded += 1
      return
    }
    if isNewBeginning(packet) { startOver() }
    if OpusPacket.hasFEC(packet.bytes) {
      noteArrival(of: packet.timestamp - Int64(samples), at: packet.arrival)
    }
    guard noteArrival(of: packet.timestamp, at: packet.arrival) else {
      if packet.isCopy { return }
      if hasStarted, packet.timestamp < nextTimestamp {
        statistics.packetsDiscarded += 1
      } else {
        statistics.packetsDuplicated += 1
      }
      return
    }
    if hasStarted, packet.timestamp < nextTimestamp {
      if !packet.isCopy { statistics.packetsDiscarded += 1 }
      return
    }
    packets.insert(packet, at: index(of: packet.timestamp))
    if packets.count > Self.maximumPackets {
      packets.removeFirst()
      statistics.packetsDiscarded += 1
    }
  }

  /// - Returns: whether the frame with this timestamp had not been there before.
  @discardableResult
  private mutating func noteArrival(of timestamp: Int64, at arrival: Instant) -> Bool {
    if hasStarted, timestamp < nextTimestamp {
      guard let index = lost.firstIndex(of: timestamp) else { return false }
      lost.remove(at: index)
    } else {
      let index = index(of: timestamp)
      if index < packets.count, packets[index].timestamp == timestamp { return false }
    }
    estimator.frameArrived(timestamp: timestamp, at: arrival)
    return true
  }

  /// Where a timestamp is, or belongs.
  private func index(of timestamp: Int64) -> Int {
    var index = packets.count
    while index > 0, packets[index - 1].timestamp >= timestamp { index -= 1 }
    return index
  }

  /// Whether it is from another source, or from one that begins anew.
  private mutating func isNewBeginning(_ packet: ReceivedAudioPacket) -> Bool {
    guard !packet.isCopy else { return false }
    guard hasStarted || !packets.isEmpty else { return false }
    let reference = packets.last?.timestamp ?? nextTimestamp
    let distance = packet.timestamp - reference
    if abs(distance) > Self.maximumJump, !isPaused || distance < 0 { return true }
    guard hasStarted else { return false }
    lateInARow = packet.timestamp < nextTimestamp ? lateInARow + 1 : 0
    return lateInARow > Self.maximumLate
  }

  private mutating func startOver() {
    packets.removeAll()
    estimator = AudioDelayEstimator()
    hasStarted = false
    lost.removeAll()
    lateInARow = 0
    isPaused = false
    stalled = 0
  }

  // MARK: Out

  /// The next piece of sound, for the moment it is asked for.
  package mutating func next(at now: Instant) -> Output {
    guard start(at: now) else { return .silence(samples: Self.tick) }
    shed(at: now)
    guard let first = packets.first else { return isPaused ? pause() : stall() }
    let gap = Int(clamping: first.timestamp - nextTimestamp)
    if gap > 0 {
      if isPaused || first.sequenceNumber == lastSequenceNumber + 1 {
        // The sender had nothing to say in between: the pause is as long as suits the delay.
        let delay = estimator.delay(of: first.timestamp, at: now) ?? 0
        if delay < target, delay > -2 { return pause() }
      } else if gap > stalled {
        return bridge(gap, to: first)
      }
    }
    return play(gap, at: now)
  }

  private mutating func start(at now: Instant) -> Bool {
    if hasStarted { return true }
    guard var first = packets.first else { return false }
    let delay = estimator.delay(of: first.timestamp, at: now) ?? 0
    guard delay >= target else { return false }
    // What came before anybody listened is not caught up on.
    while packets.count > 1, estimator.delay(of: packets[1].timestamp, at: now) ?? 0 >= target {
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
    // What was made up while nothing was there has delayed the rest, as far as nothing was lost.
    statistics.insertedSamplesForDeceleration += max(0, stalled - max(0, gap))
    if stalled > 0, gap > 0 { noteLoss(gap) }
    nextTimestamp = packet.timestamp + Int64(samples)
    lastSequenceNumber = packet.sequenceNumber
    lastSamples = samples
    stalled = 0
    isPaused = OpusPacket.isDiscontinuous(packet.bytes)
    pausedSamples = 0
    isConcealing = false
    if packet.isCopy { statistics.framesRecovered += 1 }
    statistics.totalSamplesReceived += samples
    statistics.jitterBufferEmittedCount += samples
    statistics.jitterBufferDelay += max(0, (now - packet.arrival).seconds) * Double(samples)
    statistics.jitterBufferTargetDelay += target * Double(samples)
    statistics.jitterBufferMinimumDelay += estimator.target * Double(samples)
    return .packet(packet.bytes, samples: samples)
  }

  /// Fills a hole before the first packet that is there.
  private mutating func bridge(_ gap: Int, to first: ReceivedAudioPacket) -> Output {
    // What was concealed while nothing was there has filled a part of the hole already.
    let rest = gap - stalled
    if stalled > 0 { noteLoss(stalled) }
    nextTimestamp += Int64(stalled)
    stalled = 0
    let samples = min(rest, lastSamples)
    if samples == rest, samples >= Self.tick, OpusPacket.hasFEC(first.bytes) {
      nextTimestamp += Int64(samples)
      statistics.framesRecovered += 1
      statistics.totalSamplesReceived += samples
      isConcealing = false
      return .recoverFromNext(first.bytes, samples: samples)
    }
    noteLoss(samples)
    nextTimestamp += Int64(samples)
    countConcealment(samples)
    return .conceal(samples: samples)
  }

  /// The frames that begin within the next so many samples will not be played.
  private mutating func noteLoss(_ samples: Int) {
    var timestamp = nextTimestamp
    let end = nextTimestamp + Int64(min(samples, lastSamples * Self.maximumLost))
    while timestamp < end {
      if lost.count == Self.maximumLost { lost.removeFirst() }
      lost.append(timestamp)
      timestamp += Int64(lastSamples)
    }
  }

  private mutating func stall() -> Output {
    let isSilent = stalled >= Self.maximumConcealment
    stalled = min(stalled + Self.tick, 1 << 40)
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
    return pausedSamples > Self.maximumComfortNoise
      ? .silence(samples: Self.tick) : .comfortNoise(samples: Self.tick)
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
      let delay = estimator.delay(of: first.timestamp, at: now), delay > target + Self.excessiveDelay
    {
      packets.removeFirst()
      statistics.packetsDiscarded += 1
      nextTimestamp = packets[0].timestamp
      lastSequenceNumber = packets[0].sequenceNumber - 1
      stalled = 0
    }
  }

  /// Whether what is about to be heard should be shortened or lengthened.
  ///
  /// - Parameter waiting: samples a channel that were handed out and have not been heard.
  package mutating func stretch(waiting: Int, at now: Instant) -> Stretch? {
    guard hasStarted, !isPaused, !isConcealing,
      // As it was when the packet had to be there: what is left of 10 ms was needed before its time.
      let delay = estimator.delay(of: nextTimestamp - Int64(waiting - waiting % Self.tick), at: now)
    else { return nil }
    return stretching.request(delay: delay, needed: estimator.target, target: target, at: now)
  }

  /// What became of that wish: samples that were left out (positive) or repeated (negative).
  package mutating func stretched(by samples: Int, at now: Instant) {
    guard samples != 0 else { return }
    stretching.stretched(at: now)
    if samples > 0 {
      statistics.removedSamplesForAcceleration += samples
    } else {
      statistics.insertedSamplesForDeceleration -= samples
      statistics.totalSamplesReceived -= samples
    }
  }
}
