import Base

/// A stream that we send: numbers its packets, keeps them for retransmission, counts.
///
/// Packets are written straight into the history; the pacer queues their numbers only.
final class SendStream {
  /// The largest RTP packet before SRTP, retransmissions included.
  static let maximumPacketSize = 1200

  struct HistoryEntry {
    var payloadCount: Int
    /// Of the last transmission; nil while it waits in the pacer.
    var sent: Instant?
  }

  let id: StreamID
  let configuration: SendStreamConfiguration
  let header: RTPHeaderTemplate
  let rtxHeader: RTPHeaderTemplate?
  private let redundantHeader: RTPHeaderTemplate?
  /// The last frames of sound, for copies of them; the newest last.
  private var recentAudio: [EncodedAudioFrame] = []
  var redundancy = AudioRedundancy()
  var history: PacketRing<HistoryEntry>
  private(set) var nextSequenceNumber: Int64
  private var nextRTXSequenceNumber: UInt16
  private let timestampOffset: UInt32
  private var pictureID: UInt16
  private var tl0PictureIndex: UInt8
  /// A timestamp on the wire and when its content was captured, for sender reports.
  private(set) var lastCapture: (timestamp: UInt32, time: Instant)?
  /// Packets are dropped until the next key frame: one before it was given up.
  private var isWaitingForKeyFrame = false
  var keyFrameRequests = KeyFrameRequestLimiter()
  var statistics: OutboundRTPStatistics
  var remote: RemoteInboundRTPStatistics?
  /// The highest number the peer reported, and what it had lost then.
  var lastReport: ReportBlock?

  init(id: StreamID, configuration: SendStreamConfiguration, random: inout SeededGenerator) {
    self.id = id
    self.configuration = configuration
    header = RTPHeaderTemplate(
      ssrc: configuration.ssrc, payloadType: configuration.payloadType, mid: configuration.mid,
      extensions: configuration.extensions)
    rtxHeader = configuration.rtx.map {
      RTPHeaderTemplate(
        ssrc: $0.ssrc, payloadType: $0.payloadType, mid: configuration.mid,
        extensions: configuration.extensions)
    }
    redundantHeader = configuration.redundantPayloadType.map {
      RTPHeaderTemplate(
        ssrc: configuration.ssrc, payloadType: $0, mid: configuration.mid,
        extensions: configuration.extensions)
    }
    history = PacketRing(
      slots: Self.slots(configuration.kind).initial,
      slotSize: configuration.kind == .video ? Self.maximumPacketSize : 1536)
    // The lower half, so that the rollover counter of SRTP is never guessed wrong at the start
    // (RFC 3711, 3.3.1).
    nextSequenceNumber = Int64.random(in: 1..<0x8000, using: &random)
    nextRTXSequenceNumber = UInt16.random(in: 1..<0x8000, using: &random)
    timestampOffset = UInt32.random(in: 0...UInt32.max, using: &random)
    pictureID = UInt16.random(in: 0..<0x8000, using: &random)
    tl0PictureIndex = UInt8.random(in: 0...255, using: &random)
    statistics = OutboundRTPStatistics(stream: id, kind: configuration.kind, ssrc: configuration.ssrc)
    statistics.mid = configuration.mid
  }

  /// The timestamp on the wire that belongs to an instant, by the last capture; nil before the first.
  func timestamp(at time: Instant) -> UInt32? {
    guard let lastCapture else { return nil }
    let elapsed = (time - lastCapture.time).nanoseconds
    let ticks = elapsed / 1000 &* Int64(configuration.kind.clockRate) / 1_000_000
    return lastCapture.timestamp &+ UInt32(truncatingIfNeeded: ticks)
  }

  /// Whether frames were sent of late.
  func isActive(at time: Instant) -> Bool {
    lastCapture.map { time - $0.time < .seconds(1) } ?? false
  }

  /// Packets and payload octets of the source itself: RTX is another one.
  var sentBySource: (packets: Int, octets: Int) {
    guard rtxHeader != nil else { return (statistics.packetsSent, statistics.bytesSent) }
    return (
      statistics.packetsSent - statistics.retransmittedPacketsSent,
      statistics.bytesSent - statistics.retransmittedBytesSent
    )
  }

  // MARK: Packets into the history

  /// The number of the packet, or nil if the frame is too large for one.
  func store(_ frame: EncodedAudioFrame) -> Int64? {
    let timestamp = frame.timestamp &+ timestampOffset
    guard header.count + frame.bytes.count <= history.slotSize else { return nil }
    lastCapture = (timestamp, frame.captureTime)
    statistics.framesSent += 1
    defer { remember(frame) }
    return withUnsafeTemporaryAllocation(byteCount: history.slotSize, alignment: 16) { memory in
      var writer = ByteWriter(memory)
      let copies = copies(for: frame)
      let header = copies.isEmpty ? header : redundantHeader ?? header
      header.write(
        to: &writer, marker: frame.startsTalkSpurt,
        sequenceNumber: UInt16(truncatingIfNeeded: nextSequenceNumber), timestamp: timestamp,
        audioLevel: frame.level)
      if !copies.isEmpty { write(copies, before: frame, to: &writer) }
      frame.bytes.withUnsafeBytes { writer.bytes($0) }
      return append(writer.written, payloadCount: writer.count - header.count)
    }
  }

  /// Decides how many copies of earlier sound are sent from now on.
  ///
  /// - Parameters:
  ///   - available: bits per second for everything.
  ///   - isAlone: no pictures are sent.
  func updateRedundancy(available: Int, isAlone: Bool) {
    guard redundantHeader != nil, let last = recentAudio.last, let first = recentAudio.first else { return }
    let octets = recentAudio.reduce(0) {
      $0 + $1.bytes.count + header.count + CongestionController.packetOverhead
    }
    let ticks = Int(last.timestamp &- first.timestamp) + 960
    redundancy.update(bitrate: octets * 8 * 48_000 / ticks, available: available, isAlone: isAlone)
  }

  /// The share of frames that will be missing, if this share of packets is lost.
  func residualLoss(of share: Double) -> Double {
    redundantHeader == nil ? share : redundancy.residualLoss(of: share)
  }

  private func remember(_ frame: EncodedAudioFrame) {
    guard redundantHeader != nil else { return }
    if recentAudio.count == AudioRedundancy.maximumDistance { recentAudio.removeFirst() }
    recentAudio.append(frame)
  }

  /// The earlier frames that go with this one.
  private func copies(for frame: EncodedAudioFrame) -> [EncodedAudioFrame] {
    guard redundantHeader != nil, !redundancy.distances.isEmpty else { return [] }
    var room = Self.maximumPacketSize - header.count - RedundantAudio.primaryHeaderSize - frame.bytes.count
    return redundancy.distances.compactMap { distance in
      guard distance <= recentAudio.count else { return nil }
      let copy = recentAudio[recentAudio.count - distance]
      let size = copy.bytes.count + RedundantAudio.redundantHeaderSize
      guard frame.timestamp &- copy.timestamp < RedundantAudio.offsetLimit, size <= room,
        copy.bytes.count <= RedundantAudio.maximumBlockSize
      else { return nil }
      room -= size
      return copy
    }
  }

  private func write(
    _ copies: [EncodedAudioFrame], before frame: EncodedAudioFrame, to writer: inout ByteWriter
  ) {
    for copy in copies {
      RedundantAudio.writeHeader(
        payloadType: header.payloadType, timestampOffset: frame.timestamp &- copy.timestamp,
        size: copy.bytes.count, to: &writer)
    }
    RedundantAudio.writePrimaryHeader(payloadType: header.payloadType, to: &writer)
    for copy in copies { copy.bytes.withUnsafeBytes { writer.bytes($0) } }
  }

  /// The numbers of the packets, or nil if the frame cannot be sent: the peer then needs a key frame.
  func store(_ frame: EncodedVideoFrame, maximumPackets: Int) -> Range<Int64>? {
    if isWaitingForKeyFrame && !frame.isKeyFrame { return nil }
    var descriptor = VP8PayloadDescriptor()
    descriptor.pictureID = pictureID
    descriptor.temporalLayer = frame.temporalLayer & 3
    descriptor.layerSync = frame.layerSync
    if frame.temporalLayer == 0 { tl0PictureIndex &+= 1 }
    descriptor.tl0PictureIndex = tl0PictureIndex
    let room = Self.maximumPacketSize - header.count - descriptor.count - (rtxHeader == nil ? 0 : 2)
    let pieces = VP8Packetizer(frameSize: frame.bytes.count, maximum: room)
    let first = nextSequenceNumber
    guard frame.bytes.count > 0, (frame.bytes.count + room - 1) / room <= maximumPackets else {
      isWaitingForKeyFrame = true
      return nil
    }
    isWaitingForKeyFrame = false
    pictureID = (pictureID + 1) & 0x7FFF
    // 90 kHz from nanoseconds; wraps as timestamps do.
    let ticks = frame.captureTime.nanoseconds / 1000 &* 9 / 100
    let timestamp = timestampOffset &+ UInt32(truncatingIfNeeded: ticks)
    lastCapture = (timestamp, frame.captureTime)
    statistics.framesSent += 1
    if frame.isKeyFrame { statistics.keyFramesSent += 1 }
    withUnsafeTemporaryAllocation(byteCount: Self.maximumPacketSize, alignment: 16) { memory in
      frame.bytes.withUnsafeBytes { bytes in
        for piece in pieces {
          var writer = ByteWriter(memory)
          descriptor.startsPartition = piece.lowerBound == 0
          header.write(
            to: &writer, marker: piece.upperBound == bytes.count,
            sequenceNumber: UInt16(truncatingIfNeeded: nextSequenceNumber), timestamp: timestamp)
          descriptor.write(to: &writer)
          writer.bytes(UnsafeRawBufferPointer(rebasing: bytes[piece]))
          _ = append(writer.written, payloadCount: descriptor.count + piece.count)
        }
      }
    }
    return first..<nextSequenceNumber
  }

  /// As many packets as there are in `memory` seconds of it, between these bounds.
  private static func slots(_ kind: MediaKind) -> (initial: Int, maximum: Int) {
    kind == .video ? (128, 1024) : (64, 128)
  }

  /// Whoever asks for a packet again does so within this.
  private static let memory = Duration.seconds(2)

  private func isWorthKeeping(_ entry: HistoryEntry) -> Bool {
    guard let sent = entry.sent, let now = lastCapture?.time else { return true }
    return now - sent < Self.memory
  }

  private func append(_ packet: UnsafeRawBufferPointer, payloadCount: Int) -> Int64 {
    let number = nextSequenceNumber
    let slots = Self.slots(configuration.kind)
    while let old = history.displaced(by: number)?.metadata, history.slots < slots.maximum,
      isWorthKeeping(old)
    {
      history.grow()
    }
    history.store(packet, at: number, HistoryEntry(payloadCount: payloadCount, sent: nil))
    nextSequenceNumber += 1
    return number
  }

  /// The extended number of one that the peer named (in a NACK), if it can still be in the history.
  func extend(_ number: UInt16) -> Int64? {
    let distance = UInt16(truncatingIfNeeded: nextSequenceNumber - 1) &- number
    let extended = nextSequenceNumber - 1 - Int64(distance)
    return history.contains(extended) ? extended : nil
  }

  // MARK: Packets out of the history

  /// The largest number of octets of padding in a packet (RFC 3550, 5.1).
  static let maximumPadding = 255

  /// Writes a packet of padding alone, as RTX of nothing, which the other side counts and drops.
  func writePadding(_ size: Int, to memory: UnsafeMutableRawBufferPointer) -> Int? {
    guard let rtxHeader, (1...Self.maximumPadding).contains(size) else { return nil }
    var writer = ByteWriter(memory)
    rtxHeader.write(
      to: &writer, marker: false, sequenceNumber: nextRTXSequenceNumber,
      timestamp: lastCapture?.timestamp ?? timestampOffset, padding: true)
    writer.zeros(size - 1)
    writer.uint8(UInt8(size))
    guard !writer.overflowed else { return nil }
    nextRTXSequenceNumber &+= 1
    statistics.packetsSent += 1
    statistics.headerBytesSent += writer.count
    statistics.retransmittedPacketsSent += 1
    return writer.count
  }

  /// Copies a packet out, as RTX if it is sent again and RTX was negotiated. Counts it.
  ///
  /// - Returns: its size, or nil if it has been forgotten.
  func copy(
    _ number: Int64, isRetransmission: Bool, to memory: UnsafeMutableRawBufferPointer, at now: Instant
  )
    -> Int?
  {
    guard let packet = history.packet(number), let entry = history.metadata(number) else { return nil }
    var writer = ByteWriter(memory)
    let count: Int
    if isRetransmission, let rtxHeader, let original = RTPPacket(parsing: packet) {
      rtxHeader.write(
        to: &writer, marker: original.marker, sequenceNumber: nextRTXSequenceNumber,
        timestamp: original.timestamp)
      writer.uint16(original.sequenceNumber)
      writer.bytes(original.payload)
      nextRTXSequenceNumber &+= 1
      count = entry.payloadCount + 2
    } else {
      writer.bytes(packet)
      count = entry.payloadCount
    }
    guard !writer.overflowed else { return nil }
    history.update(number) { $0.sent = now }
    statistics.packetsSent += 1
    statistics.bytesSent += count
    statistics.headerBytesSent += writer.count - count
    if isRetransmission {
      statistics.retransmittedPacketsSent += 1
      statistics.retransmittedBytesSent += count
    }
    return writer.count
  }
}

/// Key-frame requests from the peer: the first is answered at once, then at most one a second.
struct KeyFrameRequestLimiter {
  private static let interval = Duration.seconds(1)
  private var lastAnswer: Instant?
  private var lastKeyFrame: Instant?
  private var isPending = false
  private var lastCommandNumber: UInt8?

  /// When `poll` may answer a request that had to wait.
  var deadline: Instant? { isPending ? lastAnswer.map { $0 + Self.interval } : nil }

  mutating func request() { isPending = true }

  /// A FIR with the same command number is a repetition (RFC 5104, 4.3.1.2).
  mutating func request(commandNumber: UInt8) {
    if commandNumber != lastCommandNumber { isPending = true }
    lastCommandNumber = commandNumber
  }

  /// Whether a key frame now is the answer to a request.
  func isAnswered(at now: Instant) -> Bool {
    isPending || lastAnswer.map { now - $0 < Self.interval } ?? false
  }

  /// A key frame goes out anyway: whoever waits for one gets it.
  mutating func keyFrameSent(at now: Instant) {
    isPending = false
    lastKeyFrame = now
  }

  /// Whether a key frame has left since, that whoever asks now cannot have had.
  func hasJustSent(within time: Duration, at now: Instant) -> Bool {
    lastKeyFrame.map { now - $0 < time } ?? false
  }

  /// True if the encoder is to be asked now.
  mutating func poll(at now: Instant) -> Bool {
    guard isPending, lastAnswer.map({ now - $0 >= Self.interval }) ?? true else { return false }
    isPending = false
    lastAnswer = now
    return true
  }
}
