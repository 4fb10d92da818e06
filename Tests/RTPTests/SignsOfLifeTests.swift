import Base
import Testing

@testable import RTP

@Suite struct SignsOfLifeTests {
  private let start = Instant.zero + .seconds(100)

  /// Packets every `interval` for `duration`, and how many signs are due until a minute after the last.
  private func signs(every interval: Duration, for duration: Duration, _ kinds: [MediaKind]) -> [Duration] {
    var signs = SignsOfLife()
    var now = start
    while now - start <= duration {
      for kind in kinds { signs.received(kind, at: now) }
      now += interval
    }
    let last = now - interval
    var due: [Duration] = []
    while let deadline = signs.deadline, deadline - last < .seconds(60) {
      let isDue = signs.poll(at: deadline)
      #expect(isDue)
      due.append(deadline - last)
    }
    return due
  }

  @Test func silenceAfterPicturesIsAnswered() {
    let due = signs(every: .milliseconds(33), for: .seconds(2), [.video, .audio])
    #expect(due.first == .milliseconds(200))
    // Every 25 ms for five seconds, then every 200 ms for half a minute.
    #expect(due.count { $0 < .seconds(5) } == 192)
    #expect(due.last.map { $0 > .seconds(29) && $0 < .seconds(31) } == true)
    #expect(due.count > 300 && due.count < 330)
  }

  @Test func pausesOfTheirOwnAreNone() {
    // A still screen, and sound alone.
    #expect(signs(every: .seconds(1), for: .seconds(20), [.video]).isEmpty)
    #expect(signs(every: .milliseconds(20), for: .seconds(5), [.audio]).isEmpty)
    // Only just begun.
    #expect(signs(every: .milliseconds(33), for: .milliseconds(900), [.video]).isEmpty)
  }
}
