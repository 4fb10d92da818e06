import Base
import Testing

@testable import RTP

@Suite struct PacerTests {
  /// Losses come in rows, of which both must not be part.
  @Test func aRetransmissionsCopyLeavesLater() {
    var pacer = Pacer(rate: 10_000_000)
    let start = Instant(nanoseconds: 1_000_000_000)
    let stream = StreamID(number: 1)
    func entry(_ number: Int64, isRetransmission: Bool) -> Pacer.Entry {
      Pacer.Entry(
        stream: stream, sequenceNumber: number, size: 1000, enqueued: start,
        isRetransmission: isRetransmission)
    }
    for number in 1...2 as ClosedRange<Int64> {
      pacer.enqueue(entry(number, isRetransmission: true), .retransmission)
      pacer.enqueue(entry(number, isRetransmission: true), .copy)
    }
    pacer.enqueue(entry(3, isRetransmission: false), .video)
    var sent: [(number: Int64, at: Duration)] = []
    var now = start
    while let deadline = pacer.deadline, now < start + .seconds(1) {
      now = max(now, deadline)
      while let entry = pacer.next(at: now) { sent.append((entry.sequenceNumber, now - start)) }
    }
    #expect(sent.map(\.number) == [1, 2, 3, 1, 2])
    #expect(sent.prefix(3).allSatisfy { $0.at < .milliseconds(5) })
    #expect(sent.suffix(2).allSatisfy { $0.at >= .milliseconds(15) && $0.at < .milliseconds(20) })
    #expect(pacer.deadline == nil)
    // They go with their stream.
    pacer.enqueue(entry(1, isRetransmission: true), .copy)
    pacer.removeAll(of: stream)
    #expect(pacer.deadline == nil)
  }
}
