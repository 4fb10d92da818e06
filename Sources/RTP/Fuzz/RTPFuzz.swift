import Base

/// Bodies for fuzzers, and for the seeded test that runs them: whatever the bytes, nothing may trap, and
/// what is parsed must survive being written.
package enum RTPFuzz {
  package static func rtpPacket(_ bytes: UnsafeRawBufferPointer) {
    guard let packet = RTPPacket(parsing: bytes) else { return }
    for index in 0..<packet.contributingSourceCount { _ = packet.contributingSource(index) }
    var map = HeaderExtensionMap()
    for (index, kind) in HeaderExtension.allCases.enumerated() { map[kind] = UInt8(index + 1) }
    let values = HeaderExtensionValues(of: packet, by: map)
    precondition(values.mid.map { $0.count <= bytes.count } ?? true)
    precondition(packet.payload.count + packet.paddingCount <= bytes.count)
  }

  package static func redundantAudio(_ bytes: UnsafeRawBufferPointer) {
    guard let content = RedundantAudio(parsing: bytes) else { return }
    var total = content.primary.bytes.count
    content.forEachRedundant { total += $0.bytes.count }
    precondition(total < bytes.count)
  }

  package static func rtcpPacket(_ bytes: UnsafeRawBufferPointer) {
    RTCPPacket.parse(bytes) { packet in
      withUnsafeTemporaryAllocation(byteCount: 1 << 17, alignment: 16) { memory in
        var writer = ByteWriter(memory)
        packet.write(to: &writer)
        precondition(!writer.overflowed)
        RTCPPacket.parse(writer.written) { again in precondition(isSame(again, packet)) }
      }
    }
  }

  /// Equal but for what writing rounds: the mantissa of REMB, names that were no UTF-8.
  private static func isSame(_ left: RTCPPacket, _ right: RTCPPacket) -> Bool {
    switch (left, right) {
    case (.receiverEstimatedMaximumBitrate(let a), .receiverEstimatedMaximumBitrate(let b)):
      a.ssrcs == b.ssrcs && a.bitsPerSecond <= b.bitsPerSecond
    case (.sourceDescription(let a), .sourceDescription(let b)): a.map(\.ssrc) == b.map(\.ssrc)
    default: left == right
    }
  }

  package static func vp8PayloadDescriptor(_ bytes: UnsafeRawBufferPointer) {
    var reader = ByteReader(bytes)
    guard let descriptor = VP8PayloadDescriptor(parsing: &reader) else { return }
    withUnsafeTemporaryAllocation(byteCount: 8, alignment: 1) { memory in
      var writer = ByteWriter(memory)
      descriptor.write(to: &writer)
      precondition(!writer.overflowed && writer.count == descriptor.count)
      var again = ByteReader(writer.written)
      precondition(VP8PayloadDescriptor(parsing: &again) == descriptor)
    }
    _ = VP8FrameHeader.isKeyFrame(reader.rest())
  }

  /// A script for a whole session: records of a flag octet, a time step, a size and a packet. The flags
  /// patch the packet so that it gets past the door.
  package static func session(_ bytes: UnsafeRawBufferPointer) {
    let session = makeSession()
    var now = Instant(nanoseconds: 1_000_000_000)
    var reader = ByteReader(bytes)
    var listener = AudioJitterBuffer()
    while let flags = reader.uint8(), let step = reader.uint8(), let size = reader.uint8() {
      now += .milliseconds(step < 200 ? Int(step) : Int(step) * 20)
      let content = reader.slice(min(Int(size), reader.remaining)) ?? reader.rest()
      if flags & 0x80 != 0 { send(content, on: session, at: now) }
      var packet = Array(content)
      patch(&packet, flags)
      packet.withUnsafeBytes { session.receive($0, at: now) }
      session.advance(to: now)
      session.transmit(at: now) { _, count, _ in precondition(count <= 1500) }
      drain(session, into: &listener, at: now)
    }
    _ = session.statistics(at: now)
    session.close()
    session.transmit(at: now) { _, _, _ in }
  }

  private static let ssrcs: [UInt32] = [0x1111, 0x2222, 0x3333, 0x4444, 0x5555]

  private static func makeSession() -> RTPSession {
    let session = RTPSession(
      configuration: .init(cname: "fuzz", randomSeed: 1, wallClockAtZero: 1_700_000_000_000_000))
    var extensions = HeaderExtensionMap()
    for (index, kind) in HeaderExtension.allCases.enumerated() { extensions[kind] = UInt8(index + 1) }
    var video = SendStreamConfiguration(kind: .video, ssrc: ssrcs[3], payloadType: 96)
    video.nack = true
    video.rtx = .init(ssrc: ssrcs[4], payloadType: 97)
    video.transportCC = true
    video.remb = true
    video.extensions = extensions
    _ = session.addSendStream(video)
    var audioIn = ReceiveStreamConfiguration(kind: .audio, payloadTypes: [111])
    audioIn.extensions = extensions
    audioIn.ssrc = ssrcs[0]
    audioIn.redundantPayloadType = 63
    _ = session.addReceiveStream(audioIn)
    var videoIn = ReceiveStreamConfiguration(kind: .video, payloadTypes: [96])
    videoIn.extensions = extensions
    videoIn.mid = "v"
    videoIn.rtxPayloadTypes = [97: 96, 99: 98]
    videoIn.redundantPayloadType = 98
    videoIn.parityPayloadType = 101
    videoIn.nack = true
    videoIn.pli = true
    videoIn.transportCC = true
    _ = session.addReceiveStream(videoIn)
    var other = ReceiveStreamConfiguration(kind: .video, payloadTypes: [100])
    other.remb = true
    other.fir = true
    _ = session.addReceiveStream(other)
    return session
  }

  private static func send(_ content: UnsafeRawBufferPointer, on session: RTPSession, at now: Instant) {
    guard let stream = session.sendStreams.first else { return }
    session.send(
      EncodedVideoFrame(
        bytes: Array(content) + Array(repeating: 0, count: 3000), isKeyFrame: content.first == 0,
        captureTime: now, width: 16, height: 16), on: stream.id, at: now)
  }

  private static func patch(_ packet: inout [UInt8], _ flags: UInt8) {
    guard packet.count >= 12, flags & 1 != 0 else { return }
    if flags & 2 != 0 {
      packet[0] = 0x80 | packet[0] & 0x3F
      let type: UInt8 = [111, 96, 97, 100][Int(flags >> 2 & 3)]
      packet[1] = (type == 111 && flags & 0x40 != 0 ? 63 : type) | packet[1] & 0x80
      let ssrc = ssrcs[Int(flags >> 4 & 3)]
      withUnsafeBytes(of: ssrc.bigEndian) { packet.replaceSubrange(8..<12, with: $0) }
    } else {
      packet[0] = 0x80 | packet[0] & 0x3F
      packet[1] = [200, 201, 205, 206][Int(flags >> 2 & 3)]
      let words = UInt16(packet.count / 4 - 1)
      withUnsafeBytes(of: words.bigEndian) { packet.replaceSubrange(2..<4, with: $0) }
      let ssrc = ssrcs[Int(flags >> 4 & 3) + 1]
      withUnsafeBytes(of: ssrc.bigEndian) { packet.replaceSubrange(8..<12, with: $0) }
    }
  }

  private static func drain(_ session: RTPSession, into listener: inout AudioJitterBuffer, at now: Instant) {
    while let event = session.nextEvent() {
      guard case .audioPacket(let id, let packet) = event else { continue }
      listener.insert(packet)
      _ = listener.next(at: now)
      if let position = listener.position(waiting: 0, at: now) { session.updateAudioPlayout(id, position) }
    }
  }
}
