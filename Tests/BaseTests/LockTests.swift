import Base
import Testing

@Suite struct LockTests {
  @Test func noIncrementIsLost() {
    final class Counter: Sendable { let value = Lock(0) }
    let counter = Counter()
    let threads = (0..<4).map { _ in
      MediaThread(name: "counter") { for _ in 0..<10_000 { counter.value.withLock { $0 += 1 } } }
    }
    for thread in threads { #expect(thread.join(until: MonotonicClock.now() + .seconds(60))) }
    #expect(counter.value.withLock { $0 } == 40_000)
  }

  @Test func isReleasedWhenTheBodyThrows() {
    struct Refusal: Error {}
    let lock = Lock([1])
    #expect(throws: Refusal.self) { try lock.withLock { _ in throw Refusal() } }
    #expect(lock.withLock { $0 } == [1])
  }
}
