import Base
import RTP

/// A jitter buffer with a constant delay, until RTP has the adaptive one.
struct InterimJitterBuffer {
  enum Output {
    case packet(ReceivedAudioPacket)
    case recoverFromNext(ReceivedAudioPacket)
    case conceal
    case silence
  }

  var minimumDelay = Duration.zero
  private var packets: [ReceivedAudioPacket] = []
  private var next: Int64?
  private var concealed = 0
  private var statistics = AudioReceiver.Statistics()

  mutating func insert(_ packet: ReceivedAudioPacket) {
    if let next, packet.sequenceNumber < next { return }
    guard packets.count < 100, !packets.contains(where: { $0.sequenceNumber == packet.sequenceNumber }) else {
      return
    }
    packets.append(packet)
    packets.sort { $0.sequenceNumber < $1.sequenceNumber }
  }

  mutating func next(at now: Instant) -> Output {
    guard let first = packets.first else {
      guard next != nil, concealed < 10 else {
        next = nil
        return .silence
      }
      concealed += 1
      next = next.map { $0 + 1 }
      statistics.concealedSamples += 960
      return .conceal
    }
    guard let expected = next else {
      guard now - first.arrival >= max(.milliseconds(40), minimumDelay) else { return .silence }
      return take()
    }
    if first.sequenceNumber == expected { return take() }
    next = expected + 1
    statistics.concealedSamples += 960
    return first.sequenceNumber == expected + 1 ? .recoverFromNext(first) : .conceal
  }

  private mutating func take() -> Output {
    let packet = packets.removeFirst()
    next = packet.sequenceNumber + 1
    concealed = 0
    statistics.jitterBufferEmittedCount += 960
    return .packet(packet)
  }

  func report(to target: inout AudioReceiver.Statistics) {
    target.concealedSamples = statistics.concealedSamples
    target.jitterBufferEmittedCount = statistics.jitterBufferEmittedCount
  }
}
