import Testing

@testable import Base

@Suite struct MailboxTests {
  @Test func aFullMailboxDropsTheOldest() {
    let mailbox = Mailbox<Int>(capacity: 2, overflow: .dropOldest)
    #expect(mailbox.put(1))
    #expect(mailbox.put(2))
    #expect(!mailbox.put(3))
    #expect(mailbox.drain() == [2, 3])
    #expect(mailbox.dropped == 1)
  }

  @Test func aFullMailboxDropsTheNewest() {
    let mailbox = Mailbox<Int>(capacity: 2, overflow: .dropNewest)
    for number in 1...4 { mailbox.put(number) }
    #expect(mailbox.drain() == [1, 2])
    #expect(mailbox.dropped == 2)
  }

  @Test func takingWaitsUntilTheDeadline() {
    let mailbox = Mailbox<Int>(capacity: 2, overflow: .dropOldest)
    let start = MonotonicClock.now()
    #expect(mailbox.take(until: start + .milliseconds(20)).isEmpty)
    #expect(MonotonicClock.now() - start >= .milliseconds(20))
  }

  @Test func wakesOnlyForTheFirstElement() {
    let woken = Lock(0)
    let mailbox = Mailbox<Int>(capacity: 8, overflow: .dropOldest) { woken.withLock { $0 += 1 } }
    mailbox.put(1)
    mailbox.put(2)
    #expect(woken.withLock { $0 } == 1)
    #expect(mailbox.drain() == [1, 2])
    mailbox.put(3)
    #expect(woken.withLock { $0 } == 2)
  }

  @Test func everythingPassesBetweenTwoThreadsInOrder() {
    let mailbox = Mailbox<Int>(capacity: 100_000, overflow: .dropNewest)
    let count = 20_000
    let producer = MediaThread(name: "producer") {
      for number in 0..<count { mailbox.put(number) }
      mailbox.close()
    }
    var taken: [Int] = []
    let deadline = MonotonicClock.now() + .seconds(60)
    while true {
      let elements = mailbox.take(until: deadline)
      if elements.isEmpty { break }
      taken += elements
    }
    #expect(producer.join(until: deadline))
    #expect(taken == Array(0..<count))
    #expect(mailbox.isClosed)
    #expect(!mailbox.put(1))
  }
}
