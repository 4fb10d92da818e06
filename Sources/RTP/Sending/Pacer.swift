import Base

/// Decides when waiting packets leave: sound at once, then retransmissions, then pictures, spread out so
/// that a key frame does not fill the queues on its way.
struct Pacer: ~Copyable {
  /// A packet in the history of a stream.
  struct Entry {
    var stream: StreamID
    var sequenceNumber: Int64
    var size: Int
    var enqueued: Instant
    var isRetransmission = false
    /// Sent only to see how it arrives.
    var isProbe = false
    /// No packet of the history, but so many octets of nothing.
    var isPadding = false
  }

  enum Priority {
    case audio, retransmission, copy, video
  }

  /// How far the schedule may lag behind, which is also the burst after a pause. Timers are late by a few
  /// milliseconds on a busy machine.
  private static let burst = Duration.milliseconds(10)
  /// A longer queue is sent faster than at `rate`: late pictures help nobody.
  private static let maximumQueueTime = 1.0
  private static let maximumRetransmissions = 512
  private static let copyDelay = Duration.milliseconds(15)

  /// Bits per second.
  var rate: Int
  private var audio = FIFO<Entry>()
  private var retransmissions = FIFO<Entry>()
  /// Retransmissions that go out once more, later: losses come in rows.
  private var copies = FIFO<Entry>()
  private var video = FIFO<Entry>()
  private var probe = FIFO<Entry>()
  private var probeRate = 0
  private var queuedBytes = 0
  private var nextSend = Instant(nanoseconds: .min)

  init(rate: Int) { self.rate = rate }

  /// Too much is under way: only sound, and what probes the way, may leave until then.
  var heldUntil: Instant?

  var videoCount: Int { video.count }

  /// How long the next picture has waited.
  func videoWait(at now: Instant) -> Duration { video.first.map { now - $0.enqueued } ?? .zero }

  /// Everything leaves at the rate of a probe for now.
  var isProbing: Bool { !probe.isEmpty }

  /// Sends these at `rate` when nothing else waits, and what else there is meanwhile too.
  mutating func probe(with entries: [Entry], rate: Int) {
    probeRate = rate
    for entry in entries { probe.append(entry) }
  }

  mutating func enqueue(_ entry: Entry, _ priority: Priority) {
    switch priority {
    case .audio: audio.append(entry)
    case .retransmission:
      guard retransmissions.count < Self.maximumRetransmissions else { return }
      retransmissions.append(entry)
      queuedBytes += entry.size
    case .copy:
      guard copies.count < Self.maximumRetransmissions else { return }
      copies.append(entry)
    case .video:
      video.append(entry)
      queuedBytes += entry.size
    }
  }

  mutating func removeAll(of stream: StreamID) {
    audio.removeAll { $0.stream == stream }
    retransmissions.removeAll { $0.stream == stream }
    copies.removeAll { $0.stream == stream }
    video.removeAll { $0.stream == stream }
    probe.removeAll { $0.stream == stream }
    var bytes = 0
    retransmissions.forEach { bytes += $0.size }
    video.forEach { bytes += $0.size }
    queuedBytes = bytes
  }

  /// When `next` has something again; nil while nothing waits.
  var deadline: Instant? {
    if !audio.isEmpty { return .zero }
    if !probe.isEmpty { return nextSend }
    let earliest = max(nextSend, heldUntil ?? nextSend)
    if retransmissions.isEmpty && video.isEmpty { return copies.first.map { max(earliest, due($0)) } }
    return earliest
  }

  private func due(_ copy: Entry) -> Instant { copy.enqueued + Self.copyDelay }

  /// The packet to send now.
  mutating func next(at now: Instant) -> Entry? {
    if let entry = audio.popFirst() {
      charge(entry.size, at: now)
      return entry
    }
    guard nextSend <= now else { return nil }
    if heldUntil == nil, let copy = copies.first, due(copy) <= now {
      _ = copies.popFirst()
      charge(copy.size, at: now)
      return copy
    }
    if heldUntil == nil, let entry = retransmissions.popFirst() ?? video.popFirst() {
      charge(entry.size, at: now)
      queuedBytes -= entry.size
      return entry
    }
    let entry = probe.popFirst()
    if let entry { charge(entry.size, at: now) }
    return entry
  }

  private mutating func charge(_ bytes: Int, at now: Instant) {
    let bits = Double(bytes * 8)
    let speed = max(
      Double(probe.isEmpty ? rate : max(rate, probeRate)), Double(queuedBytes * 8) / Self.maximumQueueTime)
    nextSend = max(nextSend, now - Self.burst) + .seconds(bits / max(1, speed))
  }
}
