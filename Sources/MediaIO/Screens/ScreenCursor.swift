import CXCB

/// The mouse pointer as it is drawn just now (XFIXES, GetCursorImage).
struct ScreenCursor {
  private let image: XConnection.Message
  /// Of its upper left corner on the root window.
  let x: Int
  let y: Int
  private let width: Int
  private let height: Int

  /// Nil if there is none.
  init?(_ connection: XConnection) {
    guard let image = connection.ask(OTCHAT_X_FIXES, 4) else { return nil }
    self.image = image
    width = image.short(12)
    height = image.short(14)
    x = image.signedShort(8) - image.short(16)
    y = image.signedShort(10) - image.short(18)
  }

  /// Where it is, and which one it is.
  var state: [Int] { [x, y, Int(image.word(20))] }

  func overlaps(_ place: XConnection.Place) -> Bool {
    x < place.x + place.width && x + width > place.x && y < place.y + place.height && y + height > place.y
  }

  /// Draws it over a picture of `place`.
  func draw(over picture: UnsafeMutableBufferPointer<UInt32>, _ place: XConnection.Place) {
    guard picture.count >= place.width * place.height else { return }
    let columns = max(x, place.x)..<max(min(x + width, place.x + place.width), max(x, place.x))
    let rows = max(y, place.y)..<max(min(y + height, place.y + place.height), max(y, place.y))
    for row in rows {
      for column in columns {
        // Colours have been multiplied by their alpha already.
        let over = image.word(32 + 4 * ((row - y) * width + column - x))
        let rest = 255 - over >> 24
        guard rest < 255 else { continue }
        let index = (row - place.y) * place.width + column - place.x
        picture[index] = [16, 8, 0].reduce(0) { point, shift in
          let sum = (over >> shift & 255) + (picture[index] >> shift & 255) * rest / 255
          return point | min(sum, 255) << shift
        }
      }
    }
  }
}
