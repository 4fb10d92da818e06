import Base

extension RTPSession {
  /// What one RTCP packet may have, as RTP packets.
  private static let maximumControlSize = SendStream.maximumPacketSize

  private static let never = Instant(nanoseconds: .max)
  /// Sequence numbers in one NACK.
  private static let maximumNACKs = 60
  /// The largest transport-wide feedback that is written, in octets.
  private static let feedbackRoom = 900
  private static let maximumReferenceTimes = 4

  // MARK: Receiving

  func receiveControl(_ bytes: UnsafeRawBufferPointer, at now: Instant) {
    let isWellFormed = RTCPPacket.parse(bytes) { packet in
      switch packet {
      case .senderReport(let report):
        receive(report, at: now)
        for block in report.blocks { receive(block, at: now) }
      case .receiverReport(let report):
        for block in report.blocks { receive(block, at: now) }
      case .sourceDescription: break
      case .goodbye(let ssrcs):
        for ssrc in ssrcs {
          guard let route = routes[ssrc], !route.isRetransmission else { continue }
          events.append(.bye(route.stream.id))
        }
      case .nack(let nack):
        guard let stream = sendStreams.first(where: { $0.configuration.ssrc == nack.media }) else { break }
        stream.statistics.nackCount += 1
        guard stream.configuration.nack else { break }
        for number in nack.sequenceNumbers { retransmit(number, of: stream, at: now) }
      case .pictureLossIndication(_, let media):
        guard let stream = sendStreams.first(where: { $0.configuration.ssrc == media }) else { break }
        stream.statistics.pliCount += 1
        congestion.peerAnswered(at: now)
        // What is asked for may be under way; whoever misses it asks again.
        if !stream.keyFrameRequests.hasJustSent(within: roundTripTime.estimate, at: now) {
          stream.keyFrameRequests.request()
        }
      case .fullIntraRequest(let request):
        for entry in request.entries {
          guard let stream = sendStreams.first(where: { $0.configuration.ssrc == entry.ssrc }) else {
            continue
          }
          stream.statistics.firCount += 1
          stream.keyFrameRequests.request(commandNumber: entry.commandNumber)
        }
      case .receiverEstimatedMaximumBitrate(let estimate):
        guard sendStreams.contains(where: { $0.configuration.remb }) else { break }
        congestion.receiveEstimate(estimate.bitsPerSecond, at: now)
      case .transportFeedback(let feedback):
        guard sendStreams.contains(where: { $0.configuration.transportCC }) else { break }
        congestion.receive(feedback, roundTripTime: roundTripTime, at: now)
        retransmitLost(at: now)
        for stream in sendStreams where stream.configuration.kind == .audio {
          stream.redundancy.receive(feedback)
        }
      case .extendedReport(let report): receive(report, at: now)
      }
    }
    applyTarget(at: now)
    let isSoundAlone = !sendStreams.contains { $0.configuration.kind == .video && $0.isActive(at: now) }
    for stream in sendStreams {
      stream.updateRedundancy(available: congestion.target, isAlone: isSoundAlone)
    }
    if !isWellFormed { packetsMalformed += 1 }
    for stream in sendStreams where stream.keyFrameRequests.poll(at: now) {
      events.append(.keyFrameRequested(stream.id))
    }
  }

  private func receive(_ report: SenderReport, at now: Instant) {
    guard let route = routes[report.ssrc] else { return }
    if route.isRetransmission {
      route.stream.rtxReception?.lastSenderReport = (report.ntpTime, now)
    } else {
      route.stream.reception?.lastSenderReport = (report.ntpTime, now)
      if let last = route.stream.timestamps.last {
        route.stream.senderClock.update(
          ntpTime: report.ntpTime, timestamp: report.rtpTimestamp, near: last)
      }
    }
  }

  /// The round-trip time as one who sends nothing learns it, and what those are told by us.
  private func receive(_ report: ExtendedReport, at now: Instant) {
    if let time = report.referenceTime {
      referenceTimes.removeAll { $0.ssrc == report.ssrc }
      if referenceTimes.count == Self.maximumReferenceTimes { referenceTimes.removeFirst() }
      referenceTimes.append((report.ssrc, time.middle, now))
    }
    for delay in report.delays where delay.ssrc == senderSSRC && delay.lastReceiverReport != 0 {
      let units = ntpTime(at: now).middle &- delay.lastReceiverReport &- delay.delay
      reportedRoundTripTime.add(.seconds(max(0, Double(Int32(bitPattern: units)) / 65536)))
    }
  }

  private func receive(_ block: ReportBlock, at now: Instant) {
    guard let stream = sendStreams.first(where: { $0.configuration.ssrc == block.ssrc }) else { return }
    var remote =
      stream.remote ?? RemoteInboundRTPStatistics(stream: stream.id, ssrc: stream.configuration.ssrc)
    remote.packetsLost = Int(block.cumulativeLost)
    remote.fractionLost = Double(block.fractionLost) / 256
    remote.jitter = Double(block.jitter) / Double(stream.configuration.kind.clockRate)
    if block.lastSenderReport != 0 {
      // RFC 3550, 6.4.1: A - LSR - DLSR, in units of 1/65536 s.
      let units = ntpTime(at: now).middle &- block.lastSenderReport &- block.delaySinceLastSenderReport
      let seconds = max(0, Double(Int32(bitPattern: units)) / 65536)
      if seconds < 30 {
        remote.roundTripTime = seconds
        remote.totalRoundTripTime += seconds
        remote.roundTripTimeMeasurements += 1
        roundTripTime.add(.seconds(seconds))
      }
    }
    if let previous = stream.lastReport {
      let total = Int(
        Int32(bitPattern: block.extendedHighestSequenceNumber &- previous.extendedHighestSequenceNumber))
      let lost = Int(block.cumulativeLost) - Int(previous.cumulativeLost)
      congestion.receiveReport(
        total: total, lost: lost, roundTripTime: roundTripTime, at: now)
      if stream.configuration.kind == .audio { stream.redundancy.receiveReport(total: total, lost: lost) }
      if let share = sentLoss.add(total: total, lost: lost) {
        let audio = sendStreams.first { $0.configuration.kind == .audio }
        events.append(.packetLoss(audio?.residualLoss(of: share) ?? share))
      }
    }
    stream.remote = remote
    stream.lastReport = block
  }

  // MARK: Sending

  /// Writes the next RTCP compound that is due into `scratch`.
  ///
  /// - Returns: its size, or nil if nothing is due.
  func writeControl(at now: Instant) -> Int? {
    guard isControlDue(at: now) else { return nil }
    let isReportDue = reports.next ?? Self.never <= now
    let requests = receiveStreams.filter { $0.canRequestKeyFrame && $0.keyFrameRequester.poll(at: now) }
    let lossReports = receiveStreams.filter { $0.ssrc != nil && $0.nack?.deadline ?? Self.never <= now }
    let estimates = receiveStreams.filter {
      sendsREMB(for: $0) && $0.remoteBitrate.deadline ?? Self.never <= now
    }
    let isFeedbackDue = sendsTransportFeedback && arrivals.deadline ?? Self.never <= now
    let isSignDue = signsOfLife.poll(at: now)
    guard
      isReportDue || !requests.isEmpty || !goodbyes.isEmpty || !lossReports.isEmpty || !estimates.isEmpty
        || isFeedbackDue || isSignDue
    else { return nil }
    var writer = ByteWriter(UnsafeMutableRawBufferPointer(rebasing: scratch[0..<Self.maximumControlSize]))
    if isReportDue || !goodbyes.isEmpty {
      writeReports(to: &writer, at: now)
      reports.reported(at: now, random: &random)
    } else if !configuration.reducedSizeRTCP {
      // RFC 4585, 3.1: a compound begins with a report and has the CNAME.
      RTCPPacket.receiverReport(ReceiverReport(ssrc: senderSSRC)).write(to: &writer)
      writeSourceDescription(to: &writer)
    } else if isSignDue {
      RTCPPacket.receiverReport(ReceiverReport(ssrc: senderSSRC)).write(to: &writer)
    }
    for stream in requests { writeKeyFrameRequest(of: stream, to: &writer) }
    for stream in lossReports { writeNACK(of: stream, to: &writer, at: now) }
    for stream in estimates {
      guard let bitrate = stream.remoteBitrate.estimate(at: now) else { continue }
      RTCPPacket.receiverEstimatedMaximumBitrate(
        ReceiverEstimatedMaximumBitrate(
          sender: senderSSRC, bitsPerSecond: bitrate, ssrcs: [stream.ssrc, stream.rtxSSRC].compactMap { $0 })
      ).write(to: &writer)
    }
    if isFeedbackDue { writeTransportFeedback(to: &writer, at: now) }
    if !goodbyes.isEmpty {
      RTCPPacket.goodbye(ssrcs: goodbyes).write(to: &writer)
      goodbyes = []
    }
    return writer.overflowed || writer.count == 0 ? nil : writer.count
  }

  /// Whether any RTCP is to be sent: asked for every packet, so it makes no lists.
  private func isControlDue(at now: Instant) -> Bool {
    if reports.next ?? Self.never <= now || !goodbyes.isEmpty { return true }
    if signsOfLife.deadline ?? Self.never <= now { return true }
    var hasTransportCC = false
    for stream in receiveStreams {
      hasTransportCC = hasTransportCC || stream.configuration.transportCC
      if stream.canRequestKeyFrame, stream.keyFrameRequester.deadline ?? Self.never <= now { return true }
      if stream.nack?.deadline ?? Self.never <= now { return true }
      if sendsREMB(for: stream), stream.remoteBitrate.deadline ?? Self.never <= now { return true }
    }
    return hasTransportCC && arrivals.deadline ?? Self.never <= now
  }

  /// Who our feedback is from.
  private var senderSSRC: UInt32 { sendStreams.first?.configuration.ssrc ?? feedbackSSRC }

  private func writeReports(to writer: inout ByteWriter, at now: Instant) {
    var blocks: [ReportBlock] = []
    for stream in receiveStreams {
      if let block = stream.reception?.reportBlock(at: now) { blocks.append(block) }
      if let block = stream.rtxReception?.reportBlock(at: now) { blocks.append(block) }
    }
    blocks = Array(blocks.prefix(16))
    var hasReport = false
    for stream in sendStreams {
      guard stream.statistics.packetsSent > 0, let timestamp = stream.timestamp(at: now) else { continue }
      let sent = stream.sentBySource
      SenderReport(
        ssrc: stream.configuration.ssrc, ntpTime: ntpTime(at: now), rtpTimestamp: timestamp,
        packetCount: UInt32(truncatingIfNeeded: sent.packets),
        octetCount: UInt32(truncatingIfNeeded: sent.octets),
        blocks: hasReport ? [] : blocks
      ).write(to: &writer)
      hasReport = true
    }
    if !hasReport { ReceiverReport(ssrc: senderSSRC, blocks: blocks).write(to: &writer) }
    writeSourceDescription(to: &writer)
    let delays = referenceTimes.map { ssrc, time, arrival in
      ExtendedReport.Delay(
        ssrc: ssrc, lastReceiverReport: time,
        delay: UInt32(clamping: Int((now - arrival).seconds * 65536, in: 0...Int(UInt32.max))))
    }
    referenceTimes = []
    guard !hasReport || !delays.isEmpty else { return }
    ExtendedReport(ssrc: senderSSRC, referenceTime: hasReport ? nil : ntpTime(at: now), delays: delays)
      .write(to: &writer)
  }

  private func writeSourceDescription(to writer: inout ByteWriter) {
    var sources = sendStreams.map {
      SourceDescription(ssrc: $0.configuration.ssrc, cname: configuration.cname)
    }
    if sources.isEmpty { sources = [SourceDescription(ssrc: feedbackSSRC, cname: configuration.cname)] }
    RTCPPacket.sourceDescription(Array(sources.prefix(8))).write(to: &writer)
  }

  private func writeNACK(of stream: ReceiveStream, to writer: inout ByteWriter, at now: Instant) {
    let numbers =
      stream.nack?.requests(
        at: now, roundTripTime: roundTripTime.estimate, limit: Self.maximumNACKs) ?? []
    guard let ssrc = stream.ssrc, !numbers.isEmpty else { return }
    stream.statistics.nackCount += 1
    RTCPPacket.nack(NegativeAcknowledgement(sender: senderSSRC, media: ssrc, sequenceNumbers: numbers))
      .write(to: &writer)
  }

  /// As many as fit; the rest follows in the next packet.
  private func writeTransportFeedback(to writer: inout ByteWriter, at now: Instant) {
    guard writer.memory.count - writer.count > Self.feedbackRoom,
      let feedback = arrivals.feedback(sender: senderSSRC, at: now)
    else { return }
    RTCPPacket.transportFeedback(feedback).write(to: &writer)
  }

  private func writeKeyFrameRequest(of stream: ReceiveStream, to writer: inout ByteWriter) {
    guard let ssrc = stream.ssrc else { return }
    if stream.configuration.pli {
      stream.statistics.pliCount += 1
      RTCPPacket.pictureLossIndication(sender: senderSSRC, media: ssrc).write(to: &writer)
    } else {
      stream.statistics.firCount += 1
      let entry = FullIntraRequest.Entry(
        ssrc: ssrc, commandNumber: stream.keyFrameRequester.commandNumber)
      RTCPPacket.fullIntraRequest(FullIntraRequest(sender: senderSSRC, entries: [entry])).write(to: &writer)
    }
  }
}
