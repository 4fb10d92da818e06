import Testing

@testable import OTKit

@Suite struct LostCamerasTests {
  @Test func aStandInThatFailsTooKeepsNobodyFromComingBack() {
    var lost = LostCameras()
    lost.failed(0, isCamera: true)
    lost.used(1)
    #expect(lost.indices == [0])
    // Its stand-in is unplugged as well, as with a hub, and a picture takes their place.
    lost.failed(1, isCamera: true)
    lost.used(2)
    #expect(lost.indices == [0, 1])
    // The stand-in is back: the first is still wanted more.
    lost.used(1)
    #expect(lost.indices == [0])
    lost.used(0)
    #expect(lost.indices.isEmpty)
  }

  @Test func theOneThatIsWantedMostEndsTheWaiting() {
    var lost = LostCameras()
    lost.failed(0, isCamera: true)
    lost.failed(1, isCamera: true)
    lost.used(0)
    #expect(lost.indices.isEmpty)
  }

  @Test func whatIsNoCameraIsNotWaitedFor() {
    var lost = LostCameras()
    lost.failed(0, isCamera: true)
    lost.failed(1, isCamera: false)
    #expect(lost.indices == [0])
    // The same camera fails again.
    lost.used(0)
    lost.failed(0, isCamera: true)
    lost.failed(0, isCamera: true)
    #expect(lost.indices == [0])
  }
}
