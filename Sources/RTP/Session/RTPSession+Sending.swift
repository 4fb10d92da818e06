import Base

extension RTPSession {
  /// The video packets that may wait in the pacer; a frame that would exceed them is not sent.
  private static let maximumQueuedPackets = 768

  /// Sends sound; it does not wait for pictures.
  package func send(_ frame: EncodedAudioFrame, on id: StreamID, at now: Instant) {
    guard !isClosed, let stream = sendStream(id), let number = stream.store(frame) else { return }
    reports.start(at: now)
    pacer.enqueue(
      Pacer.Entry(stream: id, sequenceNumber: number, size: frame.bytes.count, enqueued: now), .audio)
    rehearse(at: now)
  }

  /// Sends a picture, spread over time. If too much waits already it is dropped, and a key frame asked for.
  package func send(_ frame: EncodedVideoFrame, on id: StreamID, at now: Instant) {
    guard !isClosed, !isWithholdingVideo, let stream = sendStream(id) else { return }
    reports.start(at: now)
    if frame.isKeyFrame {
      // What still waits before a key frame that was asked for is of no use any more.
      if stream.keyFrameRequests.isAnswered(at: now) { pacer.removeAll(of: id) }
      stream.keyFrameRequests.keyFrameSent(at: now)
    }
    let room = Self.maximumQueuedPackets - pacer.videoCount
    guard let numbers = stream.store(frame, maximumPackets: room) else {
      stream.statistics.framesDropped += 1
      stream.keyFrameRequests.request()
      return
    }
    for number in numbers {
      let size = stream.history.packet(number)?.count ?? 0
      pacer.enqueue(Pacer.Entry(stream: id, sequenceNumber: number, size: size, enqueued: now), .video)
    }
  }

  /// A packet to be protected and sent. `count` octets of `memory`, behind which there is `tailroom`.
  package struct OutgoingPacket {
    package let memory: UnsafeMutableRawBufferPointer
    package let count: Int
    package let isRTCP: Bool
  }

  /// The next packet that may leave now, unprotected; call until nil. Its memory is valid until the next call.
  package func nextPacket(at now: Instant) -> OutgoingPacket? {
    if let count = writeControl(at: now) {
      return OutgoingPacket(memory: scratch, count: count, isRTCP: true)
    }
    guard !isClosed else { return nil }
    while true {
      let isProbe = pacer.isProbing
      pacer.heldUntil = congestion.holdsBack(at: now)
      guard let entry = pacer.next(at: now) else {
        if pacer.heldUntil != nil { tellEncoders(at: now) }
        return nil
      }
      guard let stream = sendStream(entry.stream),
        let count = write(entry, of: stream, isProbe: isProbe, at: now)
      else { continue }
      return OutgoingPacket(memory: scratch, count: count, isRTCP: false)
    }
  }

  /// Hands over every packet that may leave now, as `nextPacket`.
  package func transmit(
    at now: Instant,
    _ body: (_ packet: UnsafeMutableRawBufferPointer, _ count: Int, _ isRTCP: Bool) -> Void
  ) {
    while let packet = nextPacket(at: now) { body(packet.memory, packet.count, packet.isRTCP) }
  }

  /// Fills in what depends on the moment of sending.
  private func write(_ entry: Pacer.Entry, of stream: SendStream, isProbe: Bool, at now: Instant) -> Int? {
    let memory = UnsafeMutableRawBufferPointer(rebasing: scratch[0..<scratch.count - Self.tailroom])
    guard
      let count = entry.isPadding
        ? stream.writePadding(entry.size, to: memory)
        : stream.copy(entry.sequenceNumber, isRetransmission: entry.isRetransmission, to: memory, at: now)
    else { return nil }
    stream.statistics.totalPacketSendDelay += (now - entry.enqueued).seconds
    videoTarget.packetSent(
      size: count, isAudio: stream.configuration.kind == .audio,
      isRetransmission: entry.isRetransmission && !entry.isProbe, at: now)
    if let offset = stream.header.absoluteSendTimeOffset {
      // 6.18 fixed point of the wall clock's seconds.
      let time = UInt32(truncatingIfNeeded: ntpTime(at: now).value >> 14)
      memory[offset] = UInt8(truncatingIfNeeded: time >> 16)
      memory[offset + 1] = UInt8(truncatingIfNeeded: time >> 8)
      memory[offset + 2] = UInt8(truncatingIfNeeded: time)
    }
    if let offset = stream.header.playoutDelayOffset {
      let delays = repairDelay.extensionValue
      memory[offset] = UInt8(truncatingIfNeeded: delays >> 16)
      memory[offset + 1] = UInt8(truncatingIfNeeded: delays >> 8)
      memory[offset + 2] = UInt8(truncatingIfNeeded: delays)
    }
    if let offset = stream.header.transportSequenceNumberOffset, stream.configuration.transportCC {
      let isRepairable = stream.rtxHeader != nil && stream.configuration.nack && !entry.isPadding
      let number = congestion.packetSent(
        size: count, isProbe: isProbe,
        content: isRepairable
          ? CongestionController.Content(stream: stream.id, sequenceNumber: entry.sequenceNumber) : nil,
        at: now)
      memory.storeBytes(of: number.bigEndian, toByteOffset: offset, as: UInt16.self)
      if stream.configuration.kind == .audio { stream.redundancy.packetSent(number) }
    }
    return count
  }

  func ntpTime(at now: Instant) -> NTPTime {
    NTPTime(unixMicroseconds: configuration.wallClockAtZero &+ now.nanoseconds / 1000)
  }
}

extension RTPSession {
  /// Sends a packet again that the peer misses, unless that has just been done or would cost too much.
  func retransmit(_ sequenceNumber: UInt16, of stream: SendStream, at now: Instant) {
    guard !isWithholdingVideo || stream.configuration.kind == .audio,
      let number = stream.extend(sequenceNumber), let packet = stream.history.packet(number),
      // Nil while it waits in the pacer.
      let sent = stream.history.metadata(number)?.sent,
      now - sent >= max(.milliseconds(5), roundTripTime.estimate * 3 / 4),
      retransmissions.spend(packet.count, rate: congestion.target / 2, at: now)
    else { return }
    stream.history.update(number) { $0.sent = nil }
    let entry = Pacer.Entry(
      stream: stream.id, sequenceNumber: number, size: packet.count, enqueued: now, isRetransmission: true)
    pacer.enqueue(entry, .retransmission)
    // A round trip later it would be too late for the picture: where much is lost, the repair goes out twice.
    // Not where queues overflow: more packets would be the last thing they need.
    guard congestion.loss > Self.considerableLoss, stream.rtxHeader != nil, !roundTripTime.isInflated,
      congestion.queueDelay < Self.considerableQueue,
      retransmissions.spend(packet.count, rate: congestion.target / 2, at: now)
    else { return }
    pacer.enqueue(entry, .copy)
  }

  /// Sends again what feedback says is lost, where so much is that requests for it are lost too. Where little is,
  /// it may just have been overtaken.
  func retransmitLost(at now: Instant) {
    guard congestion.loss > Self.considerableLoss else { return }
    for (content, sent) in congestion.lost where now - sent < Self.usefulAge {
      // Else it has been sent again since, or waits for it.
      guard let stream = sendStream(content.stream),
        stream.history.metadata(content.sequenceNumber)?.sent == sent
      else { continue }
      retransmit(UInt16(truncatingIfNeeded: content.sequenceNumber), of: stream, at: now)
    }
  }

  /// Later its picture has been given up.
  private static let usefulAge = Duration.milliseconds(600)
  private static let considerableLoss = 0.03
  private static let considerableQueue = Duration.milliseconds(100)
  /// So long the key frame with which pictures come back, which is large, is sent at the pace of the others.
  private static let resumption = Duration.seconds(2)

  /// Tells pacer and encoders what congestion control decided.
  func applyTarget(at now: Instant) {
    // While a queue drains, what the encoder makes too much waits here, and sound need not wait behind it.
    let isResuming = resumed.map { now - $0 < Self.resumption } ?? false
    pacer.rate =
      isResuming ? congestion.target : congestion.target * (congestion.isYielding(at: now) ? 6 : 12) / 5
    repairDelay.update(loss: congestion.loss, roundTripTime: roundTripTime.estimate, at: now)
    tellEncoders(at: now)
    startProbe(at: now)
    rehearse(at: now)
  }

  /// A picture may wait so long for others before it.
  static let patience = Duration.milliseconds(80)

  /// While pictures wait, new ones would be late before they leave.
  private func tellEncoders(at now: Instant) {
    let waits = pacer.heldUntil == nil ? 0 : pacer.videoWait(at: now).seconds / Self.patience.seconds
    // Not less at once: an encoder's rate control needs long to recover from next to nothing.
    let share = waits < 1 ? 1 : waits < 4 ? 0.5 : 0
    guard videoTarget.update(total: Int(Double(congestion.target) * share), at: now) else { return }
    for stream in sendStreams where stream.configuration.kind == .video {
      stream.statistics.targetBitrate = videoTarget.bitrate
    }
    events.append(.targetBitrate(bitsPerSecond: videoTarget.bitrate))
  }

  /// Sends some of the last pictures' packets once more, as retransmissions that nobody asked for: the other
  /// side measures how they arrive, and may even need one of them.
  private func startProbe(at now: Instant) {
    guard !pacer.isProbing,
      let stream = sendStreams.first(where: { $0.configuration.transportCC && $0.rtxHeader != nil }),
      let rate = congestion.nextProbe(isWithholding: isWithholdingVideo, at: now)
    else { return }
    if isWithholdingVideo { return probeWithPadding(of: stream, rate: rate, at: now) }
    var recent: [Pacer.Entry] = []
    var number = stream.nextSequenceNumber - 1
    while recent.count < 30, number > stream.nextSequenceNumber - 60,
      let packet = stream.history.packet(number)
    {
      if stream.history.metadata(number)?.sent != nil {
        recent.append(
          Pacer.Entry(
            stream: stream.id, sequenceNumber: number, size: packet.count, enqueued: now,
            isRetransmission: true, isProbe: true))
      }
      number -= 1
    }
    recent.sort { $0.size > $1.size }
    let needed = max(
      Int(Double(rate) / 8 * BandwidthProbe.duration),
      BandwidthProbe.minimumPackets * BandwidthProbe.packetSize)
    var entries: [Pacer.Entry] = []
    var size = 0
    while !recent.isEmpty, size < needed || entries.count < BandwidthProbe.minimumPackets, entries.count < 60
    {
      let entry = recent[entries.count % min(recent.count, 10)]
      entries.append(entry)
      size += entry.size
    }
    pacer.probe(with: entries, rate: rate)
  }
}
