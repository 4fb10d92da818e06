import Base
import Testing

@testable import RTP

/// When feedback goes out: with packets that arrive, so that it wakes no thread of its own.
@Suite struct TransportFeedbackRecorderTests {
  /// Packets of 1,000 bytes every `interval` milliseconds; when feedback went out, and what it woke for that.
  private func run(interval: Int, packets: Int) -> (feedback: [Int], timers: Int) {
    var recorder = TransportFeedbackRecorder()
    var sent: [Int] = []
    var timers = 0
    for number in 0..<packets {
      let arrival = Instant(nanoseconds: Int64(number * interval) * 1_000_000)
      while let deadline = recorder.deadline, deadline < arrival {
        #expect(recorder.feedback(sender: 1, at: deadline) != nil)
        sent.append(Int(deadline.nanoseconds / 1_000_000))
        timers += 1
      }
      recorder.received(UInt16(number), ssrc: 2, size: 1000, at: arrival)
      if recorder.deadline.map({ $0 <= arrival }) == true, recorder.feedback(sender: 1, at: arrival) != nil {
        sent.append(number * interval)
      }
    }
    return (sent, timers)
  }

  @Test func packetsEveryTwentyMillisecondsTakeFeedbackWithThem() {
    let (feedback, timers) = run(interval: 20, packets: 200)
    // The first waits for a rate to be known.
    #expect(timers <= 1)
    let steady = feedback.filter { $0 > 2000 }
    #expect(zip(steady, steady.dropFirst()).allSatisfy { $1 - $0 == 40 })
  }

  /// Who begins to send is waiting for what became of the probes that come with the first picture.
  @Test func theFirstPacketsAreReportedSoon() {
    let (feedback, _) = run(interval: 10, packets: 20)
    #expect(feedback.first == 50)
  }

  @Test func packetsWithoutPauseAreReportedThirtyToFortyTimesASecond() {
    let (feedback, timers) = run(interval: 2, packets: 2000)
    #expect(timers <= 1)
    let steady = feedback.filter { $0 > 2000 }
    #expect(zip(steady, steady.dropFirst()).allSatisfy { (24...26).contains($1 - $0) })
  }

  @Test func theLastPacketBeforeAPauseIsReportedAllTheSame() {
    var recorder = TransportFeedbackRecorder()
    var last = Instant(nanoseconds: 0)
    for number in 0..<1000 {
      last = Instant(nanoseconds: Int64(number) * 5_000_000)
      recorder.received(UInt16(number), ssrc: 2, size: 1000, at: last)
      if recorder.deadline.map({ $0 <= last }) == true { _ = recorder.feedback(sender: 1, at: last) }
    }
    let deadline = recorder.deadline
    #expect(deadline.map { $0 - last <= .milliseconds(46) } ?? true)
    guard let deadline else { return }
    let feedback = recorder.feedback(sender: 1, at: deadline)
    #expect(feedback?.deltas.isEmpty == false)
    #expect(recorder.deadline == nil)
  }
}
