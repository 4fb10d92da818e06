import Codecs
import Testing

@testable import MediaIO

@Suite struct CompositionLayoutTests {
  private typealias Layout = CompositionLayout
  private static let sizes = [(640, 480), (1280, 720), (1920, 1080), (480, 640), (720, 1280), (1080, 1920)]

  private func places(
    _ layout: CompositionLayout, _ streams: [CompositionLayout.Stream], _ size: (Int, Int) = (640, 480)
  ) -> [[Int]] {
    layout.places(streams, in: VideoSize(width: size.0, height: size.1)).map {
      [$0.x, $0.y, $0.width, $0.height]
    }
  }

  private func streams(_ count: Int) -> [CompositionLayout.Stream] { .init(repeating: .init(), count: count) }

  @Test func bestFitMakesTheMostOfThePlace() {
    #expect(places(.init(), streams(0)) == [])
    #expect(places(.init(), streams(1)) == [[0, 0, 640, 480]])
    #expect(places(.init(), streams(2), (1280, 480)) == [[0, 0, 640, 480], [640, 0, 640, 480]])
    #expect(places(.init(), streams(2), (480, 640)) == [[0, 0, 480, 320], [0, 320, 480, 320]])
    // The third is in the middle of its row.
    #expect(
      places(.init(), streams(3)) == [[0, 0, 320, 240], [320, 0, 320, 240], [160, 240, 320, 240]])
    #expect(places(.init(), streams(4))[3] == [320, 240, 320, 240])
  }

  @Test func nothingOverlapsAndNothingIsOutside() {
    for size in Self.sizes {
      for kind in [Layout.Kind.bestFit, .verticalPresentation, .horizontalPresentation] {
        for count in 1...16 {
          let places = Layout(kind).places(streams(count), in: VideoSize(width: size.0, height: size.1))
          #expect(places.count == count)
          for (index, place) in places.enumerated() {
            #expect([place.x, place.y, place.width, place.height].allSatisfy { $0 % 2 == 0 && $0 >= 0 })
            #expect(place.x + place.width <= size.0 && place.y + place.height <= size.1)
            for other in places[..<index] {
              let apart =
                place.x + place.width <= other.x || other.x + other.width <= place.x
                || place.y + place.height <= other.y || other.y + other.height <= place.y
              #expect(apart, "\(kind) \(count) in \(size): \(place) and \(other)")
            }
          }
        }
      }
    }
  }

  @Test func presentationsHaveALargePicture() {
    var three = streams(3)
    #expect(
      places(.init(.verticalPresentation), three) == [
        [128, 0, 512, 480], [0, 0, 128, 96], [0, 96, 128, 96],
      ])
    three[2].classes = ["other", "focus"]
    #expect(
      places(.init(.horizontalPresentation), three) == [
        [0, 384, 128, 96], [128, 384, 128, 96], [0, 0, 640, 384],
      ])
    #expect(places(.init(.verticalPresentation), streams(1)) == [[0, 0, 640, 480]])
  }

  @Test func pictureInPictureLiesOnTheFullOne() {
    var two = streams(2)
    let layout = Layout(.pip)
    #expect(places(layout, two) == [[0, 0, 640, 480], [14, 346, 160, 120]])
    #expect(layout.background(two) == 0)
    two[1].classes = ["full"]
    #expect(places(layout, two) == [[14, 346, 160, 120], [0, 0, 640, 480]])
    #expect(layout.background(two) == 1)
    #expect(Layout().background(two) == nil)
  }

  @Test func aSharedScreenIsTheLargePicture() {
    let streams = [Layout.Stream(), Layout.Stream(isScreen: true)]
    let layout = Layout(.bestFit, screenshareKind: .horizontalPresentation)
    #expect(places(layout, streams) == [[0, 384, 128, 96], [0, 0, 640, 384]])
    #expect(places(layout, self.streams(2)) == places(.init(), self.streams(2)))
    #expect(places(.init(), streams) == places(.init(), self.streams(2)))
  }

  @Test func picturesKeepTheirShape() {
    let place = Layout().places(streams(1), in: VideoSize(width: 640, height: 480))[0]
    #expect(
      CompositionPainter.fit(VideoSize(width: 1280, height: 720), in: place)
        == VideoSize(width: 640, height: 360))
    #expect(
      CompositionPainter.fit(VideoSize(width: 90, height: 160), in: place)
        == VideoSize(width: 270, height: 480))
    #expect(
      CompositionPainter.fit(VideoSize(width: 16383, height: 1), in: place)
        == VideoSize(width: 640, height: 2))
  }

  @Test func namesAreInCapitals() {
    #expect(PatternFont.text("Ada L.", longest: 24) == Array("ADA L.".utf8))
    #expect(PatternFont.text("grüß", longest: 3) == Array("GR?".utf8))
  }
}
