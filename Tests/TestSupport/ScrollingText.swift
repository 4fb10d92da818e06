import Base

/// The luma of a page of text that may scroll: letters of 5x7 points of a fixed random shape, in cells of 8x12, black
/// on white, in lines of different length.
package struct ScrollingText: Sendable {
  package let width: Int
  package let height: Int
  /// Points that it can be scrolled by.
  package let scrollable: Int
  private let page: [UInt8]

  package init(width: Int, height: Int, scrollable: Int) {
    (self.width, self.height) = (width, height)
    var generator = SeededGenerator(seed: 4)
    let letters = (0..<40).map { _ in UInt64.random(in: 0...UInt64.max, using: &generator) }
    let (columns, lines) = (width / 8, (height + scrollable) / 12 + 1)
    self.scrollable = lines * 12 - height
    var page = [UInt8](repeating: 235, count: width * lines * 12)
    for line in 0..<lines {
      let length = Int.random(in: 20...columns, using: &generator)
      for column in 0..<length {
        let letter = Int.random(in: 0..<50, using: &generator)
        guard letter < letters.count else { continue }
        for bit in 0..<35 where letters[letter] >> UInt64(bit) & 1 == 1 {
          page[(line * 12 + bit / 5) * width + column * 8 + bit % 5] = 16
        }
      }
    }
    self.page = page
  }

  /// Writes a picture's rows.
  /// - Parameter offset: points, at most `scrollable`.
  package func copy(to luma: UnsafeMutablePointer<UInt8>, stride: Int, scrolledBy offset: Int) {
    page.withUnsafeBufferPointer { page in
      guard let base = page.baseAddress, (0...scrollable).contains(offset) else { return }
      for row in 0..<height {
        (luma + row * stride).update(from: base + (row + offset) * width, count: width)
      }
    }
  }
}
