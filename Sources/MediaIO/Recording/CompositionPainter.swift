import Codecs
import Glibc

/// Draws the streams' pictures, or their names, at their places.
struct CompositionPainter {
  private static let plate = Colour(red: 0.13, green: 0.15, blue: 0.2)

  let canvas: Canvas

  func paint(_ inputs: [CompositionInput], _ layout: CompositionLayout, _ size: VideoSize) {
    canvas.fill(x: 0, y: 0, width: size.width, height: size.height, .black)
    let settings = inputs.map { $0.source.settings.withLock { $0 } }
    let streams = settings.map(\.layout)
    let places = layout.places(streams, in: size)
    let background = layout.background(streams)
    for index in inputs.indices.sorted(by: { a, b in a == background && b != background }) {
      draw(inputs[index], settings[index], places[index])
    }
  }

  private func draw(
    _ input: CompositionInput, _ settings: CompositionSource.Settings, _ place: CompositionLayout.Place
  ) {
    guard settings.hasVideo, let source = input.picture,
      let picture = input.picture(Self.fit(source.size, in: place))
    else {
      drawPlate(settings.name, place)
      return
    }
    canvas.copy(
      picture, x: (place.x + (place.width - picture.width) / 2) & ~1,
      y: (place.y + (place.height - picture.height) / 2) & ~1)
  }

  /// The largest size of that shape.
  static func fit(_ size: VideoSize, in place: CompositionLayout.Place) -> VideoSize {
    let scale = min(
      Double(place.width) / Double(size.width), Double(place.height) / Double(size.height))
    return VideoSize(
      width: min(place.width, max(2, Int((Double(size.width) * scale).rounded()) & ~1)),
      height: min(place.height, max(2, Int((Double(size.height) * scale).rounded()) & ~1)))
  }

  private func drawPlate(_ name: String, _ place: CompositionLayout.Place) {
    canvas.fill(
      x: place.x + 2, y: place.y + 2, width: place.width - 4, height: place.height - 4, Self.plate)
    let text = PatternFont.text(name, longest: 24)
    guard !text.isEmpty else { return }
    let scale = max(1, min(place.width * 8 / 10 / (text.count * PatternFont.advance), place.height / 40 + 1))
    let width = (text.count * PatternFont.advance - 1) * scale
    text.withUnsafeBufferPointer {
      canvas.text(
        $0, x: place.x + (place.width - width) / 2,
        y: place.y + (place.height - PatternFont.height * scale) / 2, scale: scale, .white)
    }
  }
}

extension Canvas {
  /// A picture with its corner at an even place. What lies outside is cut off.
  func copy(_ picture: VideoFrame, x: Int, y top: Int) {
    guard x >= 0, top >= 0, x < size.width, top < size.height else { return }
    let width = min(picture.width, size.width - x)
    let height = min(picture.height, size.height - top)
    for row in 0..<height {
      memcpy(y + (top + row) * strideY + x, picture.y + row * picture.strideY, width)
    }
    for row in 0..<(height + 1) / 2 {
      let target = (top / 2 + row) * strideUV + x / 2
      memcpy(u + target, picture.u + row * picture.strideUV, (width + 1) / 2)
      memcpy(v + target, picture.v + row * picture.strideUV, (width + 1) / 2)
    }
  }
}
