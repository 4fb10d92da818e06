import Base
import MediaIO
import Testing

@testable import OTKit

@Suite struct EncodingAllocationTests {
  private typealias Share = EncodingAllocation.Share

  private let addresses = (0..<4).map {
    PeerAddress(streamID: "s", subscriberID: "\($0)", peerID: nil, sourceStreamID: nil)
  }
  private let start = Instant(nanoseconds: 1_000_000_000)

  private func subscribers(_ targets: [Int], new: Set<Int> = []) -> [PeerAddress: EncodingAllocation
    .Subscriber]
  {
    var result: [PeerAddress: EncodingAllocation.Subscriber] = [:]
    for (index, target) in targets.enumerated() {
      result[addresses[index]] = .init(target: target, isNew: new.contains(index))
    }
    return result
  }

  @Test func oneSubscriberHasAnEncodingToItself() {
    var allocation = EncodingAllocation()
    let first = allocation.update(subscribers([800_000]), at: start)
    #expect(allocation.encodings == [VideoEncoding(bitrate: 800_000)])
    let second = allocation.update(subscribers([800_000]), at: start)
    #expect(first && !second)
    #expect(allocation.shares == [addresses[0]: .whole])
  }

  @Test func nearEqualsShareTheRateOfTheSlowest() {
    var allocation = EncodingAllocation()
    _ = allocation.update(subscribers([1_500_000, 1_150_000, 1_300_000]), at: start)
    #expect(allocation.encodings == [VideoEncoding(bitrate: 1_150_000)])
    #expect(allocation.shares.values.allSatisfy { $0 == .whole })
  }

  @Test func aSlowerOneGoesWithoutTheTopLayerUntilItIsFastEnough() {
    var allocation = EncodingAllocation()
    let layered = [VideoEncoding(bitrate: 1_500_000, temporalLayers: 3)]
    // Each step: the slower one's target, and the highest layer that it gets then.
    for (target, layer) in [(1_000_000, 1), (1_200_000, 1), (910_000, 1), (1_300_000, 2), (1_130_000, 2)] {
      _ = allocation.update(subscribers([1_500_000, target]), at: start)
      #expect(allocation.shares[addresses[1]] == Share(encoding: 0, highestLayer: UInt8(layer)), "\(target)")
      if layer == 1 { #expect(allocation.encodings == layered) }
    }
    // The layers stay a while, for the encoder changes over with a key frame.
    let targets = subscribers([1_500_000, 1_500_000])
    _ = allocation.update(targets, at: start + .seconds(19))
    #expect(allocation.encodings == layered)
    _ = allocation.update(targets, at: start + .seconds(21))
    #expect(allocation.encodings == [VideoEncoding(bitrate: 1_500_000)])
  }

  @Test func aNewOneIsTriedWithWhatTheOthersGet() {
    var allocation = EncodingAllocation()
    _ = allocation.update(subscribers([1_500_000, 800_000], new: [1]), at: start)
    #expect(allocation.encodings == [VideoEncoding(bitrate: 1_500_000)])
    #expect(allocation.shares[addresses[1]] == .whole)
    _ = allocation.update(subscribers([1_500_000, 800_000]), at: start)
    #expect(allocation.shares[addresses[1]] == Share(encoding: 1, highestLayer: 2))
    // Alone there is nobody whose rate could be tried.
    _ = allocation.update(subscribers([800_000], new: [0]), at: start)
    #expect(allocation.encodings.map(\.bitrate) == [800_000])
  }

  @Test func theSlowestGetsASmallEncodingAndNobodyElsePaysForIt() {
    var allocation = EncodingAllocation()
    _ = allocation.update(subscribers([1_500_000, 1_450_000, 300_000, 250_000]), at: start)
    #expect(
      allocation.encodings == [
        VideoEncoding(bitrate: 1_450_000), VideoEncoding(bitrate: 250_000, isHalved: true),
      ])
    #expect(allocation.shares[addresses[1]] == .whole)
    #expect(allocation.shares[addresses[2]] == Share(encoding: 1, highestLayer: 2))
    #expect(allocation.shares[addresses[3]] == Share(encoding: 1, highestLayer: 2))
  }
}
