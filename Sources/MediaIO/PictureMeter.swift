import Base
import Codecs

/// How bright pictures are and whether they move, from a grid of samples: enough to tell a black or frozen
/// picture from one of a camera.
struct PictureMeter {
  private static let columns = 40
  private static let rows = 30
  /// What coding alone changes stays below it.
  private static let noticeable = 10

  /// Mean luma of the last picture, 0 (black) to 1 (white).
  private(set) var brightness = 0.0
  /// How long the pictures have shown the same, in seconds.
  private(set) var stillDuration = 0.0
  private var samples: [UInt8] = []
  /// When the picture last changed.
  private var changed = Instant.zero

  mutating func read(_ picture: some I420Picture, at now: Instant) {
    guard picture.width > 0, picture.height > 0 else { return }
    var sum = 0
    var hasChanged = samples.isEmpty
    var index = 0
    for row in 0..<Self.rows {
      let line = picture.y + (2 * row + 1) * picture.height / (2 * Self.rows) * picture.strideY
      for column in 0..<Self.columns {
        let value = line[(2 * column + 1) * picture.width / (2 * Self.columns)]
        sum += Int(value)
        if index == samples.count {
          samples.append(value)
        } else if abs(Int(value) - Int(samples[index])) >= Self.noticeable {
          // Kept while nothing changes, so that what is slow adds up.
          hasChanged = true
          samples[index] = value
        }
        index += 1
      }
    }
    // Luma of 16 is black, 235 white.
    brightness = min(1, max(0, (Double(sum) / Double(samples.count) - 16) / 219))
    if hasChanged { changed = now }
    stillDuration = (now - changed).seconds
  }
}
