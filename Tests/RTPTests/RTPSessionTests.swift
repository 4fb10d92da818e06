import Base
import TestSupport
import Testing

@testable import RTP

@Suite struct RTPSessionTests {
  private let start = Instant(nanoseconds: 1_000_000_000_000)

  private func makeSession(reducedSize: Bool = true, initialBitrate: Int = 800_000) -> RTPSession {
    var configuration = RTPSession.Configuration(
      cname: "test", randomSeed: 1, wallClockAtZero: 1_700_000_000_000_000)
    configuration.reducedSizeRTCP = reducedSize
    configuration.initialBitrate = initialBitrate
    return RTPSession(configuration: configuration)
  }

  private func videoStream(nack: Bool = true) -> SendStreamConfiguration {
    var configuration = SendStreamConfiguration(kind: .video, ssrc: 0x2222, payloadType: 96)
    configuration.nack = nack
    return configuration
  }

  private func frame(size: Int, isKey: Bool = true, at now: Instant) -> EncodedVideoFrame {
    var bytes = [UInt8](repeating: 7, count: size)
    bytes.replaceSubrange(
      0..<10, with: isKey ? [0x10, 0, 0, 0x9D, 1, 0x2A, 0, 1, 0, 1] : [0x11, 0, 0, 0, 0, 0, 0, 0, 0, 0])
    return EncodedVideoFrame(bytes: bytes, isKeyFrame: isKey, captureTime: now, width: 256, height: 256)
  }

  private func transmitted(_ session: RTPSession, at now: Instant) -> [(bytes: [UInt8], isRTCP: Bool)] {
    var packets: [(bytes: [UInt8], isRTCP: Bool)] = []
    session.transmit(at: now) { packet, count, isRTCP in
      #expect(packet.count >= count + RTPSession.tailroom)
      packets.append((Array(packet[0..<count]), isRTCP))
    }
    return packets
  }

  private func control(_ packets: [(bytes: [UInt8], isRTCP: Bool)]) -> [[RTCPPacket]] {
    packets.filter(\.isRTCP).map { packet in
      var found: [RTCPPacket] = []
      let isWellFormed = packet.bytes.withUnsafeBytes { RTCPPacket.parse($0) { found.append($0) } }
      #expect(isWellFormed)
      return found
    }
  }

  private func receive(_ packets: RTCPPacket..., by session: RTPSession, at now: Instant) {
    withUnsafeTemporaryAllocation(byteCount: 4096, alignment: 8) { memory in
      var writer = ByteWriter(memory)
      for packet in packets { packet.write(to: &writer) }
      session.receive(writer.written, at: now)
    }
  }

  private func events(_ session: RTPSession) -> [RTPSessionEvent] {
    var events: [RTPSessionEvent] = []
    while let event = session.nextEvent() { events.append(event) }
    return events
  }

  private func keyFrameRequests(_ session: RTPSession) -> Int {
    events(session).filter { if case .keyFrameRequested = $0 { true } else { false } }.count
  }

  // MARK: Calls

  @Test func soundAndPicturesOnACleanLink() {
    let call = SimulatedCall()
    call.run(for: .seconds(5))
    #expect(call.frames.count >= 149)
    #expect(call.frames.map(\.number) == (0..<UInt32(call.frames.count)).map { $0 })
    #expect(call.audioPackets.count == 250)
    let numbers = call.audioPackets.map(\.sequenceNumber)
    #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $1 == $0 + 1 })
    #expect(call.frames.filter(\.isKeyFrame).count == 1)
    #expect(call.medianLatency() < .milliseconds(40))
    call.sendsAudio = false
    call.sendsVideo = false
    call.run(for: .milliseconds(100))
    let statistics = call.b.statistics(at: call.now)
    #expect(statistics.packetsMalformed == 0 && statistics.packetsUnknown == 0)
    #expect(statistics.inbound.map(\.packetsLost) == [0, 0])
    #expect(statistics.inbound[1].framesReceived == call.frames.count)
    let sent = call.a.statistics(at: call.now)
    #expect(sent.outbound.map(\.packetsSent) == statistics.inbound.map(\.packetsReceived))
    #expect(sent.outbound.map(\.bytesSent) == statistics.inbound.map(\.bytesReceived))
    #expect(sent.outbound[1].keyFramesSent == 1 && sent.outbound[1].framesSent >= 149)
    #expect(sent.remoteInbound.count == 2)
    #expect((sent.currentRoundTripTime ?? 1) < 0.01)
  }

  @Test func nobodyIsWokenForNothing() {
    for options in [true, false] {
      var settings = SimulatedCall.Options()
      settings.transportCC = options
      settings.remb = !options
      settings.nack = options
      let call = SimulatedCall(options: settings)
      call.run(for: .seconds(5))
      // About 30 pictures of some packets and 50 packets of sound a second, sent and received.
      #expect(call.steps < 5 * 700, "\(call.steps)")
      call.sendsVideo = false
      call.sendsAudio = false
      // So long it hopes for more.
      call.run(for: .seconds(31))
      let before = call.steps
      call.run(for: .seconds(10))
      #expect(call.steps - before < 10 * 12, "\(call.steps - before)")
    }
  }

  @Test func closingTellsThePeer() {
    let call = SimulatedCall()
    call.run(for: .seconds(1))
    call.a.close()
    call.sendsVideo = false
    call.sendsAudio = false
    call.run(for: .milliseconds(100))
    #expect(Set(call.goodbyes) == [call.audioIn, call.videoIn])
    #expect(call.a.deadline == nil)
  }

  @Test(arguments: [true, false]) func sourcesAreKnownWithoutMid(knowsSSRC: Bool) {
    var options = SimulatedCall.Options()
    options.mid = false
    options.knowsSSRC = knowsSSRC
    let call = SimulatedCall(options: options)
    call.run(for: .seconds(1))
    #expect(call.frames.count >= 29 && call.audioPackets.count >= 49)
    #expect(call.b.statistics(at: call.now).packetsUnknown == 0)
  }

  @Test func anotherSourceMayTakeOver() {
    let receiver = makeSession()
    var configuration = ReceiveStreamConfiguration(kind: .video, payloadTypes: [96])
    configuration.mid = "v"
    configuration.extensions.mid = 4
    let id = receiver.addReceiveStream(configuration)
    for (turn, ssrc) in [0x10, 0x20, 0x10].enumerated() as EnumeratedSequence<[UInt32]> {
      var send = SendStreamConfiguration(kind: .video, ssrc: ssrc, payloadType: 96)
      send.mid = "v"
      send.extensions.mid = 4
      let sender = makeSession()
      let stream = sender.addSendStream(send)
      let now = start + .milliseconds(turn)
      sender.send(frame(size: 500, at: now), on: stream, at: now)
      for packet in transmitted(sender, at: now) where !packet.isRTCP {
        packet.bytes.withUnsafeBytes { receiver.receive($0, at: now) }
      }
      let frames = events(receiver).filter { if case .videoFrame(id, _) = $0 { true } else { false } }
      #expect(frames.count == 1)
      let statistics = receiver.statistics(at: now).inbound[0]
      #expect(statistics.ssrc == ssrc)
      // Counters go on.
      #expect(statistics.framesReceived == turn + 1 && statistics.packetsReceived == turn + 1)
    }
  }

  @Test func strangersAreCounted() {
    let call = SimulatedCall()
    call.run(for: .milliseconds(500))
    let before = call.b.statistics(at: call.now)
    let strangers: [[UInt8]] = [
      [0x80, 96, 0, 1, 0, 0, 0, 2, 0, 0, 0x99, 0x99, 1],  // a source that takes nobody's place
      [0x80, 50, 0, 1, 0, 0, 0, 2, 0, 0, 0x22, 0x22, 1],  // a payload type that nobody agreed on
    ]
    for packet in strangers { packet.withUnsafeBytes { call.b.receive($0, at: call.now) } }
    let malformed: [[UInt8]] = [[], [0x80], [0x80, 200], [0x00, 96, 0, 1, 0, 0, 0, 2, 0, 0, 0, 9]]
    for packet in malformed { packet.withUnsafeBytes { call.b.receive($0, at: call.now) } }
    let after = call.b.statistics(at: call.now)
    #expect(after.packetsUnknown == before.packetsUnknown + 2)
    #expect(after.packetsMalformed == before.packetsMalformed + 4)
    call.run(for: .milliseconds(500))
    #expect(call.frames.count >= 29)
  }

  // MARK: Key frames

  @Test func requestsAreAnsweredAtOnceThenOnceASecond() {
    let session = makeSession()
    _ = session.addSendStream(videoStream())
    _ = events(session)
    let pli = RTCPPacket.pictureLossIndication(sender: 1, media: 0x2222)
    receive(pli, by: session, at: start)
    #expect(keyFrameRequests(session) == 1)
    receive(pli, by: session, at: start + .milliseconds(300))
    receive(pli, by: session, at: start + .milliseconds(600))
    #expect(keyFrameRequests(session) == 0)
    #expect(session.deadline == start + .seconds(1))
    session.advance(to: start + .seconds(1))
    #expect(keyFrameRequests(session) == 1)
    session.advance(to: start + .seconds(3))
    #expect(keyFrameRequests(session) == 0)
    #expect(session.statistics(at: start).outbound[0].pliCount == 3)
    // Of somebody else's stream.
    receive(.pictureLossIndication(sender: 1, media: 0x9999), by: session, at: start + .seconds(4))
    #expect(keyFrameRequests(session) == 0)
  }

  @Test func whoCannotHaveTheLastKeyFrameYetIsNotSentAnother() {
    let session = makeSession()
    let id = session.addSendStream(videoStream())
    _ = events(session)
    let pli = RTCPPacket.pictureLossIndication(sender: 1, media: 0x2222)
    receive(pli, by: session, at: start)
    #expect(keyFrameRequests(session) == 1)
    session.send(frame(size: 100, at: start), on: id, at: start)
    // A round trip is taken to be 100 ms before it is known.
    receive(pli, by: session, at: start + .milliseconds(90))
    session.advance(to: start + .seconds(2))
    #expect(keyFrameRequests(session) == 0)
    session.send(frame(size: 100, at: start), on: id, at: start + .seconds(3))
    receive(pli, by: session, at: start + .seconds(3) + .milliseconds(110))
    #expect(keyFrameRequests(session) == 1)
  }

  @Test func aRepeatedFIRIsOneRequest() {
    let session = makeSession()
    _ = session.addSendStream(videoStream())
    _ = events(session)
    for (second, command) in [(0, 1), (2, 1), (4, 2)] as [(Int, UInt8)] {
      let fir = FullIntraRequest(sender: 1, entries: [.init(ssrc: 0x2222, commandNumber: command)])
      receive(.fullIntraRequest(fir), by: session, at: start + .seconds(second))
      #expect(keyFrameRequests(session) == (second == 2 ? 0 : 1))
    }
  }

  @Test(arguments: [true, false]) func aKeyFrameIsAskedForUntilItComes(byPLI: Bool) {
    let session = makeSession()
    var configuration = ReceiveStreamConfiguration(kind: .video, payloadTypes: [96])
    configuration.ssrc = 0x2222
    configuration.pli = byPLI
    configuration.fir = true
    let id = session.addReceiveStream(configuration)
    session.requestKeyFrame(id, at: start)
    var times: [Int] = []
    var commands: Set<UInt8> = []
    for millisecond in 0..<4000 {
      let now = start + .milliseconds(millisecond)
      session.advance(to: now)
      for compound in control(transmitted(session, at: now)) {
        for packet in compound {
          switch packet {
          case .pictureLossIndication(_, 0x2222): times.append(millisecond)
          case .fullIntraRequest(let request):
            times.append(millisecond)
            commands.insert(request.entries[0].commandNumber)
          default: break
          }
        }
      }
    }
    #expect(times.first == 0)
    let gaps = zip(times, times.dropFirst()).map { $1 - $0 }
    #expect(gaps.allSatisfy { (300...1000).contains($0) } && (4...9).contains(times.count))
    #expect(byPLI ? commands.isEmpty : commands.count == 1)

    let sender = makeSession()
    let stream = sender.addSendStream(videoStream())
    let now = start + .seconds(4)
    sender.send(frame(size: 100, at: now), on: stream, at: now)
    for packet in transmitted(sender, at: now) where !packet.isRTCP {
      packet.bytes.withUnsafeBytes { session.receive($0, at: now) }
    }
    session.advance(to: now + .seconds(2))
    let later = control(transmitted(session, at: now + .seconds(2))).flatMap { $0 }
    #expect(!later.contains(.pictureLossIndication(sender: session.feedbackSSRC, media: 0x2222)))
  }

  // MARK: RTCP

  @Test(arguments: [true, false]) func feedbackTravelsAloneOnlyIfAgreed(reducedSize: Bool) {
    let session = makeSession(reducedSize: reducedSize)
    var configuration = ReceiveStreamConfiguration(kind: .video, payloadTypes: [96])
    configuration.ssrc = 0x2222
    configuration.pli = true
    session.requestKeyFrame(session.addReceiveStream(configuration), at: start)
    let compound = control(transmitted(session, at: start))
    let pli = RTCPPacket.pictureLossIndication(sender: session.feedbackSSRC, media: 0x2222)
    let full: [RTCPPacket] = [
      .receiverReport(ReceiverReport(ssrc: session.feedbackSSRC)),
      .sourceDescription([SourceDescription(ssrc: session.feedbackSSRC, cname: "test")]), pli,
    ]
    #expect(compound == [reducedSize ? [pli] : full])
  }

  @Test func senderReportsTieTimestampsToTheClock() throws {
    let session = makeSession()
    let stream = session.addSendStream(videoStream())
    session.send(frame(size: 100, at: start), on: stream, at: start + .milliseconds(15))
    let media = transmitted(session, at: start + .milliseconds(15))
    let timestamp = try media[0].bytes.withUnsafeBytes { try #require(RTPPacket(parsing: $0)).timestamp }
    let later = start + .milliseconds(115)
    session.advance(to: later)
    guard case .senderReport(let report)? = control(transmitted(session, at: later)).first?.first else {
      Issue.record("no sender report")
      return
    }
    // 1,000 s after zero, and 115 ms.
    #expect(abs(report.ntpTime.unixMicroseconds - 1_700_001_000_115_000) <= 1)
    #expect(report.rtpTimestamp &- timestamp == 115 * 90)
    #expect(report.packetCount == 1)
  }

  @Test func timeGoesRoundTheReports() throws {
    let session = makeSession()
    let stream = session.addSendStream(videoStream())
    session.send(frame(size: 100, at: start), on: stream, at: start)
    _ = transmitted(session, at: start)
    let sent = start + .milliseconds(100)
    guard case .senderReport(let report)? = control(transmitted(session, at: sent)).first?.first else {
      Issue.record("no sender report")
      return
    }
    // 30 ms there, 0.5 s kept, 50 ms back.
    let block = ReportBlock(
      ssrc: 0x2222, fractionLost: 64, cumulativeLost: 3, extendedHighestSequenceNumber: 100, jitter: 90,
      lastSenderReport: report.ntpTime.middle, delaySinceLastSenderReport: 32_768)
    receive(
      .receiverReport(ReceiverReport(ssrc: 1, blocks: [block])), by: session, at: sent + .milliseconds(580))
    let remote = try #require(session.statistics(at: sent).remoteInbound.first)
    #expect(abs((remote.roundTripTime ?? 0) - 0.08) < 0.001)
    #expect(remote.fractionLost == 0.25 && remote.packetsLost == 3 && remote.jitter == 0.001)
  }

  @Test func lossIsToldToTheEncoder() {
    let session = makeSession()
    _ = session.addSendStream(videoStream())
    func report(_ second: Int, lost: Int32, highest: UInt32) {
      let block = ReportBlock(
        ssrc: 0x2222, fractionLost: 0, cumulativeLost: lost, extendedHighestSequenceNumber: highest,
        jitter: 0,
        lastSenderReport: 0, delaySinceLastSenderReport: 0)
      receive(
        .receiverReport(ReceiverReport(ssrc: 1, blocks: [block])), by: session, at: start + .seconds(second))
    }
    for second in 0..<6 { report(second, lost: Int32(second * 10), highest: UInt32(second * 100)) }
    let losses = events(session).compactMap { if case .packetLoss(let share) = $0 { share } else { nil } }
    #expect(abs((losses.last ?? 0) - 0.1) < 0.02)
  }

  @Test func withoutFeedbackLessAndLessIsSent() {
    let call = SimulatedCall()
    call.run(for: .seconds(4))
    let before = call.a.statistics(at: call.now).availableOutgoingBitrate
    call.bToA.conditions.isBlackedOut = true
    call.run(for: .milliseconds(2500))
    #expect(call.a.statistics(at: call.now).availableOutgoingBitrate <= before / 4)
    call.bToA.conditions.isBlackedOut = false
    call.run(for: .seconds(1))
    #expect(call.a.statistics(at: call.now).availableOutgoingBitrate > before / 2)
    // Nothing is sent, nothing is missed.
    call.sendsVideo = false
    call.sendsAudio = false
    call.run(for: .seconds(10))
    #expect(call.a.statistics(at: call.now).availableOutgoingBitrate > before / 2)
  }

  // MARK: Sending

  @Test func aFrameIsCutIntoPacketsOfBoundedSize() throws {
    let session = makeSession(initialBitrate: 50_000_000)
    var configuration = videoStream()
    configuration.mid = "1"
    configuration.extensions.mid = 4
    configuration.extensions.transportSequenceNumber = 3
    let stream = session.addSendStream(configuration)
    session.send(frame(size: 5000, at: start), on: stream, at: start)
    var packets: [[UInt8]] = []
    for step in 0..<20 { packets += transmitted(session, at: start + .milliseconds(step)).map(\.bytes) }
    #expect(packets.count == 5)
    #expect(packets.allSatisfy { $0.count <= 1200 && $0.count > 1000 })
    var ids: Set<UInt16> = []
    var numbers: [UInt16] = []
    for (index, packet) in packets.enumerated() {
      try packet.withUnsafeBytes { bytes in
        let packet = try #require(RTPPacket(parsing: bytes))
        #expect(packet.marker == (index == 4))
        numbers.append(packet.sequenceNumber)
        var reader = ByteReader(packet.payload)
        let descriptor = try #require(VP8PayloadDescriptor(parsing: &reader))
        #expect(descriptor.startsFrame == (index == 0))
        ids.insert(try #require(descriptor.pictureID))
        #expect(descriptor.hasLongPictureID && descriptor.temporalLayer == 0)
      }
    }
    #expect(ids.count == 1)
    #expect(numbers == (0..<5).map { numbers[0] + $0 })
  }

  @Test func aKeyFrameIsSpreadAndSoundOvertakesIt() {
    let session = makeSession(initialBitrate: 800_000)
    let video = session.addSendStream(videoStream())
    let audio = session.addSendStream(SendStreamConfiguration(kind: .audio, ssrc: 0x1111, payloadType: 111))
    session.send(frame(size: 60_000, at: start), on: video, at: start)
    var sent: [(millisecond: Int, size: Int, isAudio: Bool)] = []
    for millisecond in 0..<400 {
      let now = start + .milliseconds(millisecond)
      if millisecond == 50 {
        session.send(
          EncodedAudioFrame(bytes: [0x78, 1, 2], timestamp: 0, captureTime: now, level: 127), on: audio,
          at: now)
      }
      for packet in transmitted(session, at: now) where !packet.isRTCP {
        sent.append((millisecond, packet.bytes.count, packet.bytes[1] & 0x7F == 111))
      }
    }
    #expect(sent.first { $0.isAudio }?.millisecond == 50)
    #expect(sent.filter { !$0.isAudio }.map(\.size).reduce(0, +) > 60_000)
    // 2.5 times 800 kb/s are 250 octets a millisecond.
    for start in stride(from: 0, to: 300, by: 20) {
      let bytes = sent.filter { (start..<start + 50).contains($0.millisecond) }.map(\.size).reduce(0, +)
      #expect(bytes <= 50 * 250 + 4000)
    }
    let end = sent.last { !$0.isAudio }?.millisecond ?? 0
    #expect((200...300).contains(end))
  }

  @Test func framesThatWouldWaitForeverAreDropped() {
    let session = makeSession(initialBitrate: 100_000)
    let stream = session.addSendStream(videoStream())
    _ = events(session)
    for index in 0..<100 {
      session.send(frame(size: 20_000, isKey: index == 0, at: start), on: stream, at: start)
    }
    session.advance(to: start)
    let statistics = session.statistics(at: start).outbound[0]
    #expect(statistics.framesDropped > 30 && statistics.framesDropped + statistics.framesSent == 100)
    #expect(keyFrameRequests(session) == 1)
  }

  @Test(arguments: [true, false]) func lostPacketsAreSentAgain(byRTX: Bool) throws {
    let session = makeSession(initialBitrate: 5_000_000)
    var configuration = videoStream()
    if byRTX { configuration.rtx = .init(ssrc: 0x3333, payloadType: 97) }
    let stream = session.addSendStream(configuration)
    session.send(frame(size: 2000, at: start), on: stream, at: start)
    let originals = transmitted(session, at: start + .milliseconds(10)).filter { !$0.isRTCP }.map(\.bytes)
    let number = try originals[1].withUnsafeBytes { try #require(RTPPacket(parsing: $0)).sequenceNumber }
    let nack = RTCPPacket.nack(
      NegativeAcknowledgement(sender: 1, media: 0x2222, sequenceNumbers: [number, number &+ 100]))
    let now = start + .milliseconds(200)
    receive(nack, nack, by: session, at: now)
    let again = transmitted(session, at: now).filter { !$0.isRTCP }.map(\.bytes)
    try #require(again.count == 1, "once, however often it is asked for within a round trip")
    try again[0].withUnsafeBytes { bytes in
      let packet = try #require(RTPPacket(parsing: bytes))
      if byRTX {
        #expect(packet.ssrc == 0x3333 && packet.payloadType == 97)
        #expect(Array(packet.payload.prefix(2)) == [UInt8(number >> 8), UInt8(number & 0xFF)])
        #expect(Array(packet.payload.dropFirst(2)) == Array(originals[1].dropFirst(12)))
      } else {
        #expect(again[0] == originals[1])
      }
    }
    #expect(session.statistics(at: now).outbound[0].retransmittedPacketsSent == 1)
    #expect(session.statistics(at: now).outbound[0].nackCount == 2)
  }

  @Test func nacksCannotAmplify() throws {
    let session = makeSession(initialBitrate: 500_000)
    let stream = session.addSendStream(videoStream())
    var numbers: [UInt16] = []
    var sent = 0
    for step in 0..<3000 {
      let now = start + .milliseconds(step)
      if step % 33 == 0, step < 1000 { session.send(frame(size: 2000, at: now), on: stream, at: now) }
      if step > 1000, step % 5 == 0 {
        receive(
          .nack(NegativeAcknowledgement(sender: 1, media: 0x2222, sequenceNumbers: numbers)), by: session,
          at: now)
      }
      for packet in transmitted(session, at: now) where !packet.isRTCP {
        if step < 1000 {
          numbers.append(
            try packet.bytes.withUnsafeBytes { try #require(RTPPacket(parsing: $0)).sequenceNumber })
        } else {
          sent += packet.bytes.count
        }
      }
    }
    // Two seconds at half of 500 kb/s, and what may come at once.
    #expect(sent < 2 * 250_000 / 8 + 40_000)
    #expect(sent > 0)
  }

  @Test func withoutNACKNothingIsSentAgain() {
    let session = makeSession()
    let stream = session.addSendStream(videoStream(nack: false))
    session.send(frame(size: 500, at: start), on: stream, at: start)
    _ = transmitted(session, at: start)
    let all = Array(0..<32_768).map { UInt16($0) }
    for part in stride(from: 0, to: 32_768, by: 512) {
      receive(
        .nack(
          NegativeAcknowledgement(sender: 1, media: 0x2222, sequenceNumbers: Array(all[part..<part + 512]))),
        by: session, at: start + .seconds(1))
    }
    #expect(transmitted(session, at: start + .seconds(1)).filter { !$0.isRTCP }.isEmpty)
  }

  @Test func removingAStreamSaysGoodbye() {
    let session = makeSession()
    let stream = session.addSendStream(videoStream())
    session.send(frame(size: 500, at: start), on: stream, at: start)
    session.removeStream(stream)
    let packets = transmitted(session, at: start)
    #expect(packets.allSatisfy { $0.isRTCP })
    #expect(control(packets).flatMap { $0 }.contains(.goodbye(ssrcs: [0x2222])))
  }

  /// A receiver sends no reports that could be answered: extended ones tell it the round-trip time.
  @Test func bothSidesKnowTheRoundTripTimeThoughNothingIsLost() throws {
    var conditions = SimulatedLink.Conditions()
    conditions.delay = .milliseconds(60)
    let call = SimulatedCall(conditions)
    call.run(for: .seconds(8))
    for session in [call.a, call.b] {
      let time = try #require(session.statistics(at: call.now).currentRoundTripTime)
      #expect((0.118...0.135).contains(time), "\(time)")
    }
    #expect(call.b.statistics(at: call.now).packetsMalformed == 0)
  }
}
