import Base
import Testing

@testable import RTP

@Suite struct BandwidthProbeTests {
  /// In seconds from a start; the test's macros need something that can be copied.
  private final class Subject {
    private var probe = BandwidthProbe()
    private let start = Instant(nanoseconds: 1_000_000_000)
    var isRunning: Bool { probe.isRunning }

    func next(at seconds: Double, bitrate: Double = 500_000, acknowledged: Double? = 450_000) -> Double? {
      probe.next(
        bitrate: bitrate, maximum: 2_500_000, acknowledged: acknowledged, loss: 0,
        at: start + .seconds(seconds))
    }

    /// Packets of 1,000 octets, so many milliseconds apart when sent and when received.
    func answer(_ packets: Int = 6, sent: Double, received: Double) {
      for number in 0..<packets {
        probe.packetArrived(
          sendTime: 100 + Double(number) * sent, arrivalTime: 9000 + Double(number) * received, size: 1000)
      }
    }

    func result(isComplete: Bool = true, at seconds: Double = 0) -> Double? {
      probe.result(bitrate: 500_000, isComplete: isComplete, at: start + .seconds(seconds))
    }

    func congested(at seconds: Double) { probe.congested(at: start + .seconds(seconds)) }
  }

  private let subject = Subject()

  @Test func theFirstOneIsForTheStart() {
    #expect(subject.next(at: 0, acknowledged: nil) == 1_500_000)
    #expect(subject.next(at: 1) == nil)
  }

  @Test func whatArrivesAsItWasSentIsBelieved() throws {
    _ = subject.next(at: 0)
    subject.answer(sent: 8, received: 8)
    let result = try #require(subject.result())
    #expect(abs(result - 1_000_000) < 1)
    // It was worth it: at once again, from there.
    #expect(subject.next(at: 0.1, bitrate: 1_000_000) == 2_000_000)
  }

  @Test func whatArrivesMoreSlowlyIsAllThereIs() throws {
    _ = subject.next(at: 0)
    subject.answer(sent: 8, received: 12)
    let result = try #require(subject.result())
    #expect(abs(result - 0.95 * 8_000_000 / 12) < 1)
    #expect(subject.next(at: 3) == nil)
    #expect(subject.next(at: 4.1) == 1_000_000)
  }

  @Test func oneThatIsLostSaysNothing() {
    _ = subject.next(at: 0)
    subject.answer(1, sent: 0, received: 0)
    #expect(subject.result(isComplete: false) == nil)
    #expect(subject.isRunning)
    #expect(subject.result(isComplete: false, at: 3) == nil)
    #expect(!subject.isRunning)
  }

  @Test func nothingIsTriedWithoutNeedOrAfterCongestion() {
    _ = subject.next(at: 0)
    _ = subject.result()
    #expect(subject.next(at: 10, acknowledged: 100_000) == nil)
    #expect(subject.next(at: 10, bitrate: 2_400_000, acknowledged: 2_400_000) == nil)
    subject.congested(at: 9)
    #expect(subject.next(at: 10) == nil)
    #expect(subject.next(at: 12) == 1_000_000)
  }
}
