import CommandLineKit
import Testing

@testable import otchat

@Suite struct ConnectOptionsTests {
  @Test(arguments: [
    (false, 640, 480, 1_500_000), (false, 1920, 1080, 1_500_000), (true, 320, 180, 1_500_000),
    (true, 1280, 720, 2_488_320), (true, 1920, 1080, 5_598_720), (true, 3840, 2160, 6_000_000),
  ])
  func screensMayTakeWhatTheirTextNeeds(isScreen: Bool, width: Int, height: Int, bitrate: Int) {
    let size = PixelSize(width: width, height: height)
    #expect(ConnectOptions.usualVideoBitrate(isScreen: isScreen, size) == bitrate)
  }
}
