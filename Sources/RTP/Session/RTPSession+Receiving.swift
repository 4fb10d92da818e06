import Base

extension RTPSession {
  /// A source without mid may take over a stream that has been silent for so long.
  private static let takeOverSilence = Duration.milliseconds(500)

  /// Takes in a whole packet, RTP or RTCP (RFC 5761), decrypted. What is wrong with it is counted.
  ///
  /// - Parameter packet: valid during the call only.
  package func receive(_ packet: UnsafeRawBufferPointer, at now: Instant) {
    heard(at: now)
    if RTPPacket.isRTCP(packet) {
      receiveControl(packet, at: now)
      return
    }
    guard let packet = RTPPacket(parsing: packet) else {
      packetsMalformed += 1
      return
    }
    let values = HeaderExtensionValues(of: packet, by: receiveExtensions)
    if let number = values.transportSequenceNumber, sendsTransportFeedback {
      arrivals.received(number, ssrc: packet.ssrc, size: packet.bytes.count, at: now)
    }
    guard let route = route(packet, values, at: now) else {
      packetsUnknown += 1
      return
    }
    reports.start(at: now)
    let stream = route.stream
    signsOfLife.received(stream.configuration.kind, at: now)
    if sendsREMB(for: stream) { noteForREMB(packet, values, on: stream, at: now) }
    if route.isRetransmission {
      receiveRetransmission(packet, on: stream, at: now)
    } else {
      stream.lastPacket = now
      if let delay = values.playoutDelay {
        stream.video?.timing.limits = (Double(delay.minimum) / 100, Double(delay.maximum) / 100)
      }
      receiveMedia(packet, on: stream, at: now)
    }
    drainVideo(of: stream, at: now)
  }

  /// After so long a silence of the peer, who else speaks all the time, the way was blocked.
  private static let blockage = Duration.milliseconds(700)

  /// The first that comes through after a blockage: what was sent meanwhile is lost, so the picture starts afresh
  /// without being asked.
  private func heard(at now: Instant) {
    defer { lastHeard = now }
    guard let lastHeard, now - lastHeard > Self.blockage, !congestion.isAnswered else { return }
    congestion.peerAnswered(at: now)
    applyTarget(at: now)
    guard !isWithholdingVideo else { return }
    for stream in sendStreams where stream.configuration.kind == .video && stream.isActive(at: now) {
      stream.keyFrameRequests.request()
      if stream.keyFrameRequests.poll(at: now) { events.append(.keyFrameRequested(stream.id)) }
    }
  }

  private func noteForREMB(
    _ packet: RTPPacket, _ values: HeaderExtensionValues, on stream: ReceiveStream, at now: Instant
  ) {
    if let time = values.absoluteSendTime {
      stream.remoteBitrate.received(absoluteSendTime: time, size: packet.bytes.count, at: now)
    } else if receiveExtensions.absoluteSendTime == nil, stream.configuration.kind == .video,
      packet.ssrc == stream.ssrc
    {
      var timestamps = stream.timestamps
      stream.remoteBitrate.received(
        videoTimestamp: timestamps.unwrap(packet.timestamp), size: packet.bytes.count, at: now)
    }
  }

  // MARK: Which stream

  private func route(_ packet: RTPPacket, _ values: HeaderExtensionValues, at now: Instant) -> Route? {
    if let route = routes[packet.ssrc] {
      let kind = route.stream.payloadKind(packet.payloadType)
      return kind != .unknown && (kind == .retransmission) == route.isRetransmission ? route : nil
    }
    // A new source: by mid, else by payload type (RFC 9143, 9.2).
    let candidates: [ReceiveStream]
    if let mid = values.mid {
      candidates = receiveStreams.filter { $0.midBytes?.elementsEqual(mid) ?? false }
    } else {
      candidates = receiveStreams.filter { stream in
        stream.ssrc == nil || stream.payloadKind(packet.payloadType) == .retransmission
          || stream.lastPacket.map { now - $0 > Self.takeOverSilence } ?? true
      }
    }
    let fitting = candidates.filter { $0.payloadKind(packet.payloadType) != .unknown }
    guard let stream = fitting.first, fitting.count == 1 else { return nil }
    let isRetransmission = stream.payloadKind(packet.payloadType) == .retransmission
    let route = Route(stream: stream, isRetransmission: isRetransmission)
    if isRetransmission {
      if let old = stream.rtxSSRC { routes[old] = nil }
      stream.bind(rtxSSRC: packet.ssrc)
    } else {
      if let old = stream.ssrc { routes[old] = nil }
      stream.bind(ssrc: packet.ssrc)
    }
    routes[packet.ssrc] = route
    return route
  }

  // MARK: Media

  private func receiveMedia(_ packet: RTPPacket, on stream: ReceiveStream, at now: Instant) {
    guard
      let number = stream.reception?.receive(
        sequenceNumber: packet.sequenceNumber, timestamp: packet.timestamp, at: now)
    else { return }
    stream.statistics.packetsReceived += 1
    stream.statistics.bytesReceived += packet.payload.count
    stream.statistics.headerBytesReceived += packet.bytes.count - packet.payload.count
    stream.statistics.lastPacketReceived = now
    // Without RTX a packet that had been asked for comes back as it was.
    let arrival = stream.nack?.received(
      number, isRepair: stream.configuration.rtxPayloadTypes.isEmpty ? nil : false,
      roundTripTime: roundTripTime.smoothed, at: now)
    noteRepair(arrival, size: packet.payload.count, on: stream)
    if stream.video != nil {
      receiveVideo(packet, number: number, on: stream, at: now)
    } else if stream.payloadKind(packet.payloadType) == .redundantMedia {
      deliverRedundant(packet, number: number, on: stream, at: now)
    } else {
      deliver(
        packet.payload, number: number, timestamp: packet.timestamp, marker: packet.marker, on: stream,
        at: now)
    }
  }

  /// A packet of a picture as it is, or inside RED (RFC 2198), where parity packets may stand in between.
  private func receiveVideo(_ packet: RTPPacket, number: Int64, on stream: ReceiveStream, at now: Instant) {
    var (type, payload) = (packet.payloadType, packet.payload)
    let isRedundant = stream.payloadKind(type) == .redundantMedia
    if isRedundant {
      guard let inner = withoutRedundancy(payload, of: stream) else {
        packetsMalformed += 1
        return
      }
      (type, payload) = inner
    }
    if type == stream.configuration.parityPayloadType {
      stream.statistics.fecPacketsReceived += 1
      if stream.parity?.insertParity(payload, number: number) == false { packetsMalformed += 1 }
      // Its number is none of a picture.
      payload = UnsafeRawBufferPointer(start: nil, count: 0)
    } else {
      stream.parity?.insert(
        packet, number: number, payloadType: type, prefix: isRedundant ? 1 : 0, extensions: receiveExtensions)
    }
    deliver(
      payload, number: number, timestamp: packet.timestamp, marker: packet.marker, on: stream, at: now)
    let discarded = stream.parity?.restore { packet, number in
      guard stream.payloadKind(packet.payloadType) == .media, stream.video?.has(number) == false else {
        return
      }
      _ = stream.nack?.received(number, isRepair: true, roundTripTime: roundTripTime.smoothed, at: now)
      deliver(
        packet.payload, number: number, timestamp: packet.timestamp, marker: packet.marker, on: stream,
        at: now)
    }
    stream.statistics.fecPacketsDiscarded += discarded ?? 0
  }

  /// The only block of a RED packet of pictures; nil if it is another one.
  private func withoutRedundancy(_ payload: UnsafeRawBufferPointer, of stream: ReceiveStream)
    -> (type: UInt8, payload: UnsafeRawBufferPointer)?
  {
    guard let type = payload.first, type & 0x80 == 0,
      stream.payloadKind(type) == .media || type == stream.configuration.parityPayloadType
    else { return nil }
    return (type, UnsafeRawBufferPointer(rebasing: payload.dropFirst()))
  }

  /// Sound with copies of earlier sound, of which those are of use whose packets have not arrived.
  private func deliverRedundant(
    _ packet: RTPPacket, number: Int64, on stream: ReceiveStream, at now: Instant
  ) {
    guard let content = RedundantAudio(parsing: packet.payload),
      stream.payloadKind(content.primary.payloadType) == .media
    else {
      packetsMalformed += 1
      return
    }
    let timestamp = stream.timestamps.unwrap(packet.timestamp)
    let samples = OpusPacket.samples(content.primary.bytes) ?? 960
    content.forEachRedundant { block in
      guard stream.payloadKind(block.payloadType) == .media else { return }
      stream.statistics.fecPacketsReceived += 1
      // Nothing says which packet it was; without pauses in between it is this one.
      let original = number - max(1, Int64(block.timestampOffset) / Int64(samples))
      guard !stream.recent.contains(original) else {
        stream.statistics.fecPacketsDiscarded += 1
        return
      }
      events.append(
        .audioPacket(
          stream.id,
          ReceivedAudioPacket(
            bytes: Array(block.bytes), sequenceNumber: original,
            timestamp: timestamp - Int64(block.timestampOffset), arrival: now, isCopy: true,
            captureTime: stream.captureTime(of: timestamp - Int64(block.timestampOffset)))))
    }
    deliver(
      content.primary.bytes, number: number, timestamp: packet.timestamp, marker: packet.marker, on: stream,
      at: now)
  }

  /// A packet inside an RTX packet: the original sequence number, then the original payload
  /// (RFC 4588, 4).
  private func receiveRetransmission(_ packet: RTPPacket, on stream: ReceiveStream, at now: Instant) {
    _ = stream.rtxReception?.receive(
      sequenceNumber: packet.sequenceNumber, timestamp: packet.timestamp, at: now)
    stream.statistics.packetsReceived += 1
    stream.statistics.bytesReceived += packet.payload.count
    stream.statistics.headerBytesReceived += packet.bytes.count - packet.payload.count
    var reader = ByteReader(packet.payload)
    // Without a number it is padding that probes the way.
    guard let original = reader.uint16(), let number = stream.reception?.extend(original) else { return }
    let arrival = stream.nack?.received(
      number, isRepair: true, roundTripTime: roundTripTime.smoothed, at: now)
    if let trip = arrival?.roundTrip { roundTripTime.add(trip) }
    stream.statistics.retransmittedPacketsReceived += 1
    stream.statistics.retransmittedBytesReceived += packet.payload.count
    var payload = reader.rest()
    if let type = stream.configuration.rtxPayloadTypes[packet.payloadType],
      stream.payloadKind(type) == .redundantMedia
    {
      guard let inner = withoutRedundancy(payload, of: stream) else { return }
      // The number of a parity packet is none of a picture.
      let isParity = inner.type == stream.configuration.parityPayloadType
      payload = isParity ? UnsafeRawBufferPointer(start: nil, count: 0) : inner.payload
    }
    deliver(payload, number: number, timestamp: packet.timestamp, marker: packet.marker, on: stream, at: now)
  }

  private func noteRepair(_ arrival: NACKTracker.Arrival?, size: Int, on stream: ReceiveStream) {
    guard let arrival, arrival.wasRequested else { return }
    if let trip = arrival.roundTrip { roundTripTime.add(trip) }
    stream.statistics.retransmittedPacketsReceived += 1
    stream.statistics.retransmittedBytesReceived += size
  }

  private func deliver(
    _ payload: UnsafeRawBufferPointer, number: Int64, timestamp: UInt32, marker: Bool,
    on stream: ReceiveStream, at now: Instant
  ) {
    let extended = stream.timestamps.unwrap(timestamp)
    if let video = stream.video {
      video.insert(
        VideoFrameAssembler.Packet(
          sequenceNumber: number, timestamp: extended, marker: marker, arrival: now),
        payload: payload)
    } else if !payload.isEmpty {
      stream.recent.insert(number)
      events.append(
        .audioPacket(
          stream.id,
          ReceivedAudioPacket(
            bytes: Array(payload), sequenceNumber: number, timestamp: extended, arrival: now,
            captureTime: stream.captureTime(of: extended))))
    }
  }

  func drainVideo(of stream: ReceiveStream, at now: Instant) {
    guard let video = stream.video else { return }
    while var frame = video.next(at: now) {
      frame.captureTime = stream.captureTime(of: frame.timestamp)
      if frame.isKeyFrame { stream.keyFrameRequester.keyFrameArrived() }
      events.append(.videoFrame(stream.id, frame))
    }
    requestKeyFrameIfStuck(stream, video, at: now)
  }

  /// Asks for a key frame when nothing else can bring the picture back (soon enough).
  private func requestKeyFrameIfStuck(_ stream: ReceiveStream, _ video: VideoReceiver, at now: Instant) {
    if let last = video.lastSequenceNumber { stream.nack?.discard(through: last) }
    guard let since = video.waitingSince else { return }
    var isStuck = false
    // What was lost is asked for; only when that takes too long the picture starts afresh.
    func isTooLong(since: Instant) -> Bool {
      let hasNACK = stream.configuration.nack
      return now - since > (hasNACK ? .milliseconds(300) + roundTripTime.estimate * 3 : .milliseconds(40))
    }
    if video.needsKeyFrame {
      isStuck = video.arrivingKeyFrame.map { isTooLong(since: $0.lastPacket) } ?? true
    } else {
      let isIncomplete = video.hasUndecodableFrames || stream.nack?.isEmpty == false
      isStuck = stream.nack?.hasGivenUp == true || isIncomplete && isTooLong(since: since)
    }
    if isStuck {
      stream.nack?.acknowledgeGivingUp()
      stream.keyFrameRequester.request()
    }
    if let last = video.arrivingKeyFrame?.lastPacket, now - last < .milliseconds(200) {
      stream.keyFrameRequester.postpone(at: last)
    }
  }

  /// Asks the peer for a key frame (PLI, else FIR), repeated until one comes.
  package func requestKeyFrame(_ id: StreamID, at now: Instant) {
    receiveStream(id)?.keyFrameRequester.request()
  }
}
