import Base
import Testing

@testable import Codecs

@Suite struct VideoFramePoolTests {
  private func frame(_ width: Int, _ pool: VideoFramePool?) -> VideoFrame {
    VideoFrame(width: width, height: 48, time: .zero, pool: pool) { y, _, _, _, _ in y[0] = UInt8(width) }
  }

  @Test func memoryIsUsedAgainOnceNobodyHoldsThePicture() {
    let pool = VideoFramePool()
    var first: VideoFrame? = frame(64, pool)
    let second = frame(64, pool)
    let address = first?.y
    #expect(second.y != address)
    first = nil
    #expect(frame(64, pool).y == address)
    #expect(second.y[0] == 64)
  }

  @Test func picturesOfAnotherSizeHaveMemoryOfTheirOwn() {
    let pool = VideoFramePool()
    var small: VideoFrame? = frame(32, pool)
    let large = frame(200, pool)
    // Given back after the size has changed: it would be too small.
    small = nil
    let other = frame(200, pool)
    #expect(large.y != other.y)
    #expect(other.y[0] == 200 && large.y[0] == 200)
    #expect(small == nil)
  }

  @Test func manyPicturesAtOnceOutliveThePool() {
    var pool: VideoFramePool? = VideoFramePool()
    weak let watched = pool
    var frames = (0..<20).map { _ in frame(96, pool) }
    #expect(Set(frames.map { $0.y }).count == 20)
    pool = nil
    #expect(watched != nil, "pictures keep it")
    #expect(frames.allSatisfy { $0.y[0] == 96 })
    frames = []
    #expect(watched == nil)
  }
}
