import Codecs

/// Where each stream's picture is in a composed one. Pure geometry.
package struct CompositionLayout: Equatable, Sendable {
  package enum Kind: String, Sendable {
    /// A grid of equal cells.
    case bestFit
    /// One picture fills everything, the others lie on it, small, at its foot.
    case pip
    /// The large one at the right, the others in a column at the left.
    case verticalPresentation
    /// The large one above, the others in a row beneath.
    case horizontalPresentation
  }

  /// What of a stream decides about its place.
  package struct Stream: Equatable, Sendable {
    /// As set by the application: `focus`, `full`.
    package var classes: [String] = []
    package var isScreen = false

    package init(classes: [String] = [], isScreen: Bool = false) {
      self.classes = classes
      self.isScreen = isScreen
    }
  }

  /// In pixels; all four even, since chroma has half as many.
  package struct Place: Equatable, Sendable {
    package var x: Int
    package var y: Int
    package var width: Int
    package var height: Int

    init(_ x: Int, _ y: Int, _ width: Int, _ height: Int) {
      self.x = x & ~1
      self.y = y & ~1
      self.width = max(2, width & ~1)
      self.height = max(2, height & ~1)
    }
  }

  package var kind: Kind
  /// In place of `bestFit` while somebody shares a screen, which becomes the large picture.
  package var screenshareKind: Kind?

  /// What a picture looks like if nothing is known of it.
  private static let shape = 4.0 / 3
  /// What the small pictures take of the other direction, in hundredths.
  private static let share = 20

  package init(_ kind: Kind = .bestFit, screenshareKind: Kind? = nil) {
    self.kind = kind
    self.screenshareKind = screenshareKind
  }

  /// Where they are, in the order of the streams. `pip`'s small ones lie on the large one, whose place is
  /// to be drawn first.
  package func places(_ streams: [Stream], in size: VideoSize) -> [Place] {
    guard !streams.isEmpty else { return [] }
    let screen = streams.firstIndex { $0.isScreen }
    let kind = kind == .bestFit && screen != nil ? screenshareKind ?? kind : kind
    if kind == .bestFit { return Self.grid(streams.count, Place(0, 0, size.width, size.height)) }
    let wanted = kind == .pip ? "full" : "focus"
    let large = streams.firstIndex { $0.classes.contains(wanted) } ?? screen ?? 0
    return Self.places(around: large, streams.count, kind, size)
  }

  /// Which place has to be drawn first.
  package func background(_ streams: [Stream]) -> Int? {
    kind == .pip ? streams.firstIndex { $0.classes.contains("full") } ?? 0 : nil
  }

  private static func places(around large: Int, _ count: Int, _ kind: Kind, _ size: VideoSize) -> [Place] {
    let (width, height) = (size.width, size.height)
    guard count > 1 else { return [Place(0, 0, width, height)] }
    let (main, small): (Place, [Place])
    switch kind {
    case .verticalPresentation:
      let column = width * share / 100 & ~1
      main = Place(column, 0, width - column, height)
      small = line(count - 1, Place(0, 0, column, height), isColumn: true)
    case .horizontalPresentation:
      let row = height * share / 100 & ~1
      main = Place(0, 0, width, height - row)
      small = line(count - 1, Place(0, height - row, width, row), isColumn: false)
    case .pip, .bestFit:
      let row = height * 25 / 100
      let margin = height * 3 / 100
      main = Place(0, 0, width, height)
      small = line(
        count - 1, Place(margin, height - row - margin, width - 2 * margin, row), isColumn: false)
    }
    var places = small
    places.insert(main, at: large)
    return places
  }

  /// Cells one after the other, none longer than its shape asks for.
  private static func line(_ count: Int, _ area: Place, isColumn: Bool) -> [Place] {
    if isColumn {
      let height = min(area.height / count, Int(Double(area.width) / shape))
      return (0..<count).map { Place(area.x, area.y + $0 * height, area.width, height) }
    }
    let width = min(area.width / count, Int(Double(area.height) * shape))
    return (0..<count).map { Place(area.x + $0 * width, area.y, width, area.height) }
  }

  /// As many columns as make the pictures largest, rather beside than above each other; a last row that is not full is in the middle.
  private static func grid(_ count: Int, _ area: Place) -> [Place] {
    func pictureWidth(_ columns: Int) -> Double {
      let rows = (count + columns - 1) / columns
      return min(Double(area.width) / Double(columns), Double(area.height) / Double(rows) * shape)
    }
    let columns = (1...count).reversed().max { pictureWidth($0) < pictureWidth($1) } ?? 1
    let rows = (count + columns - 1) / columns
    return (0..<count).map { index in
      let row = index / columns
      let inRow = row == rows - 1 ? count - row * columns : columns
      let left = (area.width - inRow * area.width / columns) / 2
      let (x, next) = (index % columns * area.width / columns, (index % columns + 1) * area.width / columns)
      let (y, below) = (row * area.height / rows, (row + 1) * area.height / rows)
      return Place(area.x + left + x, area.y + y, (next & ~1) - (x & ~1), (below & ~1) - (y & ~1))
    }
  }
}
