/// Letters of 5x7 dots for the test pattern and for names, a row a byte, the leftmost dot is 16.
enum PatternFont {
  static let width = 5
  static let height = 7
  /// From the start of one character to the next.
  static let advance = 6

  static let glyphs: [UInt8: [UInt8]] = [
    UInt8(ascii: "0"): [14, 17, 17, 17, 17, 17, 14],
    UInt8(ascii: "1"): [4, 12, 4, 4, 4, 4, 14],
    UInt8(ascii: "2"): [14, 17, 1, 6, 8, 16, 31],
    UInt8(ascii: "3"): [14, 17, 1, 6, 1, 17, 14],
    UInt8(ascii: "4"): [2, 6, 10, 18, 31, 2, 2],
    UInt8(ascii: "5"): [31, 16, 30, 1, 1, 17, 14],
    UInt8(ascii: "6"): [6, 8, 16, 30, 17, 17, 14],
    UInt8(ascii: "7"): [31, 1, 2, 4, 8, 8, 8],
    UInt8(ascii: "8"): [14, 17, 17, 14, 17, 17, 14],
    UInt8(ascii: "9"): [14, 17, 17, 15, 1, 2, 12],
    UInt8(ascii: ":"): [0, 4, 4, 0, 4, 4, 0],
    UInt8(ascii: "."): [0, 0, 0, 0, 0, 12, 12],
    UInt8(ascii: "A"): [14, 17, 17, 31, 17, 17, 17],
    UInt8(ascii: "C"): [14, 17, 16, 16, 16, 17, 14],
    UInt8(ascii: "H"): [17, 17, 17, 31, 17, 17, 17],
    UInt8(ascii: "O"): [14, 17, 17, 17, 17, 17, 14],
    UInt8(ascii: "T"): [31, 4, 4, 4, 4, 4, 4],
    UInt8(ascii: "B"): [30, 17, 17, 30, 17, 17, 30],
    UInt8(ascii: "D"): [30, 17, 17, 17, 17, 17, 30],
    UInt8(ascii: "E"): [31, 16, 16, 30, 16, 16, 31],
    UInt8(ascii: "F"): [31, 16, 16, 30, 16, 16, 16],
    UInt8(ascii: "G"): [14, 17, 16, 23, 17, 17, 15],
    UInt8(ascii: "I"): [14, 4, 4, 4, 4, 4, 14],
    UInt8(ascii: "J"): [7, 2, 2, 2, 2, 18, 12],
    UInt8(ascii: "K"): [17, 18, 20, 24, 20, 18, 17],
    UInt8(ascii: "L"): [16, 16, 16, 16, 16, 16, 31],
    UInt8(ascii: "M"): [17, 27, 21, 21, 17, 17, 17],
    UInt8(ascii: "N"): [17, 25, 21, 19, 17, 17, 17],
    UInt8(ascii: "P"): [30, 17, 17, 30, 16, 16, 16],
    UInt8(ascii: "Q"): [14, 17, 17, 17, 21, 18, 13],
    UInt8(ascii: "R"): [30, 17, 17, 30, 20, 18, 17],
    UInt8(ascii: "S"): [15, 16, 16, 14, 1, 1, 30],
    UInt8(ascii: "U"): [17, 17, 17, 17, 17, 17, 14],
    UInt8(ascii: "V"): [17, 17, 17, 17, 17, 10, 4],
    UInt8(ascii: "W"): [17, 17, 17, 21, 21, 27, 17],
    UInt8(ascii: "X"): [17, 17, 10, 4, 10, 17, 17],
    UInt8(ascii: "Y"): [17, 17, 10, 4, 4, 4, 4],
    UInt8(ascii: "Z"): [31, 1, 2, 4, 8, 16, 31],
    UInt8(ascii: "-"): [0, 0, 0, 14, 0, 0, 0],
    UInt8(ascii: "_"): [0, 0, 0, 0, 0, 0, 31],
    UInt8(ascii: "@"): [14, 17, 23, 21, 23, 16, 14],
    UInt8(ascii: "?"): [14, 17, 1, 2, 4, 0, 4],
  ]

  /// A name in capitals, shortened; what there is no letter for becomes `?`.
  static func text(_ name: String, longest: Int) -> [UInt8] {
    name.prefix(longest).map { character in
      if character.isWhitespace { return UInt8(ascii: " ") }
      guard let code = character.uppercased().utf8.first, character.isASCII, glyphs[code] != nil else {
        return UInt8(ascii: "?")
      }
      return code
    }
  }
}
