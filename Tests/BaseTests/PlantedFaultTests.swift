import Base
import Glibc
import Testing

/// Faults made on purpose: `scripts/sanitize` looks whether the sanitizers find them, since a clean run of
/// one that is blind proves nothing.
@Suite(
  .enabled(
    if: getenv("OTCHAT_PLANT_FAULTS") != nil, "only for scripts/sanitize, which has to find the faults"))
struct PlantedFaultTests {
  /// Unsafe to share, which is the point.
  private final class Unguarded: @unchecked Sendable {
    var count = 0
  }

  @Test func thread() {
    let shared = Unguarded()
    let threads = (0..<2).map { _ in MediaThread(name: "racing") { shared.count += 1 } }
    for thread in threads { thread.join(until: MonotonicClock.now() + .seconds(60)) }
    #expect((1...2).contains(shared.count))
  }

  @Test func address() {
    let memory = UnsafeMutablePointer<UInt8>.allocate(capacity: 16)
    memory.initialize(repeating: 1, count: 16)
    memory.deallocate()
    #expect(!"\(memory[8])".isEmpty)
  }
}
