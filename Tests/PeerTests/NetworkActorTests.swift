import Base
import Glibc
import Peer
import TestSupport
import Testing

@Suite struct NetworkActorTests {
  @Test func jobsAndCallsShareOneThread() async {
    let job = await onNetworkThread()
    let call = await withCheckedContinuation { done in
      NetworkActor.perform { done.resume(returning: currentThread()) }
    }
    #expect(job == call)
    #expect(job != currentThread())
  }

  @Test func callsKeepTheirOrder() async {
    let seen = Numbers()
    for number in 0..<1000 { NetworkActor.perform { seen.append(number) } }
    await barrier()
    #expect(seen.all == Array(0..<1000))
  }

  @Test func mailboxHandsOverInOrderFromAnotherThread() async throws {
    let seen = Numbers()
    let mailbox = NetworkMailbox<Int>(capacity: 2000, overflow: .dropNewest) { number in
      seen.append(number)
    }
    let thread = MediaThread(name: "producer") { for number in 0..<1000 { mailbox.put(number) } }
    #expect(thread.join(until: MonotonicClock.now() + .seconds(60)))
    try await eventually("all received") { seen.all.count == 1000 }
    #expect(seen.all == Array(0..<1000))
    #expect(mailbox.dropped == 0)
  }

  @Test func fullMailboxDropsAndCounts() async throws {
    let seen = Numbers()
    let mailbox = NetworkMailbox<Int>(capacity: 4, overflow: .dropOldest) { number in
      seen.append(number)
    }
    let gate = Semaphore()
    NetworkActor.perform { _ = gate.wait(until: MonotonicClock.now() + .seconds(60)) }
    for number in 0..<10 { mailbox.put(number) }
    gate.post()
    try await eventually("the last one received") { seen.all.last == 9 }
    #expect(seen.all == [6, 7, 8, 9])
    #expect(mailbox.dropped == 6)
  }

  @Test @NetworkActor func timerFiresOnceNotEarlyAndCanBeMovedAndStopped() async throws {
    var fired: [Instant] = []
    let timer = NetworkTimer { fired.append(MonotonicClock.now()) }
    let start = MonotonicClock.now()
    timer.set(start + .milliseconds(5))
    timer.set(start + .milliseconds(20))
    try await eventually("timer fires") { !fired.isEmpty }
    #expect(fired.count == 1)
    #expect(fired[0] >= start + .milliseconds(20))
    #expect(timer.deadline == nil)

    let stopped = NetworkTimer { Issue.record("a stopped timer fired") }
    stopped.set(MonotonicClock.now() + .milliseconds(1))
    stopped.set(nil)
    timer.set(MonotonicClock.now() + .milliseconds(5))
    try await eventually("the other timer fires") { fired.count == 2 }
  }

  @NetworkActor private func onNetworkThread() -> UInt { currentThread() }
  @NetworkActor private func barrier() {}
}

private func currentThread() -> UInt { UInt(pthread_self()) }

private final class Numbers: Sendable {
  private let numbers = Lock<[Int]>([])
  var all: [Int] { numbers.withLock { $0 } }
  func append(_ number: Int) { numbers.withLock { $0.append(number) } }
}
