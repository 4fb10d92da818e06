/// Letters of 5x7 dots for the test pattern, a row a byte, the leftmost dot is 16.
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
  ]
}
