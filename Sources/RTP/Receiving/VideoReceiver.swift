import Base

/// The receiving side of one video source: packets in, decodable frames out, and what must be asked for.
final class VideoReceiver {
  private static let maximumWaitingFrames = 128
  /// A missing frame of a higher layer is waited for until shortly before the next must be shown.
  private static let decodingMargin = Duration.milliseconds(15)

  private var assembler = VideoFrameAssembler()
  private var order = VP8DecodingOrder()
  /// Complete, in order of sequence numbers.
  private var waiting: [AssembledFrame] = []
  var timing = VideoPlayoutTiming()
  private var newest: Int64 = -1
  /// Since when there are packets that do not lead to a frame.
  private(set) var waitingSince: Instant?
  /// Timestamp and last packet of the key frame that is coming in.
  private(set) var arrivingKeyFrame: (timestamp: Int64, lastPacket: Instant)?

  /// Goes on from one source to the next.
  private(set) var counters: Counters

  /// For `InboundRTPStatistics`.
  struct Counters {
    var framesReceived = 0
    var keyFramesReceived = 0
    var framesDropped = 0
    var framesAssembledFromMultiplePackets = 0
    var packetsDuplicated = 0
    var jitterBufferDelay = 0.0
    var jitterBufferTargetDelay = 0.0
    var jitterBufferEmittedCount = 0
  }

  init(counters: Counters = Counters()) { self.counters = counters }

  /// No key frame has come yet.
  var needsKeyFrame: Bool { order.lastSequenceNumber == nil }
  /// Frames are complete but cannot be decoded.
  var hasUndecodableFrames: Bool { !waiting.isEmpty }
  /// The last packet of the last frame handed out.
  var lastSequenceNumber: Int64? { order.lastSequenceNumber }

  /// Whether this packet is there, or has been.
  func has(_ number: Int64) -> Bool { assembler.has(number) }

  func insert(_ packet: VideoFrameAssembler.Packet, payload: UnsafeRawBufferPointer) {
    let outcome =
      payload.isEmpty ? assembler.insertPadding(packet) : assembler.insert(packet, payload: payload)
    switch outcome {
    case .duplicate: counters.packetsDuplicated += 1
    case .refused: break
    case .stored: noteProgress(packet, payload)
    case .completed(let frame):
      noteProgress(packet, payload)
      counters.framesReceived += 1
      if frame.isKeyFrame { counters.keyFramesReceived += 1 }
      if frame.sequenceNumbers.count > 1 { counters.framesAssembledFromMultiplePackets += 1 }
      insert(frame)
    }
  }

  private func noteProgress(_ packet: VideoFrameAssembler.Packet, _ payload: UnsafeRawBufferPointer) {
    newest = max(newest, packet.sequenceNumber)
    if !payload.isEmpty, waitingSince == nil, packet.sequenceNumber > order.lastSequenceNumber ?? -1 {
      waitingSince = packet.arrival
    }
    if packet.timestamp == arrivingKeyFrame?.timestamp {
      arrivingKeyFrame?.lastPacket = packet.arrival
    } else {
      var reader = ByteReader(payload)
      if let descriptor = VP8PayloadDescriptor(parsing: &reader), descriptor.startsFrame,
        let first = reader.uint8(), first & 1 == 0
      {
        arrivingKeyFrame = (packet.timestamp, packet.arrival)
      }
    }
  }

  private func insert(_ frame: AssembledFrame) {
    var index = waiting.count
    while index > 0, waiting[index - 1].sequenceNumbers.lowerBound > frame.sequenceNumbers.lowerBound {
      index -= 1
    }
    waiting.insert(frame, at: index)
    if waiting.count > Self.maximumWaitingFrames {
      counters.framesDropped += 1
      waiting.removeFirst()
    }
  }

  /// The next frame for the decoder, if there is one now.
  func next(at now: Instant) -> ReceivedVideoFrame? {
    var index = 0
    while index < waiting.count {
      let frame = waiting[index]
      switch order.judge(frame, isPadding: { assembler.isPadding($0) }) {
      case .obsolete:
        counters.framesDropped += 1
        waiting.remove(at: index)
      case .waiting: index += 1
      case .decodable(let gap):
        // Only what is shown says how late pictures come: browsers probe the way with old ones nobody asked for.
        if !frame.isTimed {
          waiting[index].isTimed = true
          timing.frameArrived(timestamp: frame.timestamp, at: frame.lastArrival)
        }
        let renderTime = timing.renderTime(timestamp: frame.timestamp, at: now)
        if gap, !frame.isKeyFrame, now < renderTime - Self.decodingMargin { return nil }
        counters.framesDropped += index
        waiting.removeSubrange(0...index)
        return handOut(frame, renderTime: renderTime, at: now)
      }
    }
    return nil
  }

  /// When `next` may have something that it has not now, if nothing arrives.
  func deadline(at now: Instant) -> Instant? {
    for frame in waiting {
      guard case .decodable(gap: true) = order.judge(frame, isPadding: { assembler.isPadding($0) }) else {
        continue
      }
      return timing.renderTime(timestamp: frame.timestamp, at: now) - Self.decodingMargin
    }
    return nil
  }

  private func handOut(_ frame: AssembledFrame, renderTime: Instant, at now: Instant) -> ReceivedVideoFrame {
    order.handOut(frame, isPadding: { assembler.isPadding($0) })
    assembler.discard(through: frame.sequenceNumbers.upperBound)
    waitingSince = newest > frame.sequenceNumbers.upperBound ? now : nil
    if frame.isKeyFrame { arrivingKeyFrame = nil }
    counters.jitterBufferDelay += max(0, (renderTime - frame.firstArrival).seconds)
    counters.jitterBufferTargetDelay += timing.targetDelay
    counters.jitterBufferEmittedCount += 1
    return ReceivedVideoFrame(
      bytes: frame.bytes, isKeyFrame: frame.isKeyFrame, timestamp: frame.timestamp,
      arrival: frame.lastArrival, renderTime: renderTime)
  }
}
