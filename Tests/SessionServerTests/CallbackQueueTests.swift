import Base
import Testing

@testable import SessionServer

/// Order, pauses and bounds, in virtual time.
@Suite struct CallbackQueueTests {
  private let start = Instant(nanoseconds: 0)

  @Test func aSessionIsToldOneAfterTheOther() {
    let queue = Driver()
    for body: UInt8 in 1...2 { #expect(queue.add([body], to: "a", at: start)) }
    #expect(queue.add([9], to: "b", at: start))
    #expect(queue.next(at: start)?.body == [1])
    // Another session does not wait.
    #expect(queue.next(at: start)?.body == [9])
    #expect(queue.next(at: start) == nil)
    #expect(queue.finished("a", success: true, at: start) == .delivered)
    #expect(queue.next(at: start)?.body == [2])
    #expect(queue.finished("a", success: true, at: start) == .delivered)
    #expect(queue.finished("b", success: true, at: start) == .delivered)
    #expect(queue.count == 0)
    #expect(queue.next(at: start) == nil)
  }

  @Test func aPauseEndsWhenTheServerDoes() {
    let queue = Driver()
    #expect(queue.add([1], to: "a", at: start))
    #expect(queue.next(at: start)?.body == [1])
    #expect(queue.finished("a", success: false, at: start) == .again(after: .seconds(1)))
    #expect(queue.next(at: start) == nil)
    queue.hurry(at: start)
    #expect(queue.next(at: start)?.body == [1])
  }

  @Test func pausesDoubleAndTheOrderStays() {
    let queue = Driver()
    for body: UInt8 in 1...2 { #expect(queue.add([body], to: "a", at: start)) }
    var now = start
    var pauses: [Duration] = []
    while queue.next(at: now)?.body == [1] {
      guard case .again(let pause) = queue.finished("a", success: false, at: now) else { break }
      pauses.append(pause)
      #expect(queue.next(at: now + pause - .milliseconds(1)) == nil)
      now += pause
    }
    #expect(pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60].map { .seconds($0) })
    // The first was given up; the second is tried at once, and its pauses begin anew.
    #expect(queue.count == 1)
    #expect(queue.next(at: now)?.body == [2])
    #expect(queue.finished("a", success: false, at: now) == .again(after: .seconds(1)))
  }

  @Test func itIsBounded() {
    var limits = CallbackQueue.Limits()
    limits.messages = 3
    limits.posts = 2
    let queue = Driver(limits)
    for session in ["a", "b", "c"] { #expect(queue.add([1], to: session, at: start)) }
    #expect(!queue.add([2], to: "d", at: start))
    #expect(queue.next(at: start)?.session == "a")
    #expect(queue.next(at: start)?.session == "b")
    #expect(queue.next(at: start) == nil)
    #expect(queue.finished("a", success: true, at: start) == .delivered)
    #expect(queue.next(at: start)?.session == "c")
    #expect(queue.add([2], to: "d", at: start))
  }
}

/// A queue whose calls can stand in expectations, which take no mutating ones.
private final class Driver {
  private var queue: CallbackQueue

  init(_ limits: CallbackQueue.Limits = CallbackQueue.Limits()) { queue = CallbackQueue(limits: limits) }

  var count: Int { queue.count }

  func add(_ body: [UInt8], to session: String, at now: Instant) -> Bool {
    queue.add(body, to: session, at: now)
  }

  func next(at now: Instant) -> CallbackQueue.Post? { queue.next(at: now) }

  func hurry(at now: Instant) { queue.hurry(at: now) }

  func finished(_ session: String, success: Bool, at now: Instant) -> CallbackQueue.Outcome {
    queue.finished(session, success: success, at: now)
  }
}
