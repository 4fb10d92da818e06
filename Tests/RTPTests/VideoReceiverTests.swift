import Base
import Testing

@testable import RTP

@Suite struct VideoReceiverTests {
  /// A VP8 stream cut into packets.
  struct Stream {
    struct Packet {
      var number: Int64
      var timestamp: Int64
      var marker: Bool
      var payload: [UInt8]
    }

    enum PictureIDs {
      case none, short, long
    }

    var ids = PictureIDs.long
    var isLayered = false
    var nextNumber: Int64 = 65_536 + 65_530
    var pictureID: UInt16 = 125
    var tl0: UInt8 = 254
    var frame = 0

    mutating func next(isKey: Bool = false, packets count: Int = 3, layer: UInt8 = 0, sync: Bool = false)
      -> [Packet]
    {
      var descriptor = VP8PayloadDescriptor()
      switch ids {
      case .none: break
      case .short:
        descriptor.pictureID = pictureID & 0x7F
        descriptor.hasLongPictureID = false
      case .long: descriptor.pictureID = pictureID & 0x7FFF
      }
      pictureID &+= 1
      if isLayered {
        if layer == 0 { tl0 &+= 1 }
        descriptor.tl0PictureIndex = tl0
        descriptor.temporalLayer = layer
        descriptor.layerSync = sync
      }
      let header: [UInt8] = isKey ? [0x10, 0, 0, 0x9D, 1, 0x2A, 0x10, 0, 0x10, 0] : [0x11, 0, 0]
      var packets: [Packet] = []
      for index in 0..<count {
        descriptor.startsPartition = index == 0
        let head = withUnsafeTemporaryAllocation(byteCount: 8, alignment: 1) { memory in
          var writer = ByteWriter(memory)
          descriptor.write(to: &writer)
          return Array(writer.written)
        }
        packets.append(
          Packet(
            number: nextNumber, timestamp: Int64(frame) * 3000 + 1 << 32, marker: index == count - 1,
            payload: head + (index == 0 ? header : []) + [
              UInt8(truncatingIfNeeded: frame), UInt8(truncatingIfNeeded: index),
            ]))
        nextNumber += 1
      }
      frame += 1
      return packets
    }
  }

  private let receiver = VideoReceiver()
  private let start = Instant(nanoseconds: 1_000_000_000)

  /// - Returns: the numbers (their order of coding) of the frames handed out.
  private func insert(_ packets: [Stream.Packet], at now: Instant? = nil) -> [Int] {
    var frames: [Int] = []
    for packet in packets {
      packet.payload.withUnsafeBytes {
        receiver.insert(
          VideoFrameAssembler.Packet(
            sequenceNumber: packet.number, timestamp: packet.timestamp, marker: packet.marker,
            arrival: now ?? start), payload: $0)
      }
      frames += drain(at: now ?? start)
    }
    return frames
  }

  private func drain(at now: Instant) -> [Int] {
    var frames: [Int] = []
    while let frame = receiver.next(at: now) { frames.append(Int((frame.timestamp - 1 << 32) / 3000)) }
    return frames
  }

  @Test(arguments: [Stream.PictureIDs.none, .short, .long])
  func anyOrderOfArrivalGivesTheOrderOfDecoding(ids: Stream.PictureIDs) {
    for seed in 1...60 as ClosedRange<UInt64> {
      var random = SeededGenerator(seed: seed)
      let receiver = VideoReceiverTests()
      var stream = Stream(ids: ids)
      // Numbers and both sorts of picture ids wrap on the way.
      stream.pictureID = ids == .long ? 0x7FFD : 125
      var packets = stream.next(isKey: true)
      for _ in 0..<6 { packets += stream.next(packets: Int.random(in: 1...4, using: &random)) }
      packets.shuffle(using: &random)
      #expect(receiver.insert(packets) == Array(0..<7))
      #expect(
        receiver.receiver.counters.framesReceived == 7 && receiver.receiver.counters.keyFramesReceived == 1)
    }
  }

  /// A browser that probes the way sends old pictures again, of which nothing can be shown.
  @Test func oldPicturesThatNobodyShowsDoNotDelayTheOthers() {
    var stream = Stream()
    func time(_ frame: Int) -> Instant { start + .milliseconds(frame * 100 / 3) }
    for frame in 0..<60 { _ = insert(stream.next(isKey: frame == 0), at: time(frame)) }
    // A second in which nothing comes through; what was sent in it comes all at once, but for its beginning.
    _ = stream.next()
    for _ in 61..<90 { #expect(insert(stream.next(), at: time(90)).isEmpty) }
    let (before, delay) = (receiver.counters.framesReceived, receiver.timing.targetDelay)
    #expect(before == 89 && delay < 0.02)
    #expect(insert(stream.next(isKey: true), at: time(91)) == [90])
    #expect(receiver.timing.targetDelay < 0.06)
  }

  @Test func aFrameMayHaveManyPackets() {
    for count in [1, 127, 128, 129, 1000] {
      for isReversed in [false, true] {
        let receiver = VideoReceiverTests()
        var stream = Stream()
        let first = stream.next(isKey: true, packets: count)
        let packets = (isReversed ? first.reversed() : first) + stream.next()
        #expect(receiver.insert(packets) == [0, 1])
        #expect(receiver.receiver.counters.framesReceived == 2)
      }
    }
  }

  @Test func bytesAreWhatWasSent() {
    var stream = Stream()
    for packet in stream.next(isKey: true, packets: 2) {
      packet.payload.withUnsafeBytes {
        receiver.insert(
          .init(
            sequenceNumber: packet.number, timestamp: 5, marker: packet.marker, arrival: start),
          payload: $0)
      }
    }
    let frame = receiver.next(at: start)
    #expect(frame?.bytes == [0x10, 0, 0, 0x9D, 1, 0x2A, 0x10, 0, 0x10, 0, 0, 0, 0, 1])
    #expect(frame?.isKeyFrame == true && frame?.timestamp == 5)
  }

  /// Those of a frame that has been handed out are counted too.
  @Test func duplicatesAreCounted() {
    var stream = Stream()
    let key = stream.next(isKey: true)
    #expect(insert(key + key) == [0])
    let delta = stream.next()
    #expect(insert([delta[0], delta[0], delta[1], delta[2]]) == [1])
    #expect(receiver.counters.packetsDuplicated == 4)
  }

  @Test func paddingIsNoGap() {
    var stream = Stream(ids: .none)
    #expect(insert(stream.next(isKey: true)) == [0])
    let padding = stream.nextNumber
    stream.nextNumber += 1
    let delta = stream.next()
    #expect(insert(delta) == [])
    #expect(
      insert([Stream.Packet(number: padding, timestamp: delta[0].timestamp, marker: false, payload: [])]) == [
        1
      ])
  }

  @Test func nothingIsHandedOutBeforeAKeyFrame() {
    var stream = Stream()
    #expect(receiver.needsKeyFrame)
    #expect(insert(stream.next()) == [])
    #expect(receiver.needsKeyFrame && receiver.hasUndecodableFrames && receiver.waitingSince != nil)
    #expect(insert(stream.next(isKey: true)) == [1])
    #expect(!receiver.needsKeyFrame && receiver.waitingSince == nil)
  }

  @Test(arguments: [Stream.PictureIDs.none, .long])
  func afterALossOnlyAKeyFrameHelps(ids: Stream.PictureIDs) {
    var stream = Stream(ids: ids)
    #expect(insert(stream.next(isKey: true)) == [0])
    let lost = stream.next()
    #expect(insert([lost[0], lost[2]]) == [])
    #expect(insert(stream.next()) == [])
    #expect(insert(stream.next(isKey: true)) == [3])
    #expect(insert(stream.next()) == [4])
    // Too late.
    #expect(insert([lost[1]]) == [])
    #expect(receiver.counters.framesDropped == 1)
  }

  @Test func aRepairedPacketReleasesWhatWaited() {
    var stream = Stream()
    #expect(insert(stream.next(isKey: true)) == [0])
    let lost = stream.next()
    #expect(insert([lost[0], lost[2]] + stream.next() + stream.next()) == [])
    #expect(insert([lost[1]]) == [1, 2, 3])
  }

  @Test func aMissingUpperLayerDoesNotStopTheLowerOnes() {
    var stream = Stream(isLayered: true)
    // 0 2 1 2 | 0 2 1 2 as libvpx codes three layers; the first of each period syncs.
    #expect(insert(stream.next(isKey: true)) == [0])
    _ = stream.next(layer: 2, sync: true)  // lost
    let middle = stream.next(layer: 1, sync: true)
    let upper = stream.next(layer: 2)
    let base = stream.next(layer: 0)
    // The lost one is waited for until the next has to be shown.
    #expect(insert(middle) == [2], "it is due at once: nothing has been delayed yet")
    #expect(insert(upper) == [])
    #expect(insert(base) == [4])
    #expect(insert(stream.next(layer: 2, sync: true)) == [5])
    #expect(insert(stream.next(layer: 1, sync: true)) == [6])
    #expect(insert(stream.next(layer: 2)) == [7])
    #expect(receiver.counters.framesDropped == 1)
  }

  @Test func aMissingFrameOfAnUpperLayerIsWaitedForWhileThereIsTime() {
    var stream = Stream(isLayered: true)
    receiver.timing.synchronizationDelay = 0.1
    #expect(insert(stream.next(isKey: true), at: start) == [0])
    let late = stream.next(layer: 1, sync: true)
    let now = start + .microseconds(66_667)
    #expect(insert(stream.next(layer: 0), at: now) == [])
    let deadline = receiver.deadline(at: now) ?? .zero
    #expect(deadline > now + .milliseconds(80) && deadline < now + .milliseconds(90))
    #expect(insert(late, at: now + .milliseconds(20)) == [1, 2])

    _ = stream.next(layer: 1, sync: true)
    let later = start + .microseconds(133_333)
    #expect(insert(stream.next(layer: 0), at: later) == [])
    let due = receiver.deadline(at: later) ?? .zero
    #expect(due > later + .milliseconds(70) && due < later + .milliseconds(100))
    #expect(drain(at: due) == [4])
  }

  @Test func aMissingBaseLayerStopsEverything() {
    var stream = Stream(isLayered: true)
    #expect(insert(stream.next(isKey: true)) == [0])
    _ = stream.next(layer: 0)
    #expect(insert(stream.next(layer: 1, sync: true)) == [])
    #expect(insert(stream.next(layer: 0)) == [])
    #expect(insert(stream.next(isKey: true)) == [4])
  }

  @Test func oneOrTwoOctetsOfAnything() {
    for first in UInt8.min...UInt8.max {
      for payload in [[first], [first, 0x00], [first, 0xFF]] {
        #expect(
          insert([.init(number: 70_000 + Int64(first), timestamp: 1, marker: true, payload: payload)]) == [])
      }
    }
    // The stream still works.
    var stream = Stream(nextNumber: 80_000)
    #expect(insert(stream.next(isKey: true)) == [0])
  }

  @Test func floodsAreBounded() {
    var stream = Stream()
    for _ in 0..<2000 { #expect(insert(stream.next(packets: 1)) == []) }
    #expect(receiver.counters.framesDropped >= 1800)
    #expect(insert([.init(number: 1, timestamp: 1, marker: true, payload: [0x10, 0, 0])]) == [])
    let large = [UInt8](repeating: 0x10, count: 4000)
    #expect(insert([.init(number: stream.nextNumber, timestamp: 1, marker: true, payload: large)]) == [])
  }

  @Test func picturesAreShownAtTheSendersPace() {
    var stream = Stream()
    var random = SeededGenerator(seed: 3)
    var shown: [Double] = []
    for frame in 0..<300 {
      let arrival =
        start + .microseconds(33_333 * frame) + .milliseconds(Int.random(in: 0...25, using: &random))
      for packet in stream.next(isKey: frame == 0, packets: 1) {
        packet.payload.withUnsafeBytes {
          receiver.insert(
            .init(
              sequenceNumber: packet.number, timestamp: packet.timestamp, marker: true, arrival: arrival),
            payload: $0)
        }
      }
      while let frame = receiver.next(at: arrival) { shown.append((frame.renderTime - start).milliseconds) }
    }
    let gaps = zip(shown, shown.dropFirst()).map { $1 - $0 }.suffix(200)
    #expect(gaps.filter { abs($0 - 33.3) < 3 }.count > 170)
    #expect((receiver.timing.targetDelay < 0.03))
  }
}
