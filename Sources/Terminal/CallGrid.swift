import Base

/// Where several pictures go beside each other: tiles of one size, each with a row for its name.
struct CallGrid: Equatable {
  /// Smaller tiles show nothing that anybody would recognise.
  static let smallest = (columns: 14, rows: 5)
  /// What most cameras send.
  private static let pictureShape = 4.0 / 3

  let columns: Int
  let rows: Int
  private let area: CellRectangle

  /// As many as there is room for, at most `count`, so that their pictures are as large as can be.
  ///
  /// - Parameter cellAspect: a cell's height over its width.
  init(count: Int, in area: CellRectangle, cellAspect: Double) {
    self.area = area
    let widest = max(1, (area.columns + 1) / (Self.smallest.columns + 1))
    let tallest = max(1, area.rows / Self.smallest.rows)
    let count = min(max(1, count), widest * tallest)
    var best = (size: -1.0, columns: 1, rows: 1)
    for columns in 1...min(count, widest) {
      let rows = (count + columns - 1) / columns
      guard rows <= tallest else { continue }
      let width = Double((area.columns + 1) / columns - 1)
      let height = Double(area.rows / rows - 1) * cellAspect
      let size = min(width / Self.pictureShape, height)
      if size > best.size { best = (size, columns, rows) }
    }
    (columns, rows) = (best.columns, best.rows)
  }

  /// How many tiles there are.
  var count: Int { columns * rows }

  /// The place of a tile: its picture's area, and below it the row of its name.
  ///
  /// - Parameters:
  ///   - index: 0 is at the top left.
  ///   - shown: how many tiles are used; a last row that is not full stands in the middle.
  func tile(_ index: Int, of shown: Int) -> (picture: CellRectangle, name: CellRectangle) {
    let (line, position) = (index / columns, index % columns)
    let inLine = min(columns, shown - line * columns)
    let width = (area.columns + 1) / columns - 1
    let height = area.rows / rows
    let used = inLine * (width + 1) - 1
    let column = area.column + (area.columns - used) / 2 + position * (width + 1)
    let row = area.row + line * height
    return (
      CellRectangle(column: column, row: row, columns: width, rows: height - 1),
      CellRectangle(column: column, row: row + height - 1, columns: width, rows: 1)
    )
  }
}
