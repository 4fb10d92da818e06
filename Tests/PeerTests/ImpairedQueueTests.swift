import Base
import Testing

@testable import Peer

@Suite struct ImpairedQueueTests {
  private static let second = Int64(1_000_000_000)

  private func queue(seed: UInt64 = 1, _ change: (inout Impairment) -> Void = { _ in }) -> ImpairedQueue<Int>
  {
    var queue = ImpairedQueue<Int>(seed: seed)
    change(&queue.impairment)
    return queue
  }

  private func add(_ queue: inout ImpairedQueue<Int>, _ number: Int, size: Int = 1250, at seconds: Double) {
    [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: size).withUnsafeBytes {
      queue.add($0, number, at: Instant(nanoseconds: Int64(seconds * 1e9)))
    }
  }

  private func arrivals(_ queue: inout ImpairedQueue<Int>, until seconds: Double) -> [Int] {
    var numbers: [Int] = []
    while let datagram = queue.next(at: Instant(nanoseconds: Int64(seconds * 1e9))) {
      #expect(datagram.bytes.first == UInt8(truncatingIfNeeded: datagram.route))
      numbers.append(datagram.route)
    }
    return numbers
  }

  @Test func delayHoldsEachDatagramBack() {
    var queue = queue { $0.delay = .milliseconds(40) }
    add(&queue, 1, at: 1)
    add(&queue, 2, at: 1.02)
    #expect(queue.deadline == Instant(nanoseconds: Int64(1.04e9)))
    #expect(arrivals(&queue, until: 1.039) == [])
    #expect(arrivals(&queue, until: 1.04) == [1])
    #expect(arrivals(&queue, until: 1.06) == [2])
    #expect(queue.isEmpty && queue.deadline == nil && queue.passed == 2)
  }

  @Test func lossIsSeededAndAsOftenAsItShouldBe() {
    func survivors(_ seed: UInt64) -> [Int] {
      var queue = queue(seed: seed) { $0.loss = 0.1 }
      var numbers: [Int] = []
      for number in 0..<20_000 {
        add(&queue, number, size: 1, at: Double(number) / 1000)
        numbers += arrivals(&queue, until: Double(number) / 1000)
      }
      return numbers
    }
    let first = survivors(7)
    #expect(first == survivors(7))
    #expect(first != survivors(8))
    #expect((17_800...18_200).contains(first.count))
  }

  @Test func jitterNeverReorders() {
    var queue = queue { impairment in
      impairment.delay = .milliseconds(10)
      impairment.jitter = .milliseconds(50)
    }
    for number in 0..<500 { add(&queue, number, size: 10, at: Double(number) / 1000) }
    var seen: [Int] = []
    var latest = 0.0
    var delays: [Double] = []
    while let deadline = queue.deadline {
      #expect(deadline.seconds >= latest)
      latest = deadline.seconds
      let numbers = arrivals(&queue, until: deadline.seconds + 1e-9)
      for number in numbers { delays.append(deadline.seconds - Double(number) / 1000) }
      seen += numbers
    }
    #expect(seen == Array(0..<500))
    #expect(delays.allSatisfy { $0 > 0.0099 && $0 < 0.0601 })
    #expect((delays.max() ?? 0) > 0.05)
  }

  @Test func rateSpacesDatagramsAndItsQueueIsBounded() {
    // 1250 bytes are 10 ms at 1 Mbit/s; 100 ms of queue hold ten, beside the one that is being sent.
    var queue = queue { impairment in
      impairment.rate = 1_000_000
      impairment.queue = .milliseconds(100)
    }
    for number in 0..<30 { add(&queue, number, at: 0) }
    #expect(queue.lost == 19)
    #expect(arrivals(&queue, until: 0.0101) == [0])
    #expect(arrivals(&queue, until: 0.0501) == [1, 2, 3, 4])
    #expect(arrivals(&queue, until: 1) == Array(5...10))
    // What has passed does not count against what comes later.
    add(&queue, 99, at: 2)
    #expect(queue.deadline == Instant(nanoseconds: Int64(2.01e9)))
  }

  @Test func changesHoldForWhatComesAfterThem() {
    var queue = queue { $0.delay = .milliseconds(500) }
    add(&queue, 1, at: 0)
    queue.impairment = Impairment()
    #expect(queue.impairment.isTransparent)
    // In order, whatever the new delay is.
    add(&queue, 2, at: 0.1)
    #expect(arrivals(&queue, until: 0.4) == [])
    #expect(arrivals(&queue, until: 0.5) == [1, 2])
    queue.impairment.loss = 1
    add(&queue, 3, at: 0.6)
    #expect(queue.isEmpty && queue.lost == 1)
  }

  @Test func whatIsKeptIsBounded() {
    var queue = queue { $0.delay = .seconds(60) }
    for number in 0..<10_000 { add(&queue, number, size: 1, at: 0) }
    #expect(queue.lost == 10_000 - ImpairedQueue<Int>.capacity)
    #expect(arrivals(&queue, until: 60).count == ImpairedQueue<Int>.capacity)
    for number in 0..<100 {
      add(&queue, number, size: 1, at: 61)
      #expect(!queue.isEmpty)
    }
  }
}
