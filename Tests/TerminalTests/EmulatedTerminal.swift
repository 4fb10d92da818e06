/// What a terminal makes of our output: cells, and the commands for pictures as they came.
struct EmulatedTerminal {
  struct Cell: Equatable {
    var text = " "
    /// Parameters of the last SGR sequences since the last reset.
    var style: [String] = []
  }

  private(set) var cells: [[Cell]]
  /// Control strings (DCS, APC, OSC) with the place of the cursor.
  private(set) var strings: [(column: Int, row: Int, text: String)] = []
  private var cursor = (column: 0, row: 0)
  private var style: [String] = []

  init(columns: Int, rows: Int) {
    cells = Array(repeating: Array(repeating: Cell(), count: columns), count: rows)
  }

  /// Without spaces at the ends of lines and empty lines at the end.
  var text: String {
    var lines = cells.map { row in
      var line = row.map(\.text).joined()
      while line.last == " " { line.removeLast() }
      return line
    }
    while lines.last == "" { lines.removeLast() }
    return lines.joined(separator: "\n")
  }

  mutating func take(_ output: String) {
    var rest = Substring(output)
    while let first = rest.popFirst() {
      guard first == "\u{1B}" else {
        put(String(first))
        continue
      }
      switch rest.popFirst() {
      case "[":
        let parameters = rest.prefix { $0.isNumber || ";?>$ ".contains($0) }
        rest = rest.dropFirst(parameters.count)
        control(rest.popFirst() ?? " ", String(parameters))
      case "P", "_", "]":
        let text = rest.prefix { $0 != "\u{1B}" }
        rest = rest.dropFirst(text.count + 2)
        strings.append((cursor.column, cursor.row, String(text)))
      default: break
      }
    }
  }

  private mutating func put(_ text: String) {
    guard cells.indices.contains(cursor.row), cells[0].indices.contains(cursor.column) else { return }
    cells[cursor.row][cursor.column] = Cell(text: text, style: style)
    let isWide =
      text.unicodeScalars.first.map { (0x1100...0xFFDC).contains($0.value) && $0.value > 0x2E7F } ?? false
    if isWide, cursor.column + 1 < cells[0].count { cells[cursor.row][cursor.column + 1] = Cell(text: "") }
    cursor.column += isWide ? 2 : 1
  }

  private mutating func control(_ final: Character, _ parameters: String) {
    switch final {
    case "H":
      let numbers = parameters.split(separator: ";").compactMap { Int($0) }
      cursor = numbers.count == 2 ? (numbers[1] - 1, numbers[0] - 1) : (0, 0)
    case "J":
      for row in cells.indices { for column in cells[row].indices { cells[row][column] = Cell() } }
    case "m":
      if parameters == "0" || parameters.hasPrefix("0;") { style = [] }
      if parameters != "0" { style.append(parameters) }
    default: break
    }
  }
}
