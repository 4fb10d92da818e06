import Base
import Testing

@testable import RTP

@Suite struct QueueDelayTests {
  /// Packets of 1,250 bytes, sent every 5 ms (2 Mb/s), each of which takes `spacing` ms to come out.
  private func queue(spacing: Double, packets: Int) -> QueueDelay {
    var queue = QueueDelay()
    var free = 0.0
    for index in 0..<packets {
      let send = Double(index) * 5
      free = max(free, send) + spacing
      queue.packetArrived(send: send, arrival: free + 1_000, size: 1_250)
    }
    return queue
  }

  @Test func whatComesOutOfAQueueIsTheRateOfTheWay() throws {
    let queue = queue(spacing: 20, packets: 40)
    #expect(queue.isGrowing)
    // The 36th packet, the fastest of the last five, has waited 15 ms for each before it.
    #expect(abs(queue.current - 35 * 15) < 1)
    #expect(abs(queue.latest - 39 * 15) < 1)
    #expect(abs(try #require(queue.throughput) - 500_000) < 1_000)
  }

  @Test func withoutAQueueNothingIsSaid() {
    let queue = queue(spacing: 4, packets: 100)
    #expect(queue.current == 0)
    #expect(queue.throughput == nil)
    #expect(!queue.isGrowing)
  }

  @Test func aLongerWayIsNoGrowingQueue() {
    var queue = queue(spacing: 4, packets: 40)
    for index in 40..<100 {
      queue.packetArrived(send: Double(index) * 5, arrival: Double(index) * 5 + 1_154, size: 1_250)
    }
    #expect(abs(queue.current - 150) < 1)
    #expect(!queue.isGrowing)
    // Ten seconds later it is the way.
    for index in 100..<2_200 {
      queue.packetArrived(send: Double(index) * 5, arrival: Double(index) * 5 + 1_154, size: 1_250)
    }
    #expect(queue.current == 0)
  }

  @Test func singleLatePacketsAreNoQueue() {
    var queue = QueueDelay()
    for index in 0..<200 {
      let late = index % 3 == 0 ? 60.0 : 0
      queue.packetArrived(send: Double(index) * 5, arrival: Double(index) * 5 + late, size: 1_250)
    }
    #expect(queue.current == 0)
    #expect(!queue.isGrowing)
  }
}

@Suite struct CongestionWindowTests {
  private func window(samples: Int = 100) -> CongestionWindow {
    var window = CongestionWindow()
    for _ in 0..<samples { window.add(.milliseconds(62), queueDelay: .milliseconds(10)) }
    return window
  }

  private let now = Instant(nanoseconds: 1_000_000_000)

  @Test func holdsARoundTripWithoutTheQueue() {
    var window = window()
    // 55 ms (the end of the histogram's bucket) and the margin of 20 ms at 2 Mb/s.
    window.update(underWay: 19_000, bitrate: 2_000_000, isQueueing: true, at: now)
    #expect(window.isFull(underWay: 18_751, at: now))
    #expect(!window.isFull(underWay: 18_750, at: now))
    #expect(!window.isFull(underWay: 19_000, at: now + .milliseconds(250)))
  }

  @Test func withoutAQueueNothingIsHeldBack() {
    var window = window()
    window.update(underWay: 100_000, bitrate: 2_000_000, isQueueing: false, at: now)
    #expect(!window.isFull(underWay: 100_000, at: now))
  }

  @Test func aFewSamplesAreNotEnough() {
    var window = window(samples: 9)
    window.update(underWay: 1_000_000, bitrate: 100_000, isQueueing: true, at: now)
    #expect(!window.isFull(underWay: 1_000_000, at: now))
  }
}
