import Testing

@testable import Terminal

struct ScreenTests {
  @Test func textIsCutAtTheEdges() {
    var screen = Screen(columns: 5, rows: 2)
    #expect(screen.draw("abcdefgh", column: 2, row: 0) == 5)
    screen.draw("xyz", column: -1, row: 1)
    screen.draw("never", column: 0, row: 2)
    screen.draw("never", column: 9, row: 0)
    screen.draw("never", column: 0, row: -1)
    #expect(screen.text == "  abc\nyz")
  }

  @Test func wideGlyphsNeverStandHalf() {
    var screen = Screen(columns: 4, rows: 1)
    screen.draw("a猫猫", column: 0, row: 0)
    #expect(screen.text == "a猫")
    screen.draw("x", column: 2, row: 0)
    #expect(screen.text == "a x")
    screen.draw("猫", column: 0, row: 0)
    screen.draw("y", column: 0, row: 0)
    #expect(screen.text == "y x")
  }

  @Test func picturesLieBeneathText() {
    var screen = Screen(columns: 3, rows: 1)
    screen.draw("t", column: 1, row: 0)
    for column in -1...3 { screen.setSymbol(0x2588, .plain, column: column, row: 0) }
    #expect(screen.text == "█t█")
  }

  @Test func fillIsClipped() {
    var screen = Screen(columns: 3, rows: 2)
    screen.fill(CellRectangle(column: -5, row: -5, columns: 100, rows: 6))
    screen.fill(CellRectangle(column: 5, row: 5, columns: 3, rows: 3))
    screen.setSymbol(0x2588, .plain, column: 0, row: 0)
    screen.setSymbol(0x2588, .plain, column: 0, row: 1)
    #expect(screen.text == "\n█")
  }
}

struct ScreenEncoderTests {
  private let color = TerminalCapabilities(colors: .trueColor, unicode: true)

  private func body(_ bytes: [UInt8]) -> String {
    String(decoding: bytes, as: UTF8.self).replacing("\u{1B}[", with: "^")
  }

  @Test func firstUpdateDrawsEverythingAndTheNextOnlyChanges() {
    var encoder = ScreenEncoder(capabilities: color)
    var screen = Screen(columns: 4, rows: 2)
    screen.draw("ab", column: 0, row: 0)
    #expect(body(encoder.update(to: screen)) == "^?2026h^0m^2J^1;1Hab^?25l^?2026l")
    #expect(encoder.update(to: screen) == [])
    screen.draw("c", column: 3, row: 1)
    #expect(body(encoder.update(to: screen)) == "^?2026h^2;4Hc^?2026l")
    var cleared = Screen(columns: 4, rows: 2)
    cleared.draw("a", column: 0, row: 0)
    #expect(body(encoder.update(to: cleared)) == "^?2026h^1;2H ^2;4H ^?2026l")
    encoder.invalidate()
    #expect(body(encoder.update(to: cleared)).hasPrefix("^?2026h^0m^2J"))
  }

  @Test func stylesAreSentOnlyWhenTheyChange() {
    var encoder = ScreenEncoder(capabilities: color)
    var screen = Screen(columns: 6, rows: 1)
    let red = CellStyle(foreground: .rgb(0xFF0102), background: .palette(200))
    screen.draw("ab", column: 0, row: 0, style: red)
    screen.draw("c", column: 2, row: 0, style: CellStyle(foreground: .palette(9), bold: true))
    screen.draw("d", column: 3, row: 0, style: CellStyle(background: .palette(3)))
    #expect(
      body(encoder.update(to: screen))
        == "^?2026h^0m^2J^1;1H^38;2;255;1;2;48;5;200mab^0;1;91mc^0;43md^?25l^49m^?2026l")
  }

  @Test func withoutColoursOnlyAttributesAreSent() {
    var encoder = ScreenEncoder(capabilities: TerminalCapabilities(colors: .none, unicode: true))
    var screen = Screen(columns: 3, rows: 1)
    screen.draw("a", column: 0, row: 0, style: CellStyle(foreground: .palette(1), reversed: true))
    screen.setSymbol(0x41, CellStyle(foreground: .rgb(1)), column: 1, row: 0)
    #expect(body(encoder.update(to: screen)) == "^?2026h^0m^2J^1;1H^0;7ma^0mA^?25l^?2026l")
  }

  @Test func asciiTerminalsGetAsciiOnly() {
    var encoder = ScreenEncoder(capabilities: TerminalCapabilities(colors: .palette16, unicode: false))
    var screen = Screen(columns: 12, rows: 1)
    screen.draw("é│·…猫z", column: 0, row: 0)
    screen.setSymbol(0x2588, .plain, column: 9, row: 0)
    let bytes = encoder.update(to: screen)
    #expect(bytes.allSatisfy { $0 < 0x80 })
    #expect(body(bytes) == "^?2026h^0m^2J^1;1H?|-~??z^1;10H#^?25l^?2026l")
  }

  @Test func cursorIsPlacedAnewAfterGlyphsOfDoubtfulWidth() {
    var encoder = ScreenEncoder(capabilities: color)
    var screen = Screen(columns: 8, rows: 1)
    screen.draw("猫ab", column: 0, row: 0)
    #expect(body(encoder.update(to: screen)) == "^?2026h^0m^2J^1;1H猫^1;3Hab^?25l^?2026l")
  }

  @Test func cursorIsShownWhereOneTypes() {
    var encoder = ScreenEncoder(capabilities: color)
    var screen = Screen(columns: 8, rows: 2)
    screen.cursor = (3, 1)
    #expect(body(encoder.update(to: screen)) == "^?2026h^0m^2J^2;4H^?25h^?2026l")
    #expect(encoder.update(to: screen) == [])
    screen.cursor = nil
    #expect(body(encoder.update(to: screen)) == "^?2026h^?25l^?2026l")
  }
}
