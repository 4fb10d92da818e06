import Glibc
import Testing

@testable import Base

@Suite struct MediaThreadTests {
  /// More than there are addresses: no system gives it.
  private static let absurdStack = 1 << 52

  @Test func whatAsksForAThreadThatThereIsNotFails() {
    #expect(throws: ThreadError(name: "absurd", errno: EAGAIN)) {
      try MediaThread.start(name: "absurd", stack: Self.absurdStack) { Issue.record("there is one") }
    }
  }

  @Test func aProcessWithoutAThreadThatItNeedsSaysSo() async {
    let result = await #expect(processExitsWith: .exitCode(70), observing: [\.standardErrorContent]) {
      _ = MediaThread(name: "absurd", stack: 1 << 52) {}
    }
    let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(said.contains("otchat: error: no thread for 'absurd': Resource temporarily unavailable\n"))
    #expect(said.contains("otchat: hint: a limit on threads or memory is reached: 'ulimit -u'"))
  }

  @Test func threadsThatAreThereCanBeExpectedAndOthersNot() throws {
    try MediaThread.expect(8)
    #expect(throws: ThreadError(name: "expected", errno: EAGAIN)) {
      try MediaThread.expect(2, stack: Self.absurdStack)
    }
  }

  @Test func whatIsAsideIsDone() {
    let done = Semaphore()
    MediaThread.runAside(name: "aside") { done.post() }
    #expect(done.wait(until: MonotonicClock.now() + .seconds(60)))
  }
}
